"""Hosts as network namespaces of this machine, joined by veth links through a switch namespace."""
