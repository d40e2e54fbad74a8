"""Adversaries: perturbations of the word embeddings during training."""
