"""Finished investigations: each asks one question, and its page has the answer."""
