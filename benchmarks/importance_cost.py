"""The cost of importance coefficients: a search step compared with the same step without them, plain and with FreeLB.

python benchmarks/importance_cost.py [--model demo|base] [--batch 32] [--length 128] [--repeats 7] [--precision auto]
"""

from __future__ import annotations

import json

import torch
from timing import arguments, bert_base, interleaved, loop, random_rows, steps

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device, pick_precision
from ticketlab.pruners.importance import Importance
from ticketlab.training.plan import TrainingPlan


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--model", default="base", choices=("demo", "base"))
    options = parser.parse_args()
    precision = pick_precision(options.precision)
    rows = random_rows(options.batch, options.length)
    batches = [list(range(options.batch))]

    def training(adversary, *, gates: bool):
        model = bert_base() if options.model == "base" else loading.load_classifier("demo", ("a", "b"), 0)[0].to(pick_device())
        callbacks = [Importance().begin(TrainingPlan(model, steps=100, seed=0))] if gates else []
        return steps(loop(model, rows, adversary, precision, callbacks, options.batch), batches)

    report = {"model": options.model, "precision": precision, "threads": torch.get_num_threads()}
    for name, adversary in {"plain": Clean(), "freelb K=2": FreeLB(steps=2)}.items():
        kinds = {"without": training(adversary, gates=False), "with gates": training(adversary, gates=True)}
        seconds = interleaved(kinds, options.repeats)
        report[name] = {**seconds, "with / without": seconds["with gates"] / seconds["without"]}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
