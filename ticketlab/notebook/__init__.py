"""The lab as a notebook: lists, shows and compares runs, and removes what is no longer needed."""
