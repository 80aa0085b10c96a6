"""Does background traffic matter? Figures of a study of 2008, carried out by scenarios."""
