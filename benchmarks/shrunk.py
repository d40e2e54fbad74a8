"""The speed-up of a shrunk model in forward pass and training step, compared with the ratio of FLOPs.

    python benchmarks/shrunk.py [--heads 1/6] [--neurons 0.3] [--batch 32] [--length 128] [--repeats 7] [--precision auto]

The model has the shapes of BERT-base with random weights, so that nothing needs to be downloaded.
"""

from __future__ import annotations

import json

import torch
from timing import arguments, bert_base, flops, interleaved, loop, random_rows, random_ticket, steps

from ticketlab.adversaries.none import Clean
from ticketlab.backbone.device import pick_precision
from ticketlab.backbone.shrinking import shrink
from ticketlab.core.settings import parse_ratio
from ticketlab.training.evaluation import forward


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--heads", default="1/6")
    parser.add_argument("--neurons", default="0.3")
    options = parser.parse_args()
    precision = pick_precision(options.precision)
    dense = bert_base()
    small = shrink(dense, random_ticket(dense, parse_ratio(options.heads), parse_ratio(options.neurons)))
    rows = random_rows(options.batch, options.length)
    batch = rows.collate(range(options.batch)).to(next(dense.parameters()).device)
    expected = flops(dense, options.length) / flops(small, options.length)

    def evaluation(model):
        def call(_: int) -> None:
            model.eval()
            with torch.inference_mode():
                forward(model, batch, precision)

        return call

    forwards = interleaved({"dense": evaluation(dense), "shrunk": evaluation(small)}, options.repeats)
    batches = [list(range(options.batch))]
    trainings = {
        "dense": steps(loop(dense, rows, Clean(), precision, batch_size=options.batch), batches),
        "shrunk": steps(loop(small, rows, Clean(), precision, batch_size=options.batch), batches),
    }
    training = interleaved(trainings, options.repeats)
    report = {"precision": precision, "threads": torch.get_num_threads(), "expected": expected}
    for name, seconds in {"forward": forwards, "training step": training}.items():
        speedup = seconds["dense"] / seconds["shrunk"]
        report[name] = {**seconds, "speedup": speedup, "speedup / expected": speedup / expected}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
