"""A stage is computed again when the code of a plugin changes: of a component, of a helper module, of an adapter, of a failed attack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small_recipe import needs_textattack

from ticketlab.backbone import fingerprint
from ticketlab.backbone.loading import load_classifier
from ticketlab.core import registry
from ticketlab.core.errors import PluginError
from ticketlab.recipes.recipe import Recipe, build_recipe
from ticketlab.runs.run import run
from ticketlab.runs.stage_key import StageFacts

FAILING = Path(__file__).parents[1] / "third_party" / "failing.py"


@pytest.fixture
def plugin(own_registry: None, tmp_path: Path) -> Path:
    """A plugin file with a helper module, which is loaded."""
    file = tmp_path / "failing.py"
    source = FAILING.read_text(encoding="utf-8")
    file.write_text(source.replace("from ticketlab.plugin import", "import helper\nfrom ticketlab.plugin import"), encoding="utf-8")
    (tmp_path / "helper.py").write_text("VALUE = 1\n", encoding="utf-8")
    load(file)
    return file


def load(file: Path) -> None:
    registry.use(registry.load([file], entry_points=False))


def versions(recipe: Recipe) -> dict[str, str]:
    return dict(StageFacts.of(recipe.stages["search"]).components)


def test_the_components_of_a_key_have_the_version_of_their_code(plugin: Path, make_recipe: Any) -> None:
    sets = ("search.adversary=failing", "finetune.adversary=fgm")
    before = versions(make_recipe(*sets))
    assert before["pruner/hard-concrete"].startswith("built-in/")
    plugin.with_name("helper.py").write_text("VALUE = 2\n", encoding="utf-8")
    load(plugin)
    after = versions(make_recipe(*sets))
    assert after["adversary/failing"] != before["adversary/failing"]
    assert {**after, "adversary/failing": ""} == {**before, "adversary/failing": ""}


def test_two_components_of_one_name_give_two_keys(plugin: Path, make_recipe: Any) -> None:
    source = plugin.read_text(encoding="utf-8")
    plugin.write_text(source.replace('name: ClassVar[str] = "failing"', 'name: ClassVar[str] = "freelb"', 1), encoding="utf-8")
    load(plugin)
    own, built_in = make_recipe("search.adversary=failing:freelb"), make_recipe()
    assert versions(built_in)["adversary/freelb"].startswith("built-in/")
    assert versions(own)["adversary/failing:freelb"].startswith("sha256:")
    assert own.digest() != built_in.digest()
    assert build_recipe("again", own.to_table()) == build_recipe("again", build_recipe("again", own.to_table()).to_table())
    assert type(build_recipe("again", own.to_table()).stages["search"]) is type(own.stages["search"])


def test_the_fingerprint_of_a_model_has_the_version_of_an_adapter_of_a_plugin(plugin: Path, tiny: dict[str, Path], tmp_path: Path) -> None:
    model = str(tiny["bert"])
    built_in = fingerprint.of_model(model)
    assert " " not in built_in
    own = tmp_path / "model"
    own.mkdir()
    (own / "config.json").write_text('{"model_type": "failing"}', encoding="utf-8")
    before = fingerprint.of_model(str(own))
    assert before.partition(" ")[2].startswith("backbone/failing sha256:")
    plugin.with_name("helper.py").write_text("VALUE = 2\n", encoding="utf-8")
    load(plugin)
    assert fingerprint.of_model(str(own)) != before
    assert fingerprint.of_path(str(own)) == fingerprint.of_model(str(own))
    assert fingerprint.of_model(model) == built_in


@pytest.fixture(scope="session")
def classifier(tiny: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier for the demo task."""
    folder = tmp_path_factory.mktemp("classifier")
    for part in load_classifier(str(tiny["bert"]), ("negative", "positive"), seed=0):
        part.save_pretrained(folder)
    return folder


@needs_textattack
@pytest.mark.parametrize("repaired", ["the code", "something outside"])
def test_an_attack_that_failed_is_not_found_in_the_lab(
    plugin: Path, make_recipe: Any, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repaired: str
) -> None:
    source = plugin.read_text(encoding="utf-8")
    condition = '__import__("os").environ.get("BROKEN") == "1" and " a " in text.text'
    plugin.write_text(source.replace("if word in text.text else", f"if {condition} else"), encoding="utf-8")
    load(plugin)
    monkeypatch.setenv("BROKEN", "1")
    sets = (f"attack.model={classifier}", "attack.attacks=['failing']", "attack.examples=8", "attack.workers=1")
    parts = ("finetune", "search", "draw", "retrain", "evaluate")
    with pytest.raises(PluginError, match=r"^attack `failing` of .* failed: ValueError: the attack is broken \(failing\.py:"):
        run(make_recipe(*sets, without=parts), tmp_path / "lab")
    (records,) = (tmp_path / "lab").glob("stages/*/*/records/failing.jsonl")
    kept = len(records.read_text(encoding="utf-8").splitlines()) - 1
    assert 0 < kept < 8
    if repaired == "the code":
        plugin.write_text(source, encoding="utf-8")
        load(plugin)
    else:
        monkeypatch.setenv("BROKEN", "0")
    done = run(make_recipe(*sets, without=parts), tmp_path / "lab")
    metrics = done.attack_metrics()["failing"]
    assert (metrics["examples"] if "examples" in metrics else metrics["n"] + metrics["errors"]) == 8
    assert metrics["errors"] == 0
    again = list((tmp_path / "lab").glob("stages/*/*/records/failing.jsonl"))
    assert len(again) == (2 if repaired == "the code" else 1)
