"""When each round of a pair of hosts begins, its sizes, and its outcome. Pure."""
