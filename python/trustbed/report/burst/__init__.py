"""Reports of burstiness: text, tables, JSON, page."""
