"""A sensitivity study as text, and on a page."""
