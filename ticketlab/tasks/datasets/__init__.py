"""Tasks by name or path: local files, the Hugging Face hub, published files, challenge sets."""
