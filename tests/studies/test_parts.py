"""Studies that are executed in parts: the parts together are the study, in any order, also at once, killed and repeated."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support.small_recipe import without_cost
from support.small_study import small_study, write_recipe

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.active_runs import lab_lock, registered
from ticketlab.studies.gather import gather_study
from ticketlab.studies.part import Part
from ticketlab.studies.plan import plan_study
from ticketlab.studies.store import StudyStore
from ticketlab.studies.stored_cells import read_study_cells
from ticketlab.studies.study import run_study
from ticketlab.studies.study_folder import study_folder

VARY = {"pruner": ["hard-concrete", "magnitude"], "sparsity": [0.1, 0.3]}


def starts(folder):
    """Return the key of each stage that was computed, as often as it was."""
    path = folder / "log.jsonl"
    return [line["key"] for line in map(json.loads, path.read_text().splitlines()) if line["event"] == "start"] if path.exists() else []


def table(folder):
    return [(cell.label, cell.error, without_cost(cell.results["tasks"])) for cell in read_study_cells(folder).cells]


@pytest.fixture(scope="module")
def whole(small_recipe_file, tmp_path_factory):
    return run_study(small_study(small_recipe_file, VARY), tmp_path_factory.mktemp("whole") / "lab").directory


@pytest.fixture(scope="module")
def in_parts(small_recipe_file, tmp_path_factory):
    """A study of which the parts 3, 1 and 2 of 3 have run, in this order, and what each of them has done."""
    lab = tmp_path_factory.mktemp("parts") / "lab"
    return [run_study(small_study(small_recipe_file, VARY), lab, part=Part(number, 3)) for number in (3, 1, 2)]


def test_the_last_part_gathers_the_whole_study(in_parts, whole):
    assert [done.part.left > 0 for done in in_parts] == [True, True, False]
    assert table(in_parts[-1].directory) == table(whole)
    assert in_parts[-1].failed == []


def test_parts_compute_no_stage_twice(in_parts, whole):
    assert sorted(starts(in_parts[-1].directory)) == sorted(starts(whole))
    assert sum(done.computed for done in in_parts) == len(starts(whole))
    assert sum(done.part.stages for done in in_parts) > len(starts(whole))  # some are shared


def test_a_repeated_part_computes_nothing(in_parts, small_recipe_file):
    directory = in_parts[-1].directory
    again = run_study(small_study(small_recipe_file, VARY), directory.parent.parent, part=Part(2, 3))
    assert (again.computed, again.part.left) == (0, 0)


def copy(folder, tmp_path):
    shutil.copytree(folder.parent.parent, tmp_path / "lab")
    return tmp_path / "lab" / "studies" / folder.name


def forget_runs(folder):
    """Bring a study into the state after its last stage: no cell has a run yet."""
    shutil.rmtree(folder.parent.parent / "runs")
    content = files.read_json(folder / "study.json")
    for cell in content["cells"]:
        cell["run"] = None
    files.write_json(folder / "study.json", content)


def test_a_study_whose_last_part_was_killed_is_gathered_later(in_parts, whole, tmp_path):
    folder = copy(in_parts[-1].directory, tmp_path)
    forget_runs(folder)
    gather_study(folder)
    assert table(folder) == table(whole)
    assert files.read_json(folder / "study.json")["study"] == "small"


def test_a_study_that_is_planned_differently_now_is_not_gathered(in_parts, tmp_path, capsys):
    folder = copy(in_parts[-1].directory, tmp_path)
    forget_runs(folder)
    plan = files.read_json(folder / "plan.json")
    files.write_json(folder / "plan.json", {**plan, "stages": plan["stages"][1:]})
    gather_study(folder)
    assert all(cell.results is None for cell in read_study_cells(folder).cells)
    assert "4 cells can only be shown after the study, or a part of it, has been repeated: here its stages have other keys" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_an_error_stays_until_its_own_part_is_repeated(small_recipe_file, tmp_path):
    defined = small_study(small_recipe_file, {"retrain.lr": [1e-3, 1e20]})
    first, second = (run_study(defined, tmp_path / "lab", part=Part(number, 2)) for number in (2, 1))
    bad = first.comparison.cells[1]
    assert first.part.failed == [bad.label]
    assert second.part.failed == []
    assert [bool(cell.error) for cell in second.comparison.cells] == [False, True]
    store = StudyStore(plan_study(defined, tmp_path / "lab"), second.directory, Part(2, 2))
    store.begin()
    assert [cell.error for cell in read_study_cells(second.directory).cells] == ["", ""]


def test_an_error_of_a_cell_is_also_that_of_a_cell_with_the_same_stages(small_recipe_file, tmp_path):
    defined = small_study(small_recipe_file, {"pruner": ["magnitude", "hard-concrete"], "adversary": ["none", "freelb"]})
    plan = plan_study(defined, tmp_path / "lab")
    folder = study_folder(tmp_path / "lab", defined)
    one, two = (StudyStore(plan, folder, Part(number, 2)) for number in (1, 2))
    first, same, *_ = labels = [cell.cell.label for cell in plan.cells]

    def cells():
        return [(cell["run"], cell["error"], cell["part"]) for cell in files.read_json(folder / "study.json")["cells"]]

    one.begin()
    two.begin()
    for number in range(len(labels)):
        one.cell_done(number, None, "diverged" if number < 2 else "")
    two.write()
    assert cells() == [(None, "diverged", "1/2")] * 2 + [(None, "", "")] * 2
    assert (one.failed(), two.failed()) == ([first, same], [])
    one.cell_done(0, folder.parent.parent / "runs" / "mine", "")
    assert cells()[:2] == [("mine", "", "")] * 2
    assert one.failed() == []


def test_processes_keep_the_cells_of_each_other(in_parts, small_recipe_file, tmp_path):
    folder = copy(in_parts[-1].directory, tmp_path)
    runs = [cell["run"] for cell in files.read_json(folder / "study.json")["cells"]]
    forget = {**files.read_json(folder / "study.json")}
    for cell in forget["cells"]:
        cell["run"] = None
    files.write_json(folder / "study.json", forget)
    plan = plan_study(small_study(small_recipe_file, VARY), tmp_path / "lab")
    one, two = (StudyStore(plan, folder, Part(number, 2)) for number in (1, 2))
    one.begin()
    two.begin()
    for number, run in enumerate(runs):
        (one if number % 2 else two).cell_done(number, folder.parent.parent / "runs" / run, "")
    assert [cell["run"] for cell in files.read_json(folder / "study.json")["cells"]] == runs


def test_parts_with_different_arguments_are_found_out(in_parts, small_recipe_file, tmp_path, capsys):
    other = small_study(small_recipe_file, {**VARY, "sparsity": [0.1, 0.5]})
    lab = tmp_path / "lab"
    folder = study_folder(lab, small_study(small_recipe_file, VARY), "mine")
    StudyStore(plan_study(small_study(small_recipe_file, VARY), lab), folder, Part(1, 2)).begin()
    with pytest.raises(UsageError, match=r"--name mine: .* is a study with other arguments; give the same ones"):
        run_study(other, lab, part=Part(2, 2), name="mine")
    with lab_lock(lab):
        running = registered(lab, folder.name, ["another key"])
        running.__enter__()
    try:
        with pytest.raises(UsageError, match="--part 2/2: here the stages of mine are not those of a part that is running"):
            run_study(small_study(small_recipe_file, VARY), lab, part=Part(2, 2), name="mine")
    finally:
        running.__exit__(None, None, None)


def command(recipe, lab, number, of):
    varied = ["--vary", "pruner=hard-concrete,magnitude", "--vary", "sparsity=0.1,0.3,0.5", "--seeds", "2"]
    slow = ["--set", "search.checkpoint_seconds=0", "--set", "finetune.checkpoint_seconds=0"]
    return [sys.executable, "-m", "ticketlab", "ablate", str(recipe), *varied, *slow, "--lab", str(lab), "--name", "one", *(
        [] if number is None else ["--part", f"{number}/{of}"]
    )]  # fmt: skip


def start(*arguments, **more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(command(*arguments), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def end(process):
    output, _ = process.communicate()
    assert process.returncode == 0, output


@pytest.mark.system
@pytest.mark.timeout(1800)
def test_ten_parts_in_any_order_two_at_once_and_one_killed_are_the_whole_study(tmp_path, tiny):
    recipe, seed = write_recipe(tmp_path, tiny["bert"]), int.from_bytes(os.urandom(4))
    end(start(recipe, tmp_path / "whole", None, None))
    lab, moments = tmp_path / "lab", random.Random(seed)
    order = moments.sample(range(1, 11), 10)
    folder = lab / "studies" / "one"
    killed = start(recipe, lab, order[0], 10, start_new_session=True)
    while killed.poll() is None and not starts(folder):  # start-up takes most of the time: kill it while it computes
        time.sleep(0.05)
    time.sleep(moments.uniform(0, 0.5))
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    unfinished = [key for key in starts(folder) if not (lab / "stages" / key[:2] / key / "result.json").exists()]
    both = [start(recipe, lab, number, 10) for number in order[1:3]]
    for process in both:
        end(process)
    for number in [*order[3:], order[0]]:
        end(start(recipe, lab, number, 10))
    again = [key for key in starts(folder) if key not in unfinished]
    assert len(again) == len(set(again)), f"seed {seed}"
    assert sorted(set(starts(folder))) == sorted(starts(tmp_path / "whole" / "studies" / "one"))
    assert table(folder) == table(tmp_path / "whole" / "studies" / "one"), f"seed {seed}"
