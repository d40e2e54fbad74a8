"""By how much attacks exceed their time limit on a very long text.

    python benchmarks/time_limit.py [--words 5000] [--limits 0.1 0.5 2] [--attacks textfooler pwws ...]

The victim is the demo encoder, which always predicts the first label, and sees 128 tokens; the masked language model has a head with
random weights. Seconds are wall-clock time, so a busy machine makes them larger.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import torch
from attack_parts import SEED, attack_of, table
from text_length import LABELS, Clock, demo_victim, text_of

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone import loading
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example

ATTACKS = ["textfooler", "textbugger", "pwws", "deepwordbug", "bae", "bert-attack"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=5000)
    parser.add_argument("--limits", type=float, nargs="+", default=[0.1, 0.5, 2.0])
    parser.add_argument("--attacks", nargs="+", default=ATTACKS)
    options = parser.parse_args()
    import_textattack()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        model, tokenizer, _ = loading.load_mlm("demo", SEED)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        rows = [[name, *exceeded(name, folder, options.words, options.limits)] for name in options.attacks]
    print(table(["seconds above the limit", *(f"limit {limit:g} s" for limit in options.limits)], rows))


def exceeded(name: str, mlm: str, words: int, limits: list[float]) -> list[float | str]:
    """Return by how many seconds an attack exceeds each limit; a word where it was not given up."""
    attack = attack_of(name, mlm)
    victim = demo_victim(mlm, 128, Clock())
    how = {"columns": ("text",), "label_names": LABELS, "seed": SEED, "workers": 1, "resources": attack.prepare()}
    run_attack(attack, victim, [Example("short", (text_of(30),), 0)], records=RecordFile(None, ""), **how)
    found: list[float | str] = []
    for limit in limits:
        example = Example("long", (text_of(words, round(10 * limit)),), 0)
        started = time.perf_counter()
        (record,) = run_attack(attack, victim, [example], records=RecordFile(None, ""), timeout=limit, **how)
        over = time.perf_counter() - started - limit
        found.append(over if record.status == "timeout" else record.status)
    return found


if __name__ == "__main__":
    main()
