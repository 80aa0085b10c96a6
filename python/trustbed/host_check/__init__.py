"""Is this host fit to measure on? Facts from its agent become findings."""
