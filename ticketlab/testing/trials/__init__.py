"""Small trainings and runs, whose outcomes the suites compare."""
