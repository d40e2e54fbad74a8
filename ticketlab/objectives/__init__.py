"""Objectives: what a training learns, the task or masked language modelling."""
