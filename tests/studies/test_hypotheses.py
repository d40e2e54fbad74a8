"""Hypotheses in a study file: what they may contain, their cells, and the record of the first run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.small_study import small_study

from ticketlab.core.errors import UsageError
from ticketlab.report.cells import Comparison
from ticketlab.studies.cell_recipe import compose_cells
from ticketlab.studies.definition import Study
from ticketlab.studies.hypotheses import hypotheses_of, planned_hypotheses, with_checked_hypotheses
from ticketlab.studies.levels import parse_vary
from ticketlab.studies.plan import plan_study
from ticketlab.studies.read_definition import read_study, study_of
from ticketlab.studies.store import StudyStore
from ticketlab.studies.stored_cells import read_study_cells

CLAIM: dict[str, Any] = {
    "claim": "A robust ticket resists attacks better than a random one.",
    "of": {"method": "robust"},
    "than": {"method": "random"},
    "metric": ["attack.deepwordbug.aua", "attack.textfooler.aua"],
    "expect": "higher",
    "relevant": 0.05,
}
METHODS = {"name": "method", "levels": [{"label": name, "recipe": f"{name}-ticket"} for name in ("robust", "random")]}
BASE: dict[str, Any] = {
    "tasks": ["demo"],
    "seeds": 5,
    "set": {"model": "demo", "attack": ["deepwordbug", "textfooler"]},
    "factors": [METHODS],
}


def study(*claims: dict[str, Any], **more: Any) -> Study:
    return study_of("x", {**BASE, "vary": {"sparsity": [0.3, 0.5]}, "hypotheses": list(claims), **more})


def checked(found: Study) -> Study:
    return with_checked_hypotheses(found, compose_cells(found))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exept": "lower"}, "hypothesis 1: `exept` is not a key of a hypothesis; did you mean `expect`"),
        ({"metric": None}, "hypothesis 1: needs `metric`; the keys are claim, of, than"),
        ({"claim": " "}, "claim: must be a sentence"),
        ({"expect": "larger"}, "expect: `larger` is not an expectation"),
        ({"expect": "not lower"}, 'margin: expect = "not lower" needs a margin'),
        ({"expect": "not lower", "margin": 0.01}, "relevant: has no effect with expect = \"not lower\"; write `margin`"),
        ({"margin": 0.01}, "margin: has no effect with expect = \"higher\"; write `relevant`"),
        ({"relevant": 5}, r"relevant: 5 is no possible difference of `attack.deepwordbug.aua`, which is from 0 to 1; 0.05 is 5 points"),
        ({"relevant": True}, "relevant: must be a number above 0"),
        ({"metric": "attack.pwws.auu"}, "metric: `attack.pwws.auu`: there is no measure"),
        ({"metric": "attack.*.aua"}, r"metric: `attack.\*.aua` is a pattern"),
        ({"metric": "speed_up"}, "write cost.training_seconds"),
        ({"metric": ["attack.pwws.aua", "attack.pwws.suc"]}, "have no common mean"),
        ({"of": ["robust"]}, "of: must be the label of a level or cell"),
    ],
)  # fmt: skip
def test_a_wrong_hypothesis_is_refused(changes: dict[str, Any], message: str) -> None:
    table = {key: value for key, value in {**CLAIM, **changes}.items() if value is not None}
    with pytest.raises(UsageError, match=message):
        study(table)


def test_a_claim_identifies_its_hypothesis() -> None:
    with pytest.raises(UsageError, match="hypothesis 2: has the claim of another one"):
        study(CLAIM, {**CLAIM, "expect": "lower"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"of": {"methd": "robust"}}, "of: there is no factor `methd`; did you mean `method`"),
        ({"of": {"method": "robst"}}, "of: the factor `method` has no level `robst`; did you mean `robust`"),
        ({"than": "randm"}, "than: no cell or level is called `randm`; did you mean `random`"),
        ({"than": "robust"}, "`of` and `than` are both robust"),
        ({"than": {"sparsity": "0.3"}}, "the cell .* is both robust and .*; name levels that no cell has together"),
        (
            {"metric": "attack.pwws.aua"},
            "measures `attack.pwws.aua`: none was attacked with `pwws`; the attacks are `deepwordbug`, `textfooler`",
        ),
        ({"metric": "ood.hans.accuracy"}, "measures `ood.hans.accuracy`"),
        ({"metric": "dev.clean.accuracy"}, "measures `dev.clean.accuracy`; did you mean `clean.accuracy`"),
        ({"metric": "measure.bytes"}, "measures `measure.bytes`"),
    ],
)
def test_what_no_cell_has_or_measures_is_refused_before_anything_runs(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"hypothesis `A robust ticket.*{message}"):
        checked(study({**CLAIM, **changes}))


def test_cells_may_be_named_by_level_label_or_levels() -> None:
    found = checked(study({**CLAIM, "of": "robust", "than": "method=random, sparsity=0.3"}))
    (hypothesis,) = hypotheses_of(found)
    assert (hypothesis.of, hypothesis.than) == ({"method": "robust"}, {"method": "random", "sparsity": "0.3"})


def planned(found: Study, same: Mapping[str, str] | None = None) -> list[tuple[tuple[tuple[str, str], ...], bool, str]]:
    cells = compose_cells(found)
    errors = {cell.label: cell.error for cell in cells}
    return [
        (one.pairs, one.decidable, one.outlook)
        for one in planned_hypotheses(with_checked_hypotheses(found, cells), cells, errors, same or {})
    ]


def test_the_plan_says_whether_the_cells_can_decide() -> None:
    ((pairs, decidable, outlook),) = planned(study(CLAIM))
    assert pairs == tuple((f"method=robust, sparsity={level}", f"method=random, sparsity={level}") for level in ("0.3", "0.5"))
    assert decidable
    assert outlook == "5 seeds show a difference of 1.7 standard deviations between seeds with 80 % power, before correction"
    ((_, decidable, outlook),) = planned(study(CLAIM), {"method=random, sparsity=0.5": "method=robust, sparsity=0.5"})
    assert decidable
    assert outlook.endswith("; 1 of 2 pairs of cells is left out: the same stages")
    ((_, decidable, outlook),) = planned(study(CLAIM, seeds=1))
    assert (decidable, outlook) == (False, "cannot be decided: one seed decides nothing")
    unavailable = {"name": "method", "levels": [METHODS["levels"][0], {"label": "random", "unavailable": "no code"}]}
    ((_, decidable, outlook),) = planned(study(CLAIM, factors=[unavailable]))
    assert (decidable, outlook) == (False, "cannot be decided: method=random, sparsity=0.3 cannot be computed: no code")


def test_a_cell_without_partner_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no cell of the study is random at sparsity=0\.5"):
        checked(study(CLAIM, vary={"sparsity": [0.3, 0.4, 0.5]}, exclude=[{"method": "random", "sparsity": 0.5}]))


def test_hypotheses_about_cells_that_a_scale_or_the_command_replaces_are_left_out_with_a_note(tmp_path: Path) -> None:
    at_half = {**CLAIM, "claim": "Also at half.", "of": {"method": "robust", "sparsity": 0.5}}
    found = checked(study(CLAIM, at_half, notes="a note", scale="small", scales={"small": {"vary": {"sparsity": [0.3]}}}))
    assert [one.claim for one in hypotheses_of(found)] == [CLAIM["claim"]]
    left_out = "left out: hypothesis `Also at half.`: of: the factor `sparsity` has no level `0.5`; did you mean `0.3`?"
    assert found.report["notes"] == ["a note", left_out]
    assert study_of("x", found.to_table()) == found
    replaced = checked(study(CLAIM, at_half, scale="small", scales={"small": {"hypotheses": [{**CLAIM, "claim": "At this scale."}]}}))
    assert [one.claim for one in hypotheses_of(replaced)] == ["At this scale."]
    path = tmp_path / "mine.toml"
    path.write_text(
        'tasks = ["demo"]\nvary.sparsity = [0.3, 0.5]\nrecipes = ["robust-ticket"]\n[[hypotheses]]\nclaim = "c"\nof = "0.5"\nthan = "0.3"\n'
        'metric = "clean.accuracy"\nexpect = "lower"\n'
    )
    assert hypotheses_of(checked(read_study(path, set={"model": "demo"})))[0].of == {"sparsity": "0.5"}
    assert hypotheses_of(checked(read_study(path, set={"model": "demo"}, factors_added=[parse_vary("sparsity=0.1,0.3")]))) == ()


def test_hypotheses_change_no_digest() -> None:
    assert study(CLAIM).digest() == study().digest() == checked(study(CLAIM)).digest()


def begun(recipe: Path, lab: Path, *claims: dict[str, Any]) -> Comparison:
    """Begin the study as a run does, and return its comparison."""
    defined = small_study(recipe, {"sparsity": [0.1, 0.3]}, hypotheses=list(claims))
    StudyStore(plan_study(defined, lab), lab / "studies" / "mine").begin()
    return read_study_cells(lab / "studies" / "mine")


def test_the_lab_keeps_the_hypotheses_of_the_first_run(small_recipe_file: Path, tmp_path: Path) -> None:
    one, two = ({"claim": text, "of": "0.1", "than": "0.3", "metric": "clean.accuracy", "expect": "higher"} for text in ("one", "two"))
    first = begun(small_recipe_file, tmp_path, one)
    assert (first.notes, [hypothesis.claim for hypothesis in first.hypotheses]) == ((), ["one"])
    assert begun(small_recipe_file, tmp_path, one).notes == ()
    (note,) = begun(small_recipe_file, tmp_path, {**one, "relevant": 0.1}, two).notes
    assert note.startswith("the hypotheses were changed after the first run on 20")
    assert note.endswith(": added: `two`; changed: `one`")
    (note,) = begun(small_recipe_file, tmp_path).notes
    assert note.endswith(": removed: `one`")
