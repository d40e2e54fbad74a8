"""What a shrunk ticket gains: forward pass and training step, against the ratio that its FLOPs promise.

    python benchmarks/shrunk.py [--heads 1/6] [--neurons 0.3] [--batch 32] [--length 128] [--repeats 7] [--precision auto]

BERT-base shapes with random weights, so that nothing needs to be downloaded.
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
    promised = flops(dense, options.length) / flops(small, options.length)

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
    report = {"precision": precision, "threads": torch.get_num_threads(), "promised": promised}
    for name, seconds in {"forward": forwards, "training step": training}.items():
        gained = seconds["dense"] / seconds["shrunk"]
        report[name] = {**seconds, "gained": gained, "gained / promised": gained / promised}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
