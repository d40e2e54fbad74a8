"""Compares the speed of plain textattack and our engine on the same examples, with the same resources and random numbers.

    python benchmarks/attack_throughput.py --task FOLDER [--n 40] [--attacks textfooler,bert-attack,...] [--only c,a,b,d,e]
        [--victim FOLDER] [--mlm FOLDER] [--cache lab] [--threads N] [--in-flight 64] [--repeats 1] [--save FILE.json]
        [--words N] [--max-length 128]

c  textattack with its own model wrapper, texts padded to the longest of the batch
a  the same, every text padded to 512 tokens, as is textattack's default
b  the same, padded to 128 tokens
d  our engine in fp32
e  our engine in bf16

Each is measured in its own process; before the clock starts, imports, models, vectors and neighbours are loaded, and one other example
is attacked. With --repeats the variants alternate, and the fastest run counts. --save keeps finished runs, so that a long benchmark can
be resumed; the table shows when each was run. Seconds are wall-clock time on a GPU, otherwise CPU time. --words, for d and e, joins
examples of a label to texts of that many words, of which the victim sees --max-length tokens.

The limit is the speed of the models alone on the rows that the attack needs: each distinct row of the victim, of the sentence encoder and
of the masked language model is computed once, unpadded, up to 64 of a length at a time. Nothing else is counted.
"""

from __future__ import annotations

import collections
import contextlib
import datetime
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from attack_parts import LENGTH, SEED, arguments, attack_of, clocks, cpu_seconds, examples, in_child, ran_as_child, table, trained
from attrs import define, evolve, field
from stock_attacks import Padding, Parts, build

from ticketlab.attacks.engine.attacker import attackable
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.backbone.mlm_head import head_of, restricted
from ticketlab.core import files
from ticketlab.inference.batch_invariant import BatchInvariantModel
from ticketlab.inference.random_state import example_seed, seeded
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import import_textattack

STOCK = {"c": Padding(cap=128, dynamic=True), "a": Padding(), "b": Padding(cap=128)}
ENGINE = {"d": "fp32", "e": "bf16"}
MLM = "masked language model"
VARYING = ("attack", "variant")
STATUSES = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}


def main() -> None:
    if ran_as_child(measure):
        return
    parser = arguments(__doc__)
    parser.add_argument("--mlm", help="a masked language model's folder; by default a head is trained on the demo encoder")
    parser.add_argument("--text", help="text to train that head on; by default the texts of the task")
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--attacks", default="deepwordbug,textfooler,textbugger,bae,pwws,bert-attack")
    parser.add_argument("--only", default="c,a,b,d,e")
    parser.add_argument("--in-flight", default="64", help="number of examples at once in d and e; several numbers make several variants")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--words", type=int, help="join examples of one label to texts of at least this many words")
    parser.add_argument("--max-length", type=int, default=LENGTH, help="tokens that the victim sees of a text")
    options = parser.parse_args()
    attacks = options.attacks.split(",")
    victim = options.victim or trained("victim", options.task, options.cache)
    mlm = options.mlm
    if mlm is None and {"bae", "bert-attack"}.intersection(attacks):
        mlm = trained("mlm", options.task, options.cache, options.text or options.task)
    variants = [
        name if name in STOCK or number == "64" else f"{name}{number}"
        for name in options.only.split(",")
        for number in (["64"] if name in STOCK else options.in_flight.split(","))
    ]
    common = {"task": options.task, "victim": victim, "mlm": mlm, "n": options.n, "threads": options.threads}
    if options.words is not None:
        common |= {"words": options.words, "length": options.max_length}
    kept: dict[str, Any] = files.read_json(options.save) if options.save and options.save.exists() else {}
    for turn in range(options.repeats):
        for attack in attacks:
            for variant in variants:
                wanted = {**common, "attack": attack, "variant": variant}
                name = " ".join(str(value) for value in [*wanted.values(), turn])
                if name not in kept:
                    kept[name] = in_child(__file__, wanted) | {"wanted": wanted}
                    if options.save:
                        files.write_json(options.save, kept)
    finished = [one for one in kept.values() if {key: value for key, value in one["wanted"].items() if key not in VARYING} == common]
    print(f"{options.n} examples; {pick_device()}, {options.threads or torch.get_num_threads()} threads, {os.cpu_count()} cores")
    for attack in attacks:
        print(f"\n{report(attack, [one for one in finished if one['wanted']['attack'] == attack])}")


def report(attack: str, finished: list[dict[str, Any]]) -> str:
    """Return the table of an attack, with the fastest run of each variant."""
    clock = "wall" if pick_device().type == "cuda" else "cpu"
    best: dict[str, dict[str, Any]] = {}
    order = [*STOCK, *ENGINE]
    for one in sorted(finished, key=lambda one: (order.index(one["wanted"]["variant"][0]), one[clock])):
        best.setdefault(one["wanted"]["variant"], one)
    speed = {name: one["queries"] / one[clock] for name, one in best.items()}
    rows = []
    reference = next((name for name in STOCK if name in best), None)
    for name, one in best.items():
        ratios = [speed[name] / speed[other] if other in speed else None for other in STOCK]
        agree = _agreement(one, best[reference]) if reference else None
        seconds = [one["cpu"], one["wall"], one["wall"] / one["wanted"]["n"]]
        load = f"{one['load']:.1f}"
        rows.append([name, one["queries"], one["errors"], *seconds, speed[name], *ratios, agree, load, one["made"]])
    head = [
        "",
        "queries",
        "errors",
        "CPU s",
        "wall s",
        "an example",
        f"queries per {clock} s",
        *[f"/ {name}" for name in STOCK],
        f"% as {reference}",
        "load",
        "made",
    ]
    lines = [attack, table(head, rows)]
    for name, one in best.items():
        if "passes" in one:
            limit = sum(passes[clock] for passes in one["passes"].values())
            lines.append(f"{name}: {one[clock]:.2f} {clock} s, the models alone {limit:.2f}: {100 * limit / one[clock]:.0f} % of the limit")
            outside = one[clock] - sum(passes["share"] for passes in one["passes"].values())
            lines.append(f"   outside the models: {100 * outside / one[clock]:.1f} % of the time")
            lines += [_passes(model, passes, one[clock]) for model, passes in one["passes"].items()]
    if reference:
        lines += [f"{name}: {line}" for name, one in best.items() for line in _differences(one, best[reference], reference)]
    return "\n".join(lines)


def _agreement(one: dict[str, Any], other: dict[str, Any]) -> float:
    return 100 * sum(mine == theirs for mine, theirs in zip(one["records"], other["records"], strict=True)) / len(one["records"])


def _differences(one: dict[str, Any], other: dict[str, Any], reference: str) -> list[str]:
    pairs = zip(one["records"], other["records"], strict=True)
    return [f"{mine[:3]} where {reference} has {theirs[:3]}" for mine, theirs in pairs if mine != theirs][:3]


def _passes(model: str, passes: dict[str, Any], whole: float) -> str:
    return (
        f"   {model}: {passes['rows']} rows computed, {passes['needed']} needed, {passes['tokens']} tokens; "
        f"{100 * passes['share'] / whole:.0f} % of the time"
    )


def measure(wanted: dict[str, Any]) -> dict[str, Any]:
    """Attack the examples in this process; return the cost and the results."""
    import_textattack()
    data, chosen, other = examples(wanted["task"], wanted["n"], wanted.get("words"))
    attack = attack_of(wanted["attack"], wanted["mlm"])
    resources = attack.prepare()
    if "word_vectors" in attack.required_resources:
        find_neighbours(resources.load_word_vectors(), [*chosen, other], attack.neighbours)
    how = stock if wanted["variant"] in STOCK else ours
    return how(wanted, attack, resources, data, chosen, other) | {
        "made": f"{datetime.datetime.now():%m-%d %H:%M}",
        "load": os.getloadavg()[0],
    }


def find_neighbours(vectors: Any, chosen: list[Any], most: int) -> None:
    """Find the neighbours of all words of the examples in advance, so that no variant's time includes it."""
    from textattack.shared import AttackedText

    for word in {word.lower() for example in chosen for text in example.texts for word in AttackedText(text).words}:
        if vectors[word] is not None:
            vectors.nearest_neighbours(vectors.word2index(word), most)


def stock(wanted: dict[str, Any], attack: Any, resources: Any, data: Any, chosen: list[Any], other: Any) -> dict[str, Any]:
    needs = attack.required_resources
    parts = Parts(
        wanted["victim"],
        resources.load_word_vectors() if "word_vectors" in needs else None,
        resources.where("encoder") if "encoder" in needs else "",
        wanted["mlm"],
        resources.load_tagger() if "tagger" in needs else None,
        resources.load_wordnet() if "wordnet" in needs else None,
    )
    built = build(attack, parts, STOCK[wanted["variant"]])
    names = [built.goal_function.model.model.config.id2label[index] for index in range(len(data.label_names))]

    def outcome(example: Any) -> list[Any]:
        with seeded(example_seed(SEED, example.id)):
            try:
                result = built.attack(attackable(example, data.columns), names.index(data.label_names[example.label]))
            except Exception as problem:  # textattack may raise anything, such as StopIteration
                return ["error", f"{type(problem).__name__}: {problem}", 0]
        return [STATUSES[type(result).__name__], result.perturbed_text(), result.num_queries]

    outcome(other)
    with clocks() as took:
        records = [outcome(example) for example in chosen]
    return _found(records, took)


def ours(wanted: dict[str, Any], attack: Any, resources: Any, data: Any, chosen: list[Any], other: Any) -> dict[str, Any]:
    precision = ENGINE[wanted["variant"][0]]
    model, tokenizer, names = loading.load_finished(wanted["victim"])
    victim = Victim(model.to(pick_device()), tokenizer, names, max_length=wanted.get("length", LENGTH), precision=precision)
    settings: dict[str, Any] = {"columns": data.columns, "label_names": data.label_names, "seed": SEED, "workers": 1}
    settings |= {"resources": evolve(resources, precision=precision), "in_flight": int(wanted["variant"][1:] or 64)}
    run_attack(attack, victim, [other], records=RecordFile(None, ""), **settings)
    with model_passes(victim.model) as models, clocks() as took:
        found = run_attack(attack, victim, chosen, records=RecordFile(None, ""), **settings)
    records = [[one.status, one.message if one.status == "error" else one.perturbed[0], one.queries] for one in found]
    return {**_found(records, took), "passes": {name: passes.report(precision) for name, passes in models.items()}}


def _found(records: list[list[Any]], took: dict[str, float]) -> dict[str, Any]:
    attacked = [record for record in records if record[0] != "error"]
    return {**took, "records": records, "queries": sum(record[2] for record in attacked), "errors": len(records) - len(attacked)}


@define
class Passes:
    """What a model computed during an attack."""

    model: Any
    seconds: float = 0.0
    rows: int = 0
    needed: dict[tuple[int, ...], tuple[dict[str, list[int]], set[int]]] = field(factory=dict)
    """Each distinct row, by its tokens, and the positions at which a masked language model has predicted."""

    def add(self, rows: Any, seconds: float) -> None:
        self.seconds += seconds
        self.rows += len(rows)
        for row in rows:
            inputs = {name: values for name, values in row.items() if not name.startswith("_")}
            self.needed.setdefault(tuple(row["input_ids"]), (inputs, set()))[1].update(row.get("_positions", ()))

    def report(self, precision: str) -> dict[str, Any]:
        tokens = sum(map(len, self.needed))
        return {"share": self.seconds, "rows": self.rows, "needed": len(self.needed), "tokens": tokens, **self._alone(precision)}

    def _alone(self, precision: str) -> dict[str, float]:
        """Measure the model alone on the rows that are needed."""
        device = next(self.model.parameters()).device
        by_length = collections.defaultdict(list)
        for row in self.needed.values():
            by_length[len(row[0]["input_ids"])].append(row)
        chunks = [rows[start : start + 64] for rows in by_length.values() for start in range(0, len(rows), 64)]
        batches = [{name: torch.tensor([row[name] for row, _ in rows], device=device) for name in rows[0][0]} for rows in chunks]
        chosen = [torch.zeros_like(batch["input_ids"], dtype=torch.bool) for batch in batches]
        for mask, rows in zip(chosen, chunks, strict=True):
            for index, (_, positions) in enumerate(rows):
                mask[index, sorted(positions)] = True
        head = head_of(self.model) if name_of(self.model) == MLM else None
        model = self.model.to(torch.bfloat16 if precision == "bf16" else torch.float32).eval()
        if device.type == "cpu":
            torch.set_num_threads(1)  # as in the engine; it takes the least CPU time

        def run(batch: Any, mask: torch.Tensor) -> None:
            with restricted(head, mask) if head is not None else contextlib.nullcontext():
                model(**batch)

        with torch.inference_mode():
            run(batches[0], chosen[0])
            with clocks() as took:
                for batch, mask in zip(batches, chosen, strict=True):
                    run(batch, mask)
        return took


@contextlib.contextmanager
def model_passes(victim: Any) -> Iterator[dict[str, Passes]]:
    """Record the passes of the models inside a block, by their purpose."""
    found: dict[str, Passes] = {}
    run_batch = BatchInvariantModel.run_batch

    def timed(model: BatchInvariantModel, rows: Any) -> Any:
        begun = _now()
        results = run_batch(model, rows)
        name = "victim" if model.model is victim else name_of(model.model)
        found.setdefault(name, Passes(model.model)).add(rows, _now() - begun)
        return results

    BatchInvariantModel.run_batch = timed  # type: ignore[method-assign]
    try:
        yield found
    finally:
        BatchInvariantModel.run_batch = run_batch  # type: ignore[method-assign]


def name_of(model: Any) -> str:
    """Return what a model that is not the victim does in an attack."""
    return MLM if type(model).__name__.endswith("MaskedLM") else "encoder"


def _now() -> float:
    if pick_device().type != "cuda":
        return cpu_seconds()
    torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
