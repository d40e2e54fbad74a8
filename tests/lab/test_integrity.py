"""A damaged file of a lab is never used, and always reported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core.errors import Damaged
from ticketlab.lab import file_hash, integrity
from ticketlab.lab.lab import Lab
from ticketlab.runs.run import run


@pytest.fixture(scope="module")
def whole(make_recipe: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run: its lab, and its stages' folders by name."""
    lab = tmp_path_factory.mktemp("whole")
    done = run(make_recipe("finetune.epochs=1", "search.epochs=1", "retrain.epochs=1"), lab)
    return lab, {name: Lab(lab).stage(stage["key"]).relative_to(lab) for name, stage in done.results["tasks"]["demo"]["0"].items()}


@pytest.fixture
def again(whole: Any, make_recipe: Any, tmp_path: Path) -> Callable[..., Any]:
    """Run in a copy of the lab, after applying ``damage`` to a file of a stage."""

    def call(stage: str, name: str, damage: Callable[[bytes], bytes | None], *sets: str) -> Any:
        lab, stages = whole
        copy = shutil.copytree(lab, tmp_path / "lab")
        path = copy / stages[stage] / name
        content = damage(path.read_bytes())
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        return run(make_recipe("finetune.epochs=1", "search.epochs=1", "retrain.epochs=1", *sets), copy)

    return call


def flip(content: bytes) -> bytes:
    return content[:-5] + bytes([content[-5] ^ 1]) + content[-4:]


def nan(content: bytes) -> bytes:
    result = json.loads(content)
    return json.dumps({**result, "clean": {**result["clean"], "accuracy": float("nan")}}).encode()


@pytest.mark.parametrize(
    ("stage", "name", "damage", "sets", "message"),
    [
        ("search", "scores.safetensors", flip, ["draw.sparsity=0.5"], "scores.safetensors is damaged"),
        ("search", "scores.safetensors", lambda _: None, ["draw.sparsity=0.5"], "scores.safetensors is missing"),
        ("retrain", "model/model.safetensors", flip, ["evaluate.split=dev"], "model.safetensors is damaged"),
        ("retrain", "model/tokenizer.json", lambda content: content + b" ", ["evaluate.split=dev"], "tokenizer.json is damaged"),
        ("draw", "ticket.safetensors", flip, [], "ticket.safetensors is damaged"),
        ("evaluate", "result.json", lambda content: content.replace(b'"n": 24', b'"n": 23'), [], "result.json is damaged"),
        ("evaluate", "result.json", nan, [], "result.json is damaged"),
        ("evaluate", "result.json", lambda _: b"[" * 100_000, [], "result.json is damaged"),
    ],
    ids=["scores", "no scores", "model", "tokenizer", "ticket", "a number", "NaN", "nested"],
)
def test_a_damaged_file_is_refused_and_the_message_says_what_to_delete(
    again: Any, stage: str, name: str, damage: Any, sets: list[str], message: str
) -> None:
    with pytest.raises(Damaged, match=rf"{message}.*; delete .*, and the stage is computed again"):
        again(stage, name, damage, *sets)


def test_a_stage_without_hashes_is_used_and_reported_once(again: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def without_hashes(content: bytes) -> bytes:
        return json.dumps({key: value for key, value in json.loads(content).items() if key != integrity.SEALED}).encode()

    integrity._warn_unsealed.cache_clear()
    done = again("search", "result.json", without_hashes, "draw.sparsity=0.5", "draw.scope=local")
    assert done.results["tasks"]["demo"]["0"]["draw"]["ticket"]["groups"]
    assert capsys.readouterr().err.count("damage to them is not detected") == 1


def test_hashes_are_not_part_of_results_and_are_computed_once_per_process(whole: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, stages = whole
    assert all(integrity.SEALED not in integrity.read_result(lab / folder / "result.json") for folder in stages.values())
    file_hash._hash_once.cache_clear()
    integrity.check(lab / stages["retrain"] / "model")
    made = file_hash._hash_once.cache_info().misses
    integrity.check(lab / stages["retrain"] / "model" / "model.safetensors")
    integrity.check(lab / stages["retrain"])
    assert file_hash._hash_once.cache_info().misses == made > 1


def test_a_foreign_file_of_this_name_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    for content in ("[1, 2]", "{}", "no JSON"):
        (tmp_path / "result.json").write_text(content, encoding="utf-8")
        integrity.check(tmp_path / "model")


def test_a_link_to_a_model_in_a_lab_is_followed(whole: Any, tmp_path: Path) -> None:
    lab, stages = whole
    copy = shutil.copytree(lab / stages["retrain"], tmp_path / stages["retrain"].name)
    (copy / "model" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link").symlink_to(copy / "model")
    with pytest.raises(Damaged, match=r"config.json is damaged"):
        integrity.check(tmp_path / "link")
