"""Which round of which pair of hosts begins when, with which sizes, and what became of it. Pure."""
