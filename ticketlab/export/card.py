"""The model card of an exported model: its format, how to load it, how it was found, and its results. Unknown facts are omitted."""

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
    "dense": "Full size, with zeros where weights were removed. Transformers loads it without ticketlab.",
    "shrunk": "Smaller: the removed heads and neurons are cut out of every matrix. Loading it requires ticketlab.",
    "onnx": "An ONNX file. It runs under onnxruntime, without ticketlab and torch.",
    "onnx-int8": "An ONNX file whose matrices are 8-bit integers. It runs under onnxruntime, without ticketlab and torch. The logits of a "
    "text depend slightly on its batch, because onnxruntime quantises the activations of a batch together.",
}
LOAD = """\
{imports}from transformers import AutoModelForSequenceClassification, AutoTokenizer

folder = "."  # the folder of this file
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder)
logits = model(**tokenizer("a text", return_tensors="pt")).logits
print(model.config.id2label[int(logits.argmax())])"""
LOAD_ONNX = """\
import json

import onnxruntime
from transformers import AutoTokenizer

folder = "."  # the folder of this file
tokenizer = AutoTokenizer.from_pretrained(folder)
session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
names = [node.name for node in session.get_inputs()]
inputs = tokenizer("a text", return_tensors="np")
(logits,) = session.run(None, {name: inputs[name].astype("int64") for name in names})
print(json.load(open(f"{folder}/config.json"))["id2label"][str(logits[0].argmax())])"""
SNIPPETS = {
    "dense": LOAD.format(imports=""),
    "shrunk": LOAD.format(imports="import ticketlab.auto  # registers shrunk models with transformers\n"),
    "onnx": LOAD_ONNX,
    "onnx-int8": LOAD_ONNX,
}


@frozen
class Card:
    """The content of a card: the figures of :class:`ticketlab.export.model.Exported`, the model's family and labels, and its provenance."""

    figures: Mapping[str, Any]
    family: str
    labels: Sequence[str]
    provenance: Provenance
    masks: Mapping[str, Tensor]
    ticket: Ticket | None
    doubt: str = ""
    """A reason to doubt that the ticket fits this model."""

    def text(self) -> str:
        """Return the card as Markdown, with the front matter of the Hugging Face hub."""
        parts = [
            front_matter(self.figures["format"], self._base_on_hub(), pruned=bool(self.masks)),
            *self._summary(),
            *self._usage(),
            *self._history(),
            *self._results(),
        ]
        return "\n\n".join(parts) + "\n"

    def _summary(self) -> Iterator[str]:
        figures = self.figures
        yield f"# A {'pruned ' if self.masks else ''}classifier of the {escape(self.family)} family"
        yield ABOUT[figures["format"]]
        facts: list[tuple[str, object]] = [("Format", figures["format"])]
        facts += [(name, value) for name, value in (("Base model", self._base()), ("Task", self.provenance.task)) if value]
        facts += [("Labels", ", ".join(self.labels)), ("Parameters", f"{figures['parameters']:,}")]
        facts += [("Non-zero parameters", f"{figures['nonzero']:,}"), ("Bytes of weights", f"{figures['bytes']:,}")]
        if "largest_difference" in figures:
            facts.append(("Largest difference of a logit from torch", f"{figures['largest_difference']:.1g}"))
        yield table(("", ""), [*facts, ("Written by", f"ticketlab {__version__}")])

    def _base(self) -> str:
        base = self.provenance.base_model
        return Path(base).name if Path(base).is_absolute() else base  # do not publish paths of the machine it was made on

    def _base_on_hub(self) -> str | None:
        base = self.provenance.base_model
        return base if base != "demo" and HUB_NAME.fullmatch(base) and not Path(base).exists() else None

    def _usage(self) -> Iterator[str]:
        yield "## Usage"
        yield f"```python\n{SNIPPETS[self.figures['format']]}\n```"

    def _history(self) -> Iterator[str]:
        provenance = self.provenance
        if not (provenance.stages or self.masks):
            return
        yield "## How it was found"
        facts: list[tuple[str, object]] = [("Recipe", provenance.recipe)] if provenance.recipe else []
        facts += [("Scale", provenance.scale)] if provenance.scale not in ("", "full") else []
        facts += [("Seed", provenance.seed)] if provenance.seed is not None else []
        facts += [(f"Sparsity of {group}", f"{value:.4f}") for group, value in self.figures["sparsity"].items()]
        if self.ticket is not None:
            hashes = {"found on weights": self.ticket.found_on, "rewound to weights": self.ticket.rewind_to}
            facts += [(f"Ticket: {name}", _plain(value)) for name, value in {**self.ticket.provenance, **hashes}.items() if value]
        if facts:
            yield table(("", ""), facts)
        if self.doubt:
            yield f"Warning: {escape(self.doubt)}."
        if provenance.stages:
            steps = [
                (name, kind, ", ".join(f"{key} = {_plain(value)}" for key, value in known.items()))
                for name, kind, known in provenance.stages
            ]
            yield table(("Stage", "Kind", "Settings"), steps)
        layers = _layers(self.masks)
        if layers:
            yield table(("Layer", "Heads", "Neurons"), layers)

    def _results(self) -> Iterator[str]:
        if not self.provenance.measurements:
            return
        yield "## Results"
        yield "Accuracy, accuracy under attack and success rate of the attack are percentages; queries are the mean per attacked example."
        rows = [
            (
                measurement.task,
                measurement.attack,
                _percent(measurement.clean),
                _percent(measurement.aua),
                _percent(measurement.suc),
                _number(measurement.queries),
                measurement.examples,
            )
            for measurement in self.provenance.measurements
        ]
        yield table(("Task", "Attack", "Accuracy", "Under attack", "Success", "Queries", "Examples"), rows)
        warnings = dict.fromkeys(warning for measurement in self.provenance.measurements for warning in measurement.warnings)
        if warnings:
            yield "\n".join(f"- {escape(warning)}" for warning in warnings)
        yield "These results were measured on the model before the export, not on the exported file."


def front_matter(format: str, base_model: str | None, *, pruned: bool) -> str:
    """Return the metadata of a card in YAML, between lines of dashes. ``base_model`` is a name on the Hugging Face hub."""
    from huggingface_hub import ModelCardData  # imported late, because a dry run sets HF_HUB_OFFLINE first

    data = ModelCardData(
        base_model=base_model,
        library_name="onnx" if format.startswith("onnx") else "transformers",
        pipeline_tag="text-classification",
        tags=["ticketlab", *(["pruned"] if pruned else []), format],
    )
    return f"---\n{data.to_yaml()}\n---"


def _layers(masks: Mapping[str, Tensor]) -> list[tuple[str, str | None, str | None]]:
    """Return (layer, heads, neurons) for masks of heads and neurons, as in ``3 of 4`` kept."""
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
