"""Parts of attacks: attacked texts, transformations, constraints, the goal function."""
