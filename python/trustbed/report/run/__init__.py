"""Reports of a run: model, text, page."""
