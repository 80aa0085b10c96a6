"""What all HTML pages share.

The base template, style and script, and how a page is rendered and written.
"""
