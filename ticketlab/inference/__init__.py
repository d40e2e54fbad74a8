"""Batch-invariant inference, in which the logits of a text do not depend on its batch, and random states."""
