"""The speed-up of a shrunk model as an ONNX file: its latency compared with the dense model, and the ratio of FLOPs.

    python benchmarks/onnx_latency.py [--heads 1/6] [--neurons 0.3] [--batch 1] [--length 64] [--repeats 50] [--threads 1]

The model is the demo encoder with a random ticket. Both files run in onnxruntime with the same options; the runs are interleaved.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from timing import flops, interleaved, random_ticket

from ticketlab.backbone import loading
from ticketlab.backbone.shrinking import shrink
from ticketlab.core.settings import parse_ratio
from ticketlab.export.model import export_model


def session(folder: Path, threads: int):
    """Return a session of an exported model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", default="1/6")
    parser.add_argument("--neurons", default="0.3")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    dense, tokenizer = loading.load_classifier("demo", ("negative", "positive"), 0)
    small = shrink(dense, random_ticket(dense, parse_ratio(options.heads), parse_ratio(options.neurons)))
    ids = np.random.default_rng(0).integers(1000, 20000, (options.batch, options.length))
    values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    calls, sizes = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        for name, model in {"dense": dense, "shrunk": small}.items():
            folder = Path(directory) / name
            sizes[name] = export_model(model, tokenizer, folder, "onnx").bytes
            runtime = session(folder, options.threads)
            inputs = {node.name: values[node.name] for node in runtime.get_inputs()}
            calls[name] = lambda _, runtime=runtime, inputs=inputs: runtime.run(None, inputs)
        seconds = interleaved(calls, options.repeats, warmup=5)
    expected = flops(dense, options.length) / flops(small, options.length)
    speedup = seconds["dense"] / seconds["shrunk"]
    facts = {"batch": options.batch, "length": options.length, "threads": options.threads, "bytes": sizes, "seconds": seconds}
    print(json.dumps({**facts, "speedup": speedup, "expected": expected, "speedup / expected": speedup / expected}, indent=2))


if __name__ == "__main__":
    main()
