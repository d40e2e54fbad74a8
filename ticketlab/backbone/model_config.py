"""A model's config.json, checked before transformers builds a model from it: it is untrusted input."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticketlab.backbone.adapters import SHRUNK
from ticketlab.core.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from transformers import PretrainedConfig

FILE = "config.json"
CUSTOM_CODE = f"the model has custom code (`auto_map` in {FILE}), which is never run: it is loaded as the `{{}}` of transformers"
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "max_position_embeddings")
LARGEST = 2**31
"""No valid size is this large."""
LFS = b"version https://git-lfs"
"""The beginning of a Git LFS pointer, which stands in for a file that was not fetched."""


def read_json(name: str, path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of the model ``name``.

    :raises UsageError: it cannot be read, is not valid JSON, or is not an object.
    """
    try:
        content = path.read_bytes()
        if content.startswith(LFS):
            raise UsageError(f"{name}: {path.name} is a Git LFS pointer, not the file itself; `git lfs pull` fetches it")
        table = json.loads(content)
    except RecursionError:
        raise UsageError(f"{name}: {path.name} is nested too deeply to be read") from None
    except OSError as problem:
        raise UsageError(f"{name}: {path.name} cannot be read: {problem.strerror}") from None
    except UsageError:
        raise
    except ValueError as problem:  # invalid JSON or encoding, or a number with thousands of digits
        raise UsageError(f"{name}: {path.name} is not valid JSON ({str(problem)[:100]})") from None
    if not isinstance(table, dict):
        raise UsageError(f"{name}: {path.name} must hold an object, not {type(table).__name__}")
    return table


def check(name: str, table: Mapping[str, Any]) -> None:
    """Check for values that transformers would guess, fail on, or accept and compute NaN with.

    :raises UsageError: there is one; the message names the first.
    """
    kind = table.get("model_type")
    if not isinstance(kind, str) or not kind:
        raise UsageError(f'{name}: {FILE} has no `model_type` ({kind!r}), the family of the model, such as "bert"')
    classes = table.get("architectures")
    if classes is not None and not (isinstance(classes, list) and all(isinstance(cls, str) for cls in classes)):
        raise UsageError(f"{name}: {FILE}: `architectures` must be a list of class names, not {_shown(classes)}")
    for size in SIZES:
        value = table.get(size)
        if isinstance(value, str | float | bool) or (isinstance(value, int) and not 1 <= value < LARGEST):
            raise UsageError(f"{name}: {FILE}: `{size}` must be a valid whole number, not {_shown(value)}")
    if "quantization_config" in table:
        raise UsageError(
            f"{name}: its weights are quantised (`quantization_config` in {FILE}), which is not supported; use the original model"
        )
    for key, value in _numbers(table):
        if math.isnan(value) or ("drop" in key.rpartition(".")[2] and not 0 <= value <= 1):
            expected = "a number from 0 to 1" if "drop" in key else "a number"
            raise UsageError(f"{name}: {FILE}: `{key}` must be {expected}, not {_shown(value)}")
    named = table.get("id2label")
    if named is not None and not (isinstance(named, dict) and all(key.isdecimal() for key in named)):
        raise UsageError(f"{name}: {FILE}: `id2label` must map the numbers of the outputs to labels, not {_shown(named)}")


def custom_code(name: str, table: Mapping[str, Any]) -> str | None:
    """Return a warning if a config names custom code for a model that transformers has too; None without custom code.

    :raises UsageError: transformers does not have the model. Custom code is never run.
    """
    import transformers

    kind = str(table["model_type"]).removeprefix(SHRUNK)
    if kind in transformers.CONFIG_MAPPING:
        return CUSTOM_CODE.format(kind) if table.get("auto_map") else None
    if table.get("auto_map"):
        raise UsageError(f"{name}: a model with custom code (`auto_map` in {FILE}), which is never run; transformers has no `{kind}`")
    near = did_you_mean(kind, transformers.CONFIG_MAPPING)
    near = near if near.startswith("; did you mean") else ""
    raise UsageError(f"{name}: {FILE}: this version of transformers ({transformers.__version__}) has no model type `{kind}`{near}")


def labels(name: str, config: PretrainedConfig) -> tuple[str, ...]:
    """Return the label names of a classifier in the order of its logits (``LABEL_0`` and so on if they are not named).

    :raises UsageError: an output has no name, two have the same, or ``id2label`` and ``label2id`` contradict each other.
    """
    named: Mapping[int, Any] = config.id2label
    count = len(named)
    if not count:
        raise UsageError(f"{name}: {FILE}: `id2label` names no label")
    missing = next((index for index in range(count) if index not in named), None)
    if missing is not None:
        raise UsageError(f"{name}: {FILE}: `id2label` has a gap: it names {', '.join(map(str, sorted(named)))}, but not output {missing}")
    for index in range(count):
        if not isinstance(named[index], str | int | float) or not str(named[index]).strip():
            raise UsageError(f"{name}: {FILE}: `id2label` has no name for output {index} ({_shown(named[index])})")
    names = tuple(str(named[index]) for index in range(count))
    repeated = next((label for label in names if names.count(label) > 1), None)
    if repeated is not None:
        raise UsageError(f"{name}: {FILE}: two outputs are called `{repeated}` in `id2label`")
    numbers = getattr(config, "label2id", None) or {}
    for index, label in enumerate(names):
        if isinstance(numbers, Mapping) and numbers.get(label, index) != index:
            raise UsageError(
                f"{name}: {FILE} contradicts itself: `{label}` is output {index} in `id2label` and {_shown(numbers[label])} in `label2id`"
            )
    return names


def is_generic(names: tuple[str, ...]) -> bool:
    """Return whether these are the default names of unnamed labels."""
    return names == tuple(f"LABEL_{index}" for index in range(len(names)))


def _numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every number in a config with its key path; numbers that are far too large as infinity."""
    pending: list[tuple[str, Any]] = [("", table)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Mapping):
            pending += [(f"{path}.{key}" if path else str(key), item) for key, item in reversed(list(value.items()))]
        elif isinstance(value, list):
            pending += [(path, item) for item in reversed(value)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path, float(value) if abs(value) < LARGEST or math.isnan(value) else math.inf


def _shown(value: Any) -> str:
    return repr(value)[:60]
