"""Ablation studies: factors and their levels, the cells of a design, a plan of distinct stages, and their execution."""
