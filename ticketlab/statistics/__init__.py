"""Statistics of plain numbers: over seeds, of paired outcomes, and corrections for several comparisons."""
