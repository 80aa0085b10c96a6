"""Reports of a host check."""
