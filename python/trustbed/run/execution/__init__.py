"""Carries a run out: its repetitions, their phases and their processes. Judges nothing."""
