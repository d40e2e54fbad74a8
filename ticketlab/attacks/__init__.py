"""Text attacks, one file each."""
