"""Reports of a campaign: text and page."""
