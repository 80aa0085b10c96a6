"""Transfers simulated by ns-3: `simulation` is the program, `kinds` draws, `make` runs it."""
