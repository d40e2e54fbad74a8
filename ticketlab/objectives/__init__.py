"""Objectives: what a model is trained on, the task or masked language modelling."""
