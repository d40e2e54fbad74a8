"""The folder of a study: which runs of an earlier execution it still lists."""

import json

import pytest
import tomlkit
from support.small_study import small_study

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.runs.run import directory_name_of
from ticketlab.studies.plan import plan_study
from ticketlab.studies.store import StudyStore
from ticketlab.studies.study import run_study
from ticketlab.studies.study_folder import study_folder

VARY = {"sparsity": [0.1, 0.3]}


def recorded(folder):
    return {cell["label"]: cell["run"] for cell in files.read_json(folder / "study.json")["cells"]}


@pytest.fixture
def recipe(small_recipe_file, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(small_recipe_file.read_text())
    return path


def begin(recipe, lab):
    """Begin the study again, as when it is interrupted before its first cell is done."""
    defined = small_study(recipe, VARY)
    folder = study_folder(lab, defined)
    StudyStore(plan_study(defined, lab), folder).begin()
    return folder


def test_runs_stay_listed_until_their_cells_are_done_again(recipe, tmp_path):
    done = run_study(small_study(recipe, VARY), tmp_path / "lab")
    before = recorded(done.directory)
    cells = plan_study(small_study(recipe, VARY), tmp_path / "lab").cells
    assert {cell.cell.label: directory_name_of(cell.inputs, tmp_path / "lab") for cell in cells} == before
    assert recorded(begin(recipe, tmp_path / "lab")) == before
    assert all(before.values())


def test_a_run_of_the_recipe_before_it_was_edited_is_no_cell_of_the_study(recipe, tmp_path):
    done = run_study(small_study(recipe, VARY), tmp_path / "lab")
    table = tomlkit.parse(recipe.read_text())
    table["retrain"]["batch_size"] = 4
    recipe.write_text(tomlkit.dumps(table))
    assert begin(recipe, tmp_path / "lab") == done.directory
    assert set(recorded(done.directory).values()) == {None}


def test_runs_are_listed_by_the_labels_of_their_cells(recipe, tmp_path):
    done = run_study(small_study(recipe, VARY), tmp_path / "lab")
    before = recorded(done.directory)
    path = done.directory / "study.json"
    table = json.loads(path.read_text())
    table["cells"].reverse()
    path.write_text(json.dumps(table))
    assert recorded(begin(recipe, tmp_path / "lab")) == before


def test_a_damaged_study_is_reported_by_name(recipe, tmp_path):
    done = run_study(small_study(recipe, VARY), tmp_path / "lab", name="mine")
    (done.directory / "study.json").write_text("{")
    with pytest.raises(UsageError, match=r"damaged.*lab rm mine"):
        run_study(small_study(recipe, VARY), tmp_path / "lab", name="mine")
