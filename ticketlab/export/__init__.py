"""Exports a finished model in the format dense, shrunk or ONNX, with a model card."""
