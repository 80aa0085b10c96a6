"""The common parts of all HTML pages.

The base template, style and script, and how a page is rendered and written.
"""
