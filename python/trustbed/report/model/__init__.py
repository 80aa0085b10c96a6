"""A model of background traffic as text and as a page."""
