"""What the connections of a campaign come to, per pair of hosts. Pure."""
