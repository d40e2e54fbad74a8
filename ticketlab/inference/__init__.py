"""Batch-invariant inference: the logits of a text do not depend on its batch. Random state."""
