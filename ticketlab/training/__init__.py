"""The training loop, batches, checkpoints, and the loss functions that it minimises."""
