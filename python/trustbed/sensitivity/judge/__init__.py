"""Observations of a study into answers: pure arithmetic over rounds and treatments."""
