"""The lab on disk: its layout, integrity of stages, results of runs, finished runs and models."""
