"""Execution of studies: each distinct stage once, cells equal to separate runs, failures, resuming, several processes."""

import json
import shutil

import pytest
import torch
from support.small_recipe import without_cost
from support.small_study import NOISE, small_study

from ticketlab.core import files, progress, registry
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.recipes.compose import compose
from ticketlab.runs.run import run
from ticketlab.studies.find import find_comparison
from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.studies.study import run_study, study

VARY = {"pruner": ["hard-concrete", "magnitude"], "adversary": ["none", "freelb"], "sparsity": [0.1, 0.3]}
SMALL = {"pruner": ["hard-concrete", "random"], "sparsity": [0.3]}


def starts(folder):
    """Return the key of each stage that was computed, as often as it was."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [line["key"] for line in lines if line["event"] == "start"]


def comparable(comparison):
    """Return everything about the cells that does not depend on time."""
    return [(cell.label, cell.error, without_cost(cell.results), cell.folder.name) for cell in comparison.cells]


def without_looks(tasks):
    """Return results without what a search measured on the way, at the sparsity of the first cell that needed it."""
    found = without_cost(tasks)
    for stages in (stages for seeds in found.values() for stages in seeds.values()):
        for key in ("history", "looks_at_sparsity"):
            stages["search"]["search"].pop(key)
    return found


@pytest.fixture(scope="module")
def finished(small_recipe_file, tmp_path_factory):
    lab = tmp_path_factory.mktemp("study") / "lab"
    return lab, run_study(small_study(small_recipe_file, VARY), lab)


def test_each_distinct_stage_is_computed_once(finished):
    _, done = finished
    computed = starts(done.directory)
    planned = [stage["key"] for stage in files.read_json(done.directory / "plan.json")["stages"]]
    assert sorted(computed) == sorted(planned)
    assert done.computed == len(planned)
    kinds = [stage["kind"] for stage in files.read_json(done.directory / "plan.json")["stages"]]
    assert kinds.count("search") == 3  # hard-concrete with and without adversary, and magnitude
    assert kinds.count("train") == 1 + 3 * 2


def test_a_cell_is_the_run_of_its_recipe(finished, small_recipe_file, tmp_path):
    _, done = finished
    cell = next(cell for cell in done.comparison.cells if cell.label == "pruner=hard-concrete, adversary=freelb, sparsity=0.3")
    alone = run(compose(small_recipe_file, pruner="hard-concrete", adversary="freelb", sparsity=0.3), tmp_path / "lab")
    assert without_looks(cell.results["tasks"]) == without_looks(alone.results["tasks"])
    assert cell.folder.name == alone.directory.name
    assert (cell.folder / "recipe.toml").read_text() == (alone.directory / "recipe.toml").read_text()


def test_cells_without_effect_are_marked(finished):
    _, done = finished
    by_label = {cell.label: cell for cell in done.comparison.cells}
    same = by_label["pruner=magnitude, adversary=freelb, sparsity=0.1"]
    assert same.same_as == "pruner=magnitude, adversary=none, sparsity=0.1"
    assert same.results == by_label[same.same_as].results
    assert same.inapplicable == ("adversary",)
    assert not done.failed


def test_a_finished_study_computes_nothing(finished, small_recipe_file):
    lab, done = finished
    before = len(starts(done.directory))
    again = run_study(small_study(small_recipe_file, VARY), lab)
    assert again.computed == 0
    assert len(starts(done.directory)) == before
    assert comparable(again.comparison) == comparable(done.comparison)


def test_a_study_is_found_by_name(finished):
    lab, done = finished
    for name in (str(done.directory), done.directory.name, "small-", "latest"):
        assert find_comparison([name], lab).title == done.comparison.title
    recipe = done.comparison.cells[0].results["recipe"]
    assert done.directory.name.startswith(recipe)
    assert len(find_comparison([recipe], lab).cells) == 1  # the latest run of the recipe, not the study
    runs = [done.comparison.cells[0].folder.name, done.comparison.cells[1].folder.name]
    assert [cell.folder.name for cell in find_comparison(runs, lab).cells] == runs


def test_more_levels_compute_only_what_is_new(finished, small_recipe_file, tmp_path):
    lab, _ = finished
    shutil.copytree(lab, tmp_path / "lab")
    more = run_study(small_study(small_recipe_file, {**VARY, "sparsity": [0.1, 0.3, 0.5]}), tmp_path / "lab")
    assert more.computed == 3 * 3  # draw, retrain and evaluate for three searches


@pytest.mark.system
def test_worker_processes_give_the_same_cells(small_recipe_file, tmp_path, monkeypatch):
    monkeypatch.setattr("ticketlab.executors.local.cores", lambda: 2)
    small = small_study(small_recipe_file, SMALL)
    alone, in_two = run_study(small, tmp_path / "one"), run_study(small, tmp_path / "two", jobs=2)
    assert comparable(in_two.comparison) == comparable(alone.comparison)
    assert len(starts(in_two.directory)) == len(set(starts(in_two.directory))) == in_two.computed == alone.computed


def test_a_failed_cell_stops_no_other_and_is_tried_again(small_recipe_file, tmp_path):
    failing = small_study(small_recipe_file, {"retrain.lr": [1e-3, 1e20]})
    done = run_study(failing, tmp_path / "lab")
    good, bad = done.comparison.cells
    assert good.results is not None
    assert bad.results is None
    assert "demo seed 0 retrain" in bad.error
    assert "learning rate" in bad.error
    again = run_study(failing, tmp_path / "lab")
    assert again.computed == 1
    assert again.failed == [bad.label]


def test_a_checkpoint_that_one_cell_needs_is_saved_for_all(small_recipe_file, tmp_path):
    done = run_study(small_study(small_recipe_file, {"search.start": ["finetune", "finetune@50%"]}), tmp_path / "lab")
    assert not done.failed
    assert len(starts(done.directory)) == len(set(starts(done.directory)))


def test_a_removed_run_is_reported_and_remade(small_recipe_file, tmp_path):
    defined = small_study(small_recipe_file, {"sparsity": [0.1, 0.3]})
    done = run_study(defined, tmp_path / "lab")
    shutil.rmtree(done.comparison.cells[1].folder)
    lost = read_study_cells(done.directory).cells[1]
    assert lost.results is None
    assert "no longer in the lab" in lost.missing
    assert not lost.error
    again = run_study(defined, tmp_path / "lab")
    assert again.computed == 0
    assert comparable(again.comparison) == comparable(done.comparison)


def test_the_function_takes_a_file_or_arguments(small_recipe_file, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(f'recipes = ["{small_recipe_file}"]\n[vary]\nsparsity = [0.1, 0.3]\n')
    from_file = study(file, seeds=1, lab=tmp_path / "lab", name="first")
    from_arguments = study(recipes=str(small_recipe_file), vary={"sparsity": "0.1,0.3"}, seeds=1, lab=tmp_path / "lab")
    assert from_file.directory.name == from_file.comparison.title == "first"
    assert from_arguments.comparison.title.endswith("-by-sparsity")
    assert from_arguments.computed == 0
    assert comparable(from_arguments.comparison) == comparable(from_file.comparison)
    assert {number.metric for number in from_file.numbers()} >= {"clean.accuracy", "sparsity.weights"}


def test_threads_are_divided_for_the_study_only(small_recipe_file, tmp_path, monkeypatch):
    monkeypatch.setattr("ticketlab.executors.local.cores", lambda: 2)
    used = []
    monkeypatch.setattr("ticketlab.studies.study.plan_study", lambda *_: used.append(torch.get_num_threads()) or 1 / 0)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                run_study(small_study(small_recipe_file), tmp_path, jobs=2)
        assert (used, torch.get_num_threads()) == ([2, 2], 4)
    finally:
        torch.set_num_threads(before)


def test_a_finished_study_is_read_from_a_read_only_lab(small_recipe_file, tmp_path, monkeypatch):
    defined = small_study(small_recipe_file, {"sparsity": [0.1]})
    done = run_study(defined, tmp_path / "lab")
    monkeypatch.setattr("ticketlab.studies.study.is_read_only", lambda folder, lab: True)
    assert comparable(run_study(defined, tmp_path / "lab").comparison) == comparable(done.comparison)
    with pytest.raises(UsageError, match="read-only and does not have this study"):
        run_study(small_study(small_recipe_file, {"sparsity": [0.3]}), tmp_path / "lab")


def test_a_row_is_computed_once_its_plugin_is_there(small_recipe_file, tmp_path, builtins_only, monkeypatch):
    """The other row is found in the lab. A read-only lab is refused while it lacks a row that could be computed."""
    plugin, lab = tmp_path / "some_noise.py", tmp_path / "lab"
    plugin.write_text(NOISE)
    levels = [{"label": "ours", "adversary": "none"}, {"label": "theirs", "plugin": "some-noise", "adversary": "noise"}]
    defined = small_study(small_recipe_file, factors=[{"name": "method", "levels": levels}])
    first = run_study(defined, lab)
    assert [(bool(cell.results), bool(cell.unavailable)) for cell in first.comparison.cells] == [(True, False), (False, True)]
    assert first.failed == []
    with registry.using(registry.load([plugin], entry_points=False)):
        with monkeypatch.context() as patched:
            patched.setattr("ticketlab.studies.study.is_read_only", lambda folder, lab: True)
            with pytest.raises(UsageError, match="read-only and does not have this study"):
                run_study(defined, lab)
        second = run_study(defined, lab)
    assert second.directory == first.directory
    assert [(bool(cell.results), bool(cell.unavailable)) for cell in second.comparison.cells] == [(True, False)] * 2
    assert comparable(second.comparison)[0] == comparable(first.comparison)[0]
    assert 0 < second.computed < first.computed


def test_details_of_single_stages_are_not_printed(small_recipe_file, tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        progress.detail("a detail")
        raise TicketlabError("it failed")

    monkeypatch.setattr("ticketlab.studies.job.StageRunner.run", fail)
    run_study(small_study(small_recipe_file), tmp_path / "lab")
    printed = capsys.readouterr().err
    assert "it failed" in printed
    assert "a detail" not in printed
