"""The tables and figures of the papers as study files, and their catalogue."""
