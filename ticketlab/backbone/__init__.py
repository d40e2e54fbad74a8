"""Transformers encoders: loading, adapters, masks, shrinking, saving."""
