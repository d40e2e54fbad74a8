"""The model card: what an exported model is, how to load it, how it was found, and what was measured. It says nothing it does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from torch import Tensor

from ticketlab.backbone.loading import HUB_NAME
from ticketlab.core.version import __version__
from ticketlab.export.markdown import escape, table
from ticketlab.export.provenance import Provenance
from ticketlab.tickets.draw import group_of
from ticketlab.tickets.ticket import Ticket

ABOUT = {
    "dense": "Full size, with zeros where weights were removed; plain transformers reads it.",
    "shrunk": "Physically smaller: the removed heads and neurons are cut out of every matrix. Loading it needs ticketlab.",
    "onnx": "An ONNX file; it runs under onnxruntime, without ticketlab and without torch.",
}
LOAD = """\
{imports}from transformers import AutoModelForSequenceClassification, AutoTokenizer

folder = "."  # where this file is
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder)
logits = model(**tokenizer("a text", return_tensors="pt")).logits
print(model.config.id2label[int(logits.argmax())])"""
LOAD_ONNX = """\
import json

import onnxruntime
from transformers import AutoTokenizer

folder = "."  # where this file is
tokenizer = AutoTokenizer.from_pretrained(folder)
session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
names = [node.name for node in session.get_inputs()]
inputs = tokenizer("a text", return_tensors="np")
(logits,) = session.run(None, {name: inputs[name].astype("int64") for name in names})
print(json.load(open(f"{folder}/config.json"))["id2label"][str(logits[0].argmax())])"""
SNIPPETS = {
    "dense": LOAD.format(imports=""),
    "shrunk": LOAD.format(imports="import ticketlab.auto  # teaches transformers to load shrunk models\n"),
    "onnx": LOAD_ONNX,
}


@frozen
class Card:
    """What a card is made of: the figures of :class:`ticketlab.export.model.Exported`, the model's family and labels, and its past."""

    figures: Mapping[str, Any]
    family: str
    labels: Sequence[str]
    origin: Provenance
    masks: Mapping[str, Tensor]
    ticket: Ticket | None
    doubt: str = ""
    """What is doubtful about the ticket on this model."""

    def text(self) -> str:
        """Return the card as Markdown, with the front matter of the Hugging Face hub."""
        parts = [
            _front_matter(self.figures["format"], self.origin, pruned=bool(self.masks)),
            *self._what(),
            *self._load(),
            *self._found(),
            *self._results(),
        ]
        return "\n\n".join(parts) + "\n"

    def _what(self) -> Iterator[str]:
        figures = self.figures
        yield f"# A {'pruned ' if self.masks else ''}classifier of the family {escape(self.family)}"
        yield ABOUT[figures["format"]]
        facts: list[tuple[str, object]] = [("Format", figures["format"])]
        facts += [(name, value) for name, value in (("Base model", self._base()), ("Task", self.origin.task)) if value]
        facts += [("Labels", ", ".join(self.labels)), ("Parameters", f"{figures['parameters']:,}")]
        facts += [("Parameters other than zero", f"{figures['nonzero']:,}"), ("Bytes of weights", f"{figures['bytes']:,}")]
        if "largest_difference" in figures:
            facts.append(("Largest difference of a logit to torch's", f"{figures['largest_difference']:.1g}"))
        yield table(("", ""), [*facts, ("Written by", f"ticketlab {__version__}")])

    def _base(self) -> str:
        base = self.origin.base_model
        return Path(base).name if Path(base).is_absolute() else base  # the folders of the machine it was made on are nobody's business

    def _load(self) -> Iterator[str]:
        yield "## Loading it"
        yield f"```python\n{SNIPPETS[self.figures['format']]}\n```"

    def _found(self) -> Iterator[str]:
        origin = self.origin
        if not (origin.stages or self.masks):
            return
        yield "## How it was found"
        facts: list[tuple[str, object]] = [("Recipe", origin.recipe)] if origin.recipe else []
        facts += [("Scale", origin.scale)] if origin.scale not in ("", "full") else []
        facts += [("Seed", origin.seed)] if origin.seed is not None else []
        facts += [(f"Sparsity of {group}", f"{value:.4f}") for group, value in self.figures["sparsity"].items()]
        if self.ticket is not None:
            hashes = {"found on weights": self.ticket.found_on, "rewound to weights": self.ticket.rewind_to}
            facts += [(f"Ticket: {name}", _plain(value)) for name, value in {**self.ticket.provenance, **hashes}.items() if value]
        if facts:
            yield table(("", ""), facts)
        if self.doubt:
            yield f"Warning: {escape(self.doubt)}."
        if origin.stages:
            steps = [
                (name, kind, ", ".join(f"{key} = {_plain(value)}" for key, value in known.items())) for name, kind, known in origin.stages
            ]
            yield table(("Stage", "Kind", "Settings"), steps)
        layers = _layers(self.masks)
        if layers:
            yield table(("Layer", "Heads", "Neurons"), layers)

    def _results(self) -> Iterator[str]:
        if not self.origin.measured:
            return
        yield "## What was measured"
        yield "Percentages: accuracy, accuracy under attack, success rate of the attack; queries are a mean per attacked example."
        rows = [
            (one.task, one.what, _percent(one.clean), _percent(one.aua), _percent(one.suc), _number(one.queries), one.how)
            for one in self.origin.measured
        ]
        yield table(("Task", "Under", "Accuracy", "Under attack", "Success", "Queries", "On"), rows)
        warnings = dict.fromkeys(warning for one in self.origin.measured for warning in one.warnings)
        if warnings:
            yield "\n".join(f"- {escape(warning)}" for warning in warnings)
        yield "Measured on the model that was exported from, not on this file."


def _front_matter(format: str, origin: Provenance, *, pruned: bool) -> str:
    lines = ["---", f"library_name: {'onnx' if format == 'onnx' else 'transformers'}", "pipeline_tag: text-classification"]
    base = origin.base_model
    if base and base != "demo" and HUB_NAME.fullmatch(base) and not Path(base).exists():
        lines.append(f"base_model: {json.dumps(base)}")  # JSON is YAML
    return "\n".join([*lines, "tags:", "- ticketlab", *(["- pruned"] if pruned else []), f"- {format}", "---"])


def _layers(masks: Mapping[str, Tensor]) -> list[tuple[str, str | None, str | None]]:
    """Return (layer, heads, neurons) kept of how many, for masks of heads and neurons."""
    numbers = sorted({int(name.partition("/")[2]) for name in masks if group_of(name) in ("heads", "neurons")})

    def kept(name: str) -> str | None:
        return f"{int(masks[name].sum())} of {masks[name].numel()}" if name in masks else None

    return [(str(index), kept(f"heads/{index}"), kept(f"neurons/{index}")) for index in numbers]


def _plain(value: object) -> str:
    if isinstance(value, str):
        return Path(value).name if Path(value).is_absolute() else value
    return json.dumps(value, ensure_ascii=False)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"
