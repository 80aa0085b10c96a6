"""Campaigns between hosts that are made here, with what is known to happen to them.

What is said of them is held against it.
"""
