"""Checks what a stage returns: JSON values by name, none of them under a name that the run itself uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ticketlab.core.errors import PluginError
from ticketlab.lab.layout import MODEL

RESERVED = (
    *("kind", "key", "seed", "task", "inputs", "of", "at", "settings", "same_as", "replaces", "model_folder"),
    *("cost", "input_keys", "warnings", "input_warnings", "sealed"),
)
"""The names that the run adds to the result of a stage."""


def check_result(kind: str, result: Any) -> None:
    """Check the result of a stage of this kind.

    :raises PluginError: it is no table of JSON values, has a reserved name, or its ``numbers`` are not numbers by name.
    """
    if not isinstance(result, Mapping) or not all(isinstance(name, str) for name in result):
        raise PluginError(f"the stage kind `{kind}` returned {_short(result)}; `run` must return a dict of JSON values by name")
    reserved = next((name for name in RESERVED if name in result), None)
    if reserved is not None:
        raise PluginError(f"the stage kind `{kind}` returned `{reserved}`, which the run adds itself; use another name")
    numbers = result.get("numbers", {})
    if not isinstance(numbers, Mapping) or not all(isinstance(value, (int, float)) and value is not True for value in numbers.values()):
        raise PluginError(f"the stage kind `{kind}` returned `numbers` {_short(numbers)}; they must be a dict of numbers by name")
    try:
        json.dumps(result)
    except (TypeError, ValueError) as problem:
        raise PluginError(f"the stage kind `{kind}` returned a result that is not JSON: {problem}") from None


def check_files(kind: str, replaces: Sequence[str], directory: Path) -> None:
    """Check that a stage that stands for a train stage has written a model.

    :raises PluginError: it has not, and the stages that read it would fail.
    """
    if "train" in replaces and not (directory / MODEL).is_dir():
        raise PluginError(f"the stage kind `{kind}` replaces `train` and wrote no model; `run` calls context.save_model(model, tokenizer)")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
