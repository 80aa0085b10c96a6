"""When things are done: the order of a run, its directory, its phases, and what is left of it."""
