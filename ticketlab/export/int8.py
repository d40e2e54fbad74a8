"""Dynamic int8 quantisation of an ONNX file by onnxruntime: weights are stored as 8-bit integers, activations quantised as they arise.

torch's own dynamic quantisation is deprecated, and its packed weights can only be saved as a pickle, which may run code.
"""

from __future__ import annotations

from pathlib import Path


def quantise(path: Path) -> None:
    """Replace an ONNX file by its int8 version.

    Matrices that multiply activations have 7-bit values, with a scale for each output: with 8 bits, processors without VNNI instructions
    saturate in the product, and the logits would depend on the processor. Embeddings have 8 bits. Layer norms and biases stay float32.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    small = path.with_name(f"{path.stem}-int8{path.suffix}")
    options = {"MatMulConstBOnly": True}  # a product of two activations, as in attention, is not quantised
    quantize_dynamic(path, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True, extra_options=options)
    small.replace(path)
