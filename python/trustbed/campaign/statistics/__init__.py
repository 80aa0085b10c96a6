"""Statistics of a campaign's connections, per pair of hosts. Pure."""
