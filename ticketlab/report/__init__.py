"""Tables and csv files from the results of runs."""
