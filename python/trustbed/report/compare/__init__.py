"""A comparison of testbeds as text, Markdown, JUnit, JSON, and on a page."""
