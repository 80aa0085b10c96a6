"""Transfers simulated by ns-3: `path.cc` simulates, `kinds` draws, `make` runs it."""
