from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_plugin_option_works_before_and_after_the_command(invoke: Any, plugin: Path, place: str) -> None:
    option = ["--plugin", str(plugin)]
    result = invoke(*option, "plugins", "--json") if place == "before" else invoke("plugins", "--json", *option)
    found = {(one["kind"], one["name"]): one for one in json.loads(result.stdout)["components"]}
    assert found["pruner", "middle"] == {
        "kind": "pruner",
        "name": "middle",
        "summary": "score units by their distance from the middle",
        "source": str(plugin),
    }
    assert result.stderr == ""


def test_show_explains_the_settings_of_a_plugin(invoke: Any, plugin: Path) -> None:
    result = invoke("show", "pruner", "middle", "--json", "--plugin", plugin)
    facts = json.loads(result.stdout)
    assert facts["summary"] == "score units by their distance from the middle"
    assert facts["source"] == str(plugin)
    assert facts["settings"][-1] | {"choices": []} == {
        "name": "power",
        "type": "number",
        "default": 2.0,
        "default_text": "2",
        "bounds": {"above": 0},
        "bounds_text": "> 0",
        "choices": [],
        "unit": "1",
        "help": "exponent of the distance",
        "changes_results": True,
    }
    text = invoke("show", "pruners", "middle", "--plugin", plugin).stdout
    assert "exponent of the distance" in text


def test_a_plugin_is_used_in_a_recipe(invoke: Any, plugin: Path) -> None:
    arguments = ["run", "--task", "demo", "--pruner", "middle", "--set", "search.pruner.power=3", "--dry-run"]
    result = invoke("--plugin", plugin, *arguments)
    assert 'name = "middle"\npower = 3.0' in result.stdout


def test_a_broken_plugin_is_a_warning_that_names_it(invoke: Any, broken: str) -> None:
    result = invoke("plugins")
    assert result.exit_code == 0
    problem = (
        "ModuleNotFoundError: No module named 'a_package_that_is_not_here' (broken_plugin.py:1): "
        "install the package that has the module `a_package_that_is_not_here`"
    )
    assert result.stderr == f"warning: {broken} does not load: {problem}\n"
    assert "hard-concrete" in result.stdout


def test_an_unknown_component_mentions_the_broken_plugin(invoke: Any, broken: str) -> None:
    result = invoke("show", "pruner", "theirs")
    assert result.exit_code == 2
    assert broken in result.stderr.splitlines()[-1]


def test_no_plugins_skips_installed_plugins(invoke: Any, broken: str) -> None:
    assert invoke("--no-plugins", "plugins").stderr == ""
    assert invoke("plugins", "--no-plugins").stderr == ""


def test_strict_plugins_makes_a_broken_plugin_an_error(invoke: Any, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_STRICT_PLUGINS", "1")
    result = invoke("plugins")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {broken} does not load")
    assert invoke("--help").exit_code == 0
    assert invoke("plugins", "--no-plugins").exit_code == 0


@pytest.mark.parametrize("how", ["option", "environment"])
def test_one_plugin_can_be_switched_off(invoke: Any, broken: str, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("TICKETLAB_NO_PLUGIN", "broken-plugin" if how == "environment" else "")
    result = invoke("plugins", "--json", *(["--no-plugin", "Broken_Plugin"] if how == "option" else []))
    assert result.stderr == f"{broken} is switched off\n"
    assert json.loads(result.stdout)["off"] == [{"name": broken, "version": "broken-plugin==1.2"}]


def test_an_unknown_plugin_to_switch_off_is_an_error(invoke: Any, broken: str) -> None:
    result = invoke("plugins", "--no-plugin", "brokn-plugin")
    assert result.exit_code == 2
    assert result.stderr == "error: --no-plugin brokn-plugin: no such plugin is installed; did you mean `broken-plugin`?\n"


def test_a_duplicate_name_is_a_warning_and_is_chosen_by_its_package(invoke: Any, plugin: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text(plugin.read_text(encoding="utf-8"), encoding="utf-8")
    options = ["--plugin", str(plugin), "--plugin", str(other)]
    listed = invoke(*options, "plugins")
    assert listed.exit_code == 0
    assert f"the pruner `middle` is registered by both {plugin} and {other}" in listed.stderr
    assert "other:middle" in listed.stdout
    used = invoke(*options, "show", "pruner", "middle")
    assert used.exit_code == 1
    assert used.stderr.splitlines()[-1].startswith("error: the pruner `middle`")
    assert used.stderr.splitlines()[-1].endswith("write `middle_plugin:middle` or `other:middle`")
    assert str(other) in invoke(*options, "show", "pruner", "other:middle").stdout


@pytest.mark.parametrize(("named", "recorded"), [("random", "random"), ("ticketlab:random", "random"), ("mine:random", "mine:random")])
def test_a_recipe_records_which_of_two_components_was_chosen(invoke: Any, plugin: Path, tmp_path: Path, named: str, recorded: str) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(plugin.read_text(encoding="utf-8").replace('"middle"', '"random"'), encoding="utf-8")
    result = invoke("run", "ticket", "--plugin", mine, "--task", "demo", "--pruner", named, "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert f'name = "{recorded}"' in result.stdout
    assert ("power = 2.0" in result.stdout) is (recorded != "random")
    (tmp_path / "again.toml").write_text(result.stdout, encoding="utf-8")
    again = invoke("run", tmp_path / "again.toml", "--plugin", mine, "--dry-run")
    assert again.exit_code == 0, again.stderr
    assert again.stdout == result.stdout


FAILING = Path(__file__).parents[1] / "third_party" / "failing.py"


def test_an_error_in_the_task_of_a_plugin_names_its_line(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("run", "fine-tune", "--plugin", FAILING, "--task", "failing", "--model", "demo", "--attack", "none")
    result = invoke(*arguments)
    assert result.exit_code == 1
    error = result.stderr.splitlines()[-1]
    assert error.startswith(f"error: task `failing` of {FAILING} failed: ValueError: the file is broken (third_party/failing.py:")
    assert error.endswith(", in broken)")
    monkeypatch.setenv("TICKETLAB_DEBUG", "1")
    assert "Traceback (most recent call last)" in invoke(*arguments).stderr


def test_an_error_in_the_adapter_of_a_plugin_names_its_line(invoke: Any, tiny: dict[str, Path], tmp_path: Path) -> None:
    from transformers import SqueezeBertConfig, SqueezeBertForSequenceClassification

    model = shutil.copytree(tiny["bert"], tmp_path / "model")
    vocabulary = json.loads((model / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    sizes = {"hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 16}
    SqueezeBertForSequenceClassification(SqueezeBertConfig(vocab_size=vocabulary, **sizes)).save_pretrained(model)
    source = tmp_path / "failing.py"
    source.write_text(FAILING.read_text(encoding="utf-8").replace('("failing",)', '("squeezebert",)'), encoding="utf-8")
    result = invoke(
        "run", "fine-tune", "--model", model, "--plugin", source, "--task", "demo", "--attack", "none", "--lab", tmp_path / "lab"
    )
    assert result.exit_code == 1, result.stderr
    error = result.stderr.splitlines()[-1]
    assert re.match(rf"error: (\w+: )?backbone `failing` of {source} failed: ValueError: the length is broken \(failing\.py:", error)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("stop-rule", ""), ("stop_rules", ""), ("adversaries", "freelb"), ("Losses", "cross-entropy"), ("stages", "draw")],
)
def test_show_accepts_a_kind_in_any_form(invoke: Any, kind: str, expected: str) -> None:
    result = invoke("show", kind)
    assert result.exit_code == 0
    assert expected in result.stdout


def test_every_component_can_be_shown(invoke: Any) -> None:
    for one in json.loads(invoke("plugins", "--json").stdout)["components"]:
        result = invoke("show", one["kind"], one["name"], "--json")
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["summary"] == one["summary"]


@pytest.mark.parametrize("stage", ["train", "search", "draw", "evaluate", "attack"])
def test_every_stage_explains_all_its_settings(invoke: Any, stage: str) -> None:
    settings = json.loads(invoke("show", "stage", stage, "--json").stdout)["settings"]
    assert all(setting["help"] for setting in settings)


def test_recipes_are_listed_and_shown(invoke: Any) -> None:
    listed = {one["name"]: one for one in json.loads(invoke("recipes", "--json").stdout)}
    assert {"robust-ticket", "fine-tune", "freelb", "pgd", "lottery-ticket", "random-ticket"} <= set(listed)
    assert all("small" in one["scales"] and one["summary"] for one in listed.values())
    shown = invoke("recipes", "show", "robust-ticket").stdout
    assert shown == Path(listed["robust-ticket"]["file"]).read_text(encoding="utf-8")


def test_doctor_reports_missing_resources_and_how_to_get_them(invoke: Any) -> None:
    facts = json.loads(invoke("doctor", "--json").stdout)
    assert {"ticketlab", "torch", "transformers"} <= set(facts["packages"])
    assert facts["precision"] in ("fp32", "bf16")
    assert all(resource["found"] or resource["how_to_get"] for resource in facts["resources"])
    assert "precision" in invoke("doctor").stdout


def test_names_of_recipes_are_not_cut_at_80_columns(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from ticketlab.cli import output

    monkeypatch.setattr(output, "open_console", lambda: Console(width=80))
    names = [one["name"] for one in json.loads(invoke("recipes", "--json").stdout)]
    for command in ("recipes", "plugins"):
        listed = invoke(command).stdout
        assert [name for name in names if name not in listed] == []


def test_what_a_plugin_prints_is_not_among_the_results(plugin: Path, tmp_path: Path) -> None:
    file = tmp_path / "noisy.py"
    file.write_text(f"print('noise')\n{plugin.read_text()}")
    command = [sys.executable, "-m", "ticketlab", "plugins", "--json", "--plugin", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "noise" in done.stderr
    assert any(one["name"] == "middle" for one in json.loads(done.stdout)["components"])
