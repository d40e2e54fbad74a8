"""Exports a finished model as dense, shrunk or ONNX, with a model card."""
