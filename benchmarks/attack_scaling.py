"""Checks that ten times the examples take ten times the CPU time, and no more memory.

    python benchmarks/attack_scaling.py --task FOLDER [--n 64] [--times 10] [--in-flight 1,64] [--attack deepwordbug] [--repeats 2]
        [--victim FOLDER] [--cache lab] [--threads N]

A small run attacks n examples, a large one ten times as many, all different; each small run takes another tenth of the large run's
examples. Small and large runs, with few and many examples in flight, alternate, each in its own process. Time and peak memory are
measured after everything is loaded and one other example has been attacked. Examples take different numbers of queries, so the seconds
per query are compared too.

Memory is the peak resident size of the process, in MiB, and its growth. It grows with every new text length, because the allocator keeps
separate blocks for it. So small runs attack their examples a second time, and only memory is measured: any further growth is a leak.
"""

from __future__ import annotations

import os
import resource
import statistics
from pathlib import Path
from typing import Any

import torch
from attack_parts import LENGTH, SEED, arguments, attack_of, clocks, examples, in_child, ran_as_child, table, trained

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import import_textattack


def main() -> None:
    if ran_as_child(measure):
        return
    parser = arguments(__doc__)
    parser.set_defaults(repeats=2)
    parser.add_argument("--n", type=int, default=64)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--in-flight", default="1,64")
    parser.add_argument("--attack", default="deepwordbug")
    options = parser.parse_args()
    victim = options.victim or trained("victim", options.task, options.cache)
    in_flight = [int(number) for number in options.in_flight.split(",")]
    common = {"task": options.task, "victim": victim, "attack": options.attack, "threads": options.threads, "times": options.times}
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for turn in range(options.repeats):
        for size in ("small", "large"):
            for number in in_flight:
                part = turn % options.times if size == "small" else None
                wanted = {**common, "n": options.n, "part": part, "in_flight": number}
                found.setdefault((number, size), []).append(in_child(__file__, wanted))
    print(f"{options.attack}; {pick_device()}, {options.threads or torch.get_num_threads()} threads, {os.cpu_count()} cores")
    head = ["in flight", "examples", "queries", "CPU s", "CPU ms per query", "peak MiB", "grown", "again", "load"]
    print(table(head, [_row(number, runs) for (number, _), runs in found.items()]))
    for number in in_flight:
        small, large = found[number, "small"], found[number, "large"]
        more = _mean(large, "examples") / _mean(small, "examples")
        seconds = _mean(large, "cpu") / _mean(small, "cpu")
        a_query = (_mean(large, "cpu") / _mean(large, "queries")) / (_mean(small, "cpu") / _mean(small, "queries"))
        memory = _mean(large, "peak") / _mean(small, "peak")
        print(
            f"{number} in flight: {more:.0f} times the examples cost {seconds:.2f} times the seconds ({a_query:.3f} times per query) "
            f"and {memory:.3f} times the memory"
        )


def _mean(runs: list[dict[str, Any]], name: str) -> float:
    return statistics.fmean(run[name] for run in runs)


def _row(number: int, runs: list[dict[str, Any]]) -> list[Any]:
    cells = [f"{_mean(runs, name):.1f}" for name in ("examples", "queries", "cpu")]
    seconds = _mean(runs, "cpu") / _mean(runs, "queries")
    memory = [f"{_mean(runs, name):.1f}" if name in runs[0] else None for name in ("peak", "grown", "again")]
    return [number, *cells, 1000 * seconds, *memory, f"{_mean(runs, 'load'):.1f}"]


def measure(wanted: dict[str, Any]) -> dict[str, Any]:
    """Attack a part of the examples, or all, in this process; return what it took."""
    import_textattack()
    data, chosen, other = examples(wanted["task"], wanted["n"] * wanted["times"])
    if wanted["part"] is not None:
        chosen = chosen[wanted["part"] :: wanted["times"]]
    attack = attack_of(wanted["attack"])
    model, tokenizer, names = loading.load_finished(wanted["victim"])
    victim = Victim(model.to(pick_device()), tokenizer, names, max_length=LENGTH)
    settings: dict[str, Any] = {"columns": data.columns, "label_names": data.label_names, "seed": SEED, "workers": 1}
    settings |= {"resources": attack.prepare(), "in_flight": wanted["in_flight"]}
    run_attack(attack, victim, [other], records=RecordFile(None, ""), **settings)
    peak(reset=True)  # discards the peak of loading
    before = peak()
    with clocks() as took:
        found = run_attack(attack, victim, chosen, records=RecordFile(None, ""), **settings)
    after = peak(reset=True)
    sizes = {"examples": len(found), "queries": sum(record.queries for record in found), "peak": after, "grown": after - before}
    if wanted["part"] is not None:
        begun = peak()
        run_attack(attack, victim, chosen, records=RecordFile(None, ""), **settings)
        sizes["again"] = peak() - begun
    return {**took, **sizes, "load": os.getloadavg()[0]}


def peak(*, reset: bool = False) -> float:
    """Return the peak resident memory of this process so far, in MiB; ``reset`` starts a new measurement (on Linux only)."""
    marks = Path("/proc/self/clear_refs")
    if not marks.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    if reset:
        marks.write_text("5")
    return found / 2**10


if __name__ == "__main__":
    main()
