from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import evolve
from huggingface_hub import ModelCard
from support.small_exports import MISSING, ticket_for

import ticketlab
from ticketlab.export.card import front_matter
from ticketlab.export.markdown import escape, table
from ticketlab.export.model import export_model
from ticketlab.export.provenance import Measurement, Provenance

NASTY = "<script>alert(1)</script> | [x](http://evil) `code` \n# heading *bold* _it_ $m$ ![i](y)"


def card_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


RUN = """
import os, sys
sys.modules["ticketlab"] = None  # only shrunk models need it
for folder, snippet in SNIPPETS.items():
    if folder.endswith("shrunk"):
        del sys.modules["ticketlab"]
    os.chdir(folder)
    exec(compile(snippet, folder, "exec"), {"__name__": "__main__"})
"""


@pytest.mark.system
def test_code_snippets_of_cards_run(classifier: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    model, tokenizer = classifier("bert")
    folders = [] if MISSING else [request.getfixturevalue("onnx_folder")]
    for kind in ("dense", "shrunk"):
        export_model(model, tokenizer, tmp_path / kind, kind, ticket=ticket_for(model))
        folders.append(tmp_path / kind)
    snippets = {str(folder): re.findall(r"```python\n(.*?)```", card_of(folder), re.DOTALL) for folder in folders}
    assert {len(in_card) for in_card in snippets.values()} == {1}
    code = RUN.replace("SNIPPETS", repr({folder: in_card[0] for folder, in_card in snippets.items()}))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    labels = done.stdout.split()
    assert len(labels) == len(folders)
    assert set(labels) <= {"bad", "good"}


def test_the_card_shows_the_kept_units_and_the_ticket_s_provenance(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    ticket = ticket_for(model, "empty")
    done = export_model(model, tokenizer, tmp_path / "out", "shrunk", ticket=ticket)
    card = card_of(tmp_path / "out")
    assert f"| Parameters | {done.parameters:,} |" in card
    assert f"| Bytes of weights | {done.bytes:,} |" in card
    assert f"| Sparsity of heads | {ticket.sparsity('heads'):.4f} |" in card
    assert f"| 0 | 0 of 4 | {ticket.kept_by('neurons/0')} of 64 |" in card
    assert f"| 1 | {ticket.kept_by('heads/1')} of 4 | 0 of 64 |" in card
    assert "| Ticket: pruner | random |" in card
    assert ticket.found_on in card
    assert f"ticketlab {ticketlab.__version__}" in card


def test_the_card_omits_unknown_facts(classifier: Any, tmp_path: Path) -> None:
    export_model(*classifier("bert"), tmp_path / "out")
    card = card_of(tmp_path / "out")
    for absent in ("Base model", "Task", "How it was found", "Results", "None", "base_model", "Sparsity", "pruned"):
        assert absent not in card


@pytest.mark.parametrize(
    ("base", "named"),
    [
        ("bert-base-uncased", True),
        ("owner/name", True),
        ("123", True),  # without quotes, YAML would read a number
        ("null", True),
        ("demo", False),
        ("/home/me/secret/model", False),
        ("not: a 'name'\n# at \"all\"", False),
        ("", False),
    ],
)
def test_the_front_matter_names_the_base_model_only_if_it_is_on_the_hub(classifier: Any, tmp_path: Path, base: str, named: bool) -> None:
    export_model(*classifier("bert"), tmp_path / "out", provenance=Provenance(base_model=base))
    front_matter = ModelCard.load(tmp_path / "out" / "README.md").data.to_dict()
    expected = {"library_name": "transformers", "pipeline_tag": "text-classification", "tags": ["ticketlab", "dense"]}
    assert front_matter == (expected | {"base_model": base} if named else expected)
    assert "secret" not in card_of(tmp_path / "out")


def test_front_matter_is_valid_yaml_for_any_text() -> None:
    odd = "a: 'b' \"c\"\n---\n# d"
    assert ModelCard(front_matter("onnx", odd, pruned=True)).data.to_dict() == {
        "base_model": odd,
        "library_name": "onnx",
        "pipeline_tag": "text-classification",
        "tags": ["ticketlab", "pruned", "onnx"],
    }


def test_untrusted_texts_are_displayed_literally(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    model.config.id2label = {0: NASTY, 1: "good"}
    model.config.label2id = {NASTY: 0, "good": 1}
    ticket = evolve(ticket_for(model), provenance={"pruner": NASTY, NASTY: {"a|b": [NASTY]}})
    measured = [Measurement(NASTY, NASTY, 0.5, examples=NASTY, warnings=[NASTY])]
    provenance = Provenance(base_model="demo", recipe=NASTY, task=NASTY, stages=[(NASTY, NASTY, {NASTY: NASTY})], measurements=measured)
    export_model(model, tokenizer, tmp_path / "out", ticket=ticket, provenance=provenance)
    text = card_of(tmp_path / "out")
    assert "\n# heading" not in text
    plain = re.sub(r"\\.", "", text.partition("## How it was found")[2])
    assert not re.search(r"[<>`*_\[\]$]|http://", plain)
    rows = [line for line in plain.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} <= {3, 4, 8}


def test_measurements_are_shown_with_their_examples_and_warnings(classifier: Any, tmp_path: Path) -> None:
    measured = [
        Measurement("sst2", "no attack", 0.875, examples="872 examples", warnings=["7 of 872 test texts are in train too"]),
        Measurement(
            "sst2", "textfooler", 0.9, 0.25, None, 12.34, "200 examples of test, sample seed 0", ["7 of 872 test texts are in train too"]
        ),
    ]
    export_model(*classifier("bert"), tmp_path / "out", provenance=Provenance(measurements=measured))
    card = card_of(tmp_path / "out")
    assert card.count("\n- 7 of 872 test texts are in train too\n") == 1
    assert "| sst2 | no attack | 87.5 | - | - | - | 872 examples |" in card
    assert "| sst2 | textfooler | 90.0 | 25.0 | - | 12.3 | 200 examples of test, sample seed 0 |" in card


def test_a_table_escapes_its_cells() -> None:
    assert table(("a",), [("x|y",), (None,)]).splitlines()[2:] == ["| x\\|y |", "| - |"]
    assert escape("a\n  b") == "a b"


def test_export_does_not_change_the_model(classifier: Any, tmp_path: Path) -> None:
    model, tokenizer = classifier("bert")
    model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    export_model(model, tokenizer, tmp_path / "out", ticket=ticket_for(model))
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
