"""Stages of a recipe: train, search, draw, evaluate, attack, bias, measure, export."""
