"""Programs that scenarios start: the two ends of a connection with requests and responses."""
