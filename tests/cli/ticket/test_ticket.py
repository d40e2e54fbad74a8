from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.tickets.ticket import Ticket


@pytest.fixture
def search(tmp_path: Path, tiny: dict[str, Path]) -> Path:
    """The folder of a search stage in a tiny model."""
    folder = tmp_path / "search"
    folder.mkdir()
    model, _ = loading.load_classifier(str(tiny["bert"]), ("bad", "good"), 0)
    backbone = Backbone(model)
    generator = torch.Generator().manual_seed(0)
    weights = {name: shape for name, shape in backbone.units().items() if name.startswith("weights/")}
    save_file({name: torch.rand(shape, generator=generator) for name, shape in weights.items()}, folder / "scores.safetensors")
    found = {"pruner": "random", "structure": backbone.fingerprint(), "found_on": backbone.weights_hash()}
    (folder / "result.json").write_text(json.dumps({"search": found}), encoding="utf-8")
    return folder


@pytest.fixture
def half(invoke: Any, search: Path, tmp_path: Path) -> Path:
    path = tmp_path / "half.safetensors"
    result = invoke("ticket", "draw", search, "--sparsity", "1/2", "--out", path)
    assert result.exit_code == 0, result.stderr
    return path


@pytest.mark.parametrize("scores", ["", "scores.safetensors"])
def test_draw_accepts_the_folder_or_the_file(invoke: Any, search: Path, tmp_path: Path, scores: str) -> None:
    out = tmp_path / "third.safetensors"
    result = invoke("ticket", "draw", search / scores, "--sparsity", "1/3", "--scope", "local", "--out", out)
    assert result.stdout == ""
    ticket = Ticket.load(out)
    assert f"keeps {ticket.kept()} of {ticket.total()} weights" in result.stderr
    assert all(total - kept == int(total / 3 + 0.5) for _, kept, total in ticket.survival())
    assert ticket.provenance["pruner"] == "random"


def test_draw_does_not_overwrite_the_scores(invoke: Any, search: Path) -> None:
    before = (search / "scores.safetensors").read_bytes()
    refused = invoke("ticket", "draw", search, "--sparsity", "0.5", "--out", search / "scores.safetensors")
    assert (refused.exit_code, "this is the file of scores" in refused.stderr) == (2, True)
    assert (search / "scores.safetensors").read_bytes() == before


def test_draw_like_another_ticket(invoke: Any, search: Path, half: Path, tmp_path: Path) -> None:
    out = tmp_path / "like.safetensors"
    assert invoke("ticket", "draw", search, "--like", half, "--out", out).exit_code == 0
    assert Ticket.load(out).survival() == Ticket.load(half).survival()


def test_draw_needs_the_result_next_to_the_scores(invoke: Any, search: Path) -> None:
    (search / "result.json").write_text("{}", encoding="utf-8")
    result = invoke("ticket", "draw", search, "--sparsity", "0.3", "--out", "x")
    assert result.exit_code == 2
    assert "not the result of a search stage" in result.stderr


def test_info_shows_counts_and_provenance(invoke: Any, half: Path) -> None:
    facts = json.loads(invoke("ticket", "info", half, "--json").stdout)
    ticket = Ticket.load(half)
    assert facts["sparsity"] == ticket.sparsity()
    assert facts["structure"] == ticket.structure
    assert sum(mask["kept"] for mask in facts["masks"]) == ticket.kept()
    text = invoke("ticket", "info", half).stdout
    assert "50.0" in text
    assert f"found_on: {ticket.found_on}" in text


def test_apply_writes_a_plain_model(invoke: Any, half: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "pruned"
    result = invoke("ticket", "apply", half, tiny["bert"], "--labels", "bad", "--labels", "good", "--out", out)
    assert result.exit_code == 0, result.stderr
    model, _, names = loading.load_finished(str(out))
    ticket = Ticket.load(half)
    backbone = Backbone(model)
    assert names == ("bad", "good")
    assert all(torch.all(backbone.weight(name)[~mask] == 0) for name, mask in ticket.masks.items())


def test_apply_to_other_weights_is_a_warning(invoke: Any, half: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    ticket = Ticket.load(half)
    other = tmp_path / "other.safetensors"
    Ticket(ticket.masks, ticket.structure, found_on="1" * 64, rewind_to="0" * 64).save(other)
    result = invoke("ticket", "apply", other, tiny["bert"], "--labels", "bad", "--labels", "good", "--out", tmp_path / "pruned")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: the ticket was made for other weights")


def test_apply_to_another_structure_is_an_error(invoke: Any, half: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    labels = ["--labels", "bad", "--labels", "good"]
    result = invoke("ticket", "apply", half, tiny["distilbert"], *labels, "--out", tmp_path / "pruned")
    assert result.exit_code == 2
    assert "another structure" in result.stderr


def test_apply_without_a_classifier_says_how_to_name_labels(invoke: Any, half: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    result = invoke("ticket", "apply", half, tiny["bert"], "--out", tmp_path / "pruned")
    assert result.exit_code == 2
    assert "--labels" in result.stderr


@pytest.fixture
def structured(search: Path) -> Path:
    """The folder of a search that scored heads and neurons."""
    generator = torch.Generator().manual_seed(0)
    units = {f"heads/{index}": 4 for index in range(2)} | {f"neurons/{index}": 64 for index in range(2)}
    save_file({name: torch.rand(count, generator=generator) for name, count in units.items()}, search / "scores.safetensors")
    return search


def test_a_layer_loses_its_last_head_only_with_no_keep_a_head(invoke: Any, structured: Path, tmp_path: Path) -> None:
    arguments = ("ticket", "draw", structured, "--heads", "1", "--neurons", "1/6", "--out", tmp_path / "x.safetensors")
    refused = invoke(*arguments)
    assert refused.exit_code == 2
    assert "each layer keeps one, so at most 6 can be" in refused.stderr
    assert invoke(*arguments, "--no-keep-a-head").exit_code == 0
    ticket = Ticket.load(tmp_path / "x.safetensors")
    assert (ticket.kept("heads"), ticket.kept("neurons")) == (0, 128 - 21)


def test_a_ticket_is_found_in_the_folder_of_its_stage_and_in_its_run(invoke: Any, search: Path, half: Path, tmp_path: Path) -> None:
    stage, run = tmp_path / "stage", tmp_path / "run"
    (run / "tickets").mkdir(parents=True)
    stage.mkdir()
    (stage / "ticket.safetensors").write_bytes(half.read_bytes())
    (run / "tickets" / "demo-draw-seed0.safetensors").write_bytes(half.read_bytes())
    for place in (stage, run):
        out = tmp_path / f"like-{place.name}.safetensors"
        assert invoke("ticket", "draw", search, "--like", place, "--out", out).exit_code == 0
        assert Ticket.load(out).survival() == Ticket.load(half).survival()
        assert invoke("ticket", "info", place).exit_code == 0
    (run / "tickets" / "demo-draw-seed1.safetensors").write_bytes(half.read_bytes())
    several = invoke("ticket", "info", run)
    assert several.exit_code == 2
    assert "a run with 2 tickets; choose one with --run-seed and --run-task, or name it: " in several.stderr


def test_a_ticket_on_a_shrunk_model_is_an_error(invoke: Any, structured: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    ticket, small = tmp_path / "half.safetensors", tmp_path / "small"
    invoke("ticket", "draw", structured, "--sparsity", "1/2", "--out", ticket)
    shrunk = invoke("ticket", "apply", ticket, tiny["bert"], "--labels", "bad", "--labels", "good", "--shrink", "--out", small)
    assert shrunk.exit_code == 0, shrunk.stderr
    again = invoke("ticket", "apply", ticket, small, "--out", tmp_path / "again")
    assert again.exit_code == 2
    assert "the model has been shrunk already" in again.stderr


@pytest.fixture
def run_folder(search: Path, tmp_path: Path) -> Path:
    """A run in a lab whose search stage is ``search``."""
    folder = tmp_path / "lab" / "runs" / "mine-1"
    folder.mkdir(parents=True)
    stage = tmp_path / "lab" / "stages" / "ab" / "abcd"
    stage.parent.mkdir(parents=True)
    search.rename(stage)
    write_results(folder, "abcd")
    return folder


def write_results(folder: Path, *keys: str) -> None:
    seeds = {str(seed): {"search": {"kind": "search", "key": key}} for seed, key in enumerate(keys)}
    (folder / "results.json").write_text(json.dumps({"tasks": {"films": seeds}}), encoding="utf-8")


def test_draw_takes_a_run_with_one_search(invoke: Any, run_folder: Path, tmp_path: Path) -> None:
    result = invoke("ticket", "draw", run_folder, "--sparsity", "1/2", "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 0, result.stderr


def test_draw_from_a_run_with_several_searches_names_their_folders(invoke: Any, run_folder: Path, tmp_path: Path) -> None:
    write_results(run_folder, "abcd", "ef01")
    result = invoke("ticket", "draw", run_folder, "--sparsity", "1/2", "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 2
    assert "a run with 2 searches" in result.stderr
    assert str(Path("stages", "ef", "ef01")) in result.stderr


def test_draw_from_invalid_results_is_one_line(invoke: Any, run_folder: Path, tmp_path: Path) -> None:
    (run_folder / "results.json").write_text("[]", encoding="utf-8")
    result = invoke("ticket", "draw", run_folder, "--sparsity", "1/2", "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 2
    assert "not the results of a run" in result.stderr


@pytest.mark.parametrize(("given", "missing"), [("heads", "neurons"), ("neurons", "heads")])
def test_heads_without_neurons_names_the_missing_option(invoke: Any, search: Path, tmp_path: Path, given: str, missing: str) -> None:
    result = invoke("ticket", "draw", search, f"--{given}", "0.25", "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 2
    assert f"--{missing} is missing: --{given} needs it" in result.stderr
