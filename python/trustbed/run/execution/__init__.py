"""Carries out a run: repetitions, phases and processes. Judges nothing."""
