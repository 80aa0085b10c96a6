"""Reports of a capture's transfers: text, JSON, JUnit, tables, page."""
