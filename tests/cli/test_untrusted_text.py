"""Control characters in external names are escaped before they reach a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.export.markdown import escape
from ticketlab.tickets.ticket import Ticket

ODD = "a\x1b[31mb\x07\u202ec\x9b2J\nd"
FORBIDDEN = set("\x1b\x07\u202e\x9b")
PLUGIN = f"""
from ticketlab.plugin import hookimpl
from ticketlab.core.hookspecs import Lazy

import warnings
warnings.warn({ODD!r})

@hookimpl
def ticketlab_pruners():
    return [Lazy("odd", {ODD!r}, "nowhere:Nothing")]
"""


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    masks = {f"heads/{ODD}": torch.tensor([True, False])}
    ticket = Ticket(masks, ODD, "found", "rewind", {"task": ODD, ODD: [ODD]}, {ODD: torch.zeros(1)}, (ODD, "pos"))
    ticket.save(tmp_path / "ticket.safetensors")
    plugin = tmp_path / "odd\x1b[2J.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    return {"TICKET": tmp_path / "ticket.safetensors", "PLUGIN": plugin}


@pytest.mark.parametrize(
    "arguments",
    [
        ("ticket", "info", "TICKET"),
        ("plugins", "--plugin", "PLUGIN"),
        ("show", "pruner", "--plugin", "PLUGIN"),
        ("show", "pruner", "odd", "--plugin", "PLUGIN"),
        ("ticket", "info", ODD),
        ("run", "--task", "demo", f"--{ODD}"),
        ("run", ODD, "--task", "demo"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]).encode("unicode_escape").decode(),
)
def test_control_characters_are_shown_escaped(invoke: Any, odd: dict[str, Path], arguments: tuple[str, ...]) -> None:
    result = invoke(*(odd.get(argument, argument) for argument in arguments))
    assert not set(result.output) & FORBIDDEN
    assert r"\x1b[" in result.output


def test_json_and_toml_keep_the_values_and_are_safe(invoke: Any, odd: dict[str, Path]) -> None:
    import tomllib

    shown = invoke("ticket", "info", odd["TICKET"], "--json").stdout
    assert not set(shown) & FORBIDDEN
    assert json.loads(shown)["provenance"] == {"task": ODD, ODD: [ODD]}
    mapped = f"evaluate.label_map={json.dumps([ODD + '=a'])}"
    recipe = invoke("run", "--task", "demo", "--model", "demo", "--set", mapped, "--dry-run").stdout
    assert not set(recipe) & FORBIDDEN
    assert tomllib.loads(recipe)["evaluate"]["label_map"] == [f"{ODD}=a"]


def test_a_model_card_shows_invisible_characters() -> None:
    assert escape("a\x1b[31m\u202e") == r"a\\x1b\[31m\\u202e"
