import pytest
import tomlkit
from support.hand_made import results, stages

from ticketlab.core import files


@pytest.fixture
def lab(tmp_path):
    """A lab with a run for each of two sparsities, written by hand."""
    for sparsity in (0.1, 0.3):
        folder = tmp_path / "lab" / "runs" / f"robust-ticket-{sparsity}"
        found = results({"sst2": [stages(0, of={"clean.accuracy": 0.8, "attack.pwws.aua": sparsity}, salt=str(sparsity))]})
        files.write_json(folder / "results.json", found)
        files.write_text(folder / "recipe.toml", tomlkit.dumps({"draw": {"sparsity": sparsity}}))
    (tmp_path / "lab" / "stages").mkdir()
    return tmp_path / "lab"


def test_a_figure_of_runs_is_written(invoke, lab, tmp_path):
    runs = [folder.name for folder in sorted((lab / "runs").iterdir())]
    out = tmp_path / "aua.svg"
    found = invoke("plot", "metric", *runs, "--lab", lab, "--x", "sparsity", "--y", "attack.pwws.aua", "--out", out)
    assert (found.exit_code, found.stdout) == (0, "")
    assert found.stderr == f"{out}: written\n"
    assert "Aua under pwws against sparsity" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["metrik", "robust-ticket", "--out", "a.svg"], "no kind of figure `metrik`; did you mean `metric`?", id="kind"),
        pytest.param(["metric", "robust-ticket", "--out", "a.jpg"], "the suffix of the file decides its format", id="suffix"),
        pytest.param(["survival", "robust-ticket", "--out", "a.svg", "--x", "b"], "x: the figure `survival` has no", id="option"),
        pytest.param(["metric", "robust-ticket", "--out", "a.svg"], "the figure `metric` needs the argument `x`", id="needed"),
        pytest.param(
            ["metric", "robust-ticket", "--out", "a.svg", "--x", "cost.seconds", "--y", "attack.deepwordbug.aua"],
            "y: no finished cell has the number `attack.deepwordbug.aua`: none was attacked with `deepwordbug`; the attacks are `pwws`",
            id="attack",
        ),
        pytest.param(["survival", "robust-tick", "--out", "a.svg"], "robust-tick: ", id="run"),
        pytest.param(["survival", "robust-ticket", "--out", "a.svg"], "stage: no finished cell has a ticket", id="nothing-to-draw"),
    ],
)
def test_wrong_requests_are_refused_in_one_line(invoke, lab, arguments, message):
    found = invoke("plot", *arguments, "--lab", lab)
    assert found.exit_code == 2
    assert message in found.stderr
    assert len([line for line in found.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_the_help_lists_the_kinds(invoke):
    found = invoke("plot", "--help")
    assert "mask-distance  distance of the masks between all looks of a search" in found.stdout
