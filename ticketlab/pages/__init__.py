"""The HTML report of a comparison: one page without network."""
