"""The cost of SRNets' searches: mask training and iterative pruning, on the shapes of BERT-base with random weights.

    python benchmarks/srnets.py [--batch 32] [--length 128] [--repeats 7] [--precision auto] [--layers 12]

Steps of all kinds are interleaved, and the fastest of each are compared with a step of fine-tuning. Threshold updates and prunings are
timed the same way and reported as a fraction of a whole run: on MNLI 5 epochs of 12,272 steps, with an update every 1,000 steps (the
paper) or every 100 (our default), and 10 prunings.
"""

from __future__ import annotations

import json

import torch
from timing import arguments, bert_base, interleaved, loop, random_rows, steps

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.backbone.device import pick_precision
from ticketlab.pruners.imp import IMP
from ticketlab.pruners.mask_training import MaskTraining
from ticketlab.training.plan import TrainingPlan

RUN = 5 * 12_272
PRUNINGS = 10


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--sparsity", type=float, default=0.5)
    options = parser.parse_args()
    precision = pick_precision(options.precision)
    rows = random_rows(options.batch, options.length)
    batches = [list(range(options.batch))]

    def attach(pruner):
        model = bert_base(options.layers).requires_grad_(pruner.trains_weights)
        return model, pruner.begin(TrainingPlan(model, steps=RUN, seed=0, sparsity=options.sparsity))

    def training(adversary, pruner=None):
        model, search = attach(pruner) if pruner else (bert_base(options.layers), None)
        return steps(loop(model, rows, adversary, precision, [search] if search else [], options.batch), batches)

    report = {"precision": precision, "threads": torch.get_num_threads(), "layers": options.layers}
    for name, adversary in {"plain": Clean(), "freelb K=2": FreeLB(steps=2)}.items():
        kinds = {
            "fine-tuning": training(adversary),
            "mask training": training(adversary, MaskTraining(threshold_steps=10 * RUN)),
            "imp": training(adversary, IMP()),
        }
        seconds = interleaved(kinds, options.repeats)
        ratios = {f"{kind} / fine-tuning": seconds[kind] / seconds["fine-tuning"] for kind in ("mask training", "imp")}
        report[name] = {"seconds": seconds, **ratios}
        if name == "plain":
            plain = seconds
        del kinds
    report |= rare_work(attach, options.repeats, plain)
    print(json.dumps(report, indent=2))


def rare_work(attach, repeats: int, step: dict[str, float]) -> dict[str, dict[str, float]]:
    """Return the seconds of a threshold update and of a pruning, and their fraction of a run with these step times."""
    costs = {}
    for scope in ("local", "global"):
        _, search = attach(MaskTraining(initial="soft", scope=scope))
        update = interleaved({"update": lambda turn, search=search: search._set_thresholds()}, repeats)["update"]
        shares = {f"share every {every} steps": update / (every * step["mask training"]) for every in (1000, 100)}
        costs[f"threshold update, {scope}"] = {"seconds": update, **shares}
        del search
        _, search = attach(IMP(scope=scope))

        def prune(turn, search=search):
            search._done = 0
            search._prune(0)

        pruning = interleaved({"pruning": prune}, repeats)["pruning"]
        costs[f"pruning, {scope}"] = {"seconds": pruning, f"share of {PRUNINGS} per run": PRUNINGS * pruning / (RUN * step["imp"])}
        del search, prune
    return costs


if __name__ == "__main__":
    main()
