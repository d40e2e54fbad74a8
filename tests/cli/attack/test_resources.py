"""``ticketlab doctor`` and ``ticketlab show attack`` report where the resources of attacks are, or how to get them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = "a-folder-whose-name-is-long-enough-to-fill-a-line-of-a-narrow-terminal" * 2


@pytest.fixture
def wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on NLTK's data path that is recognised as WordNet."""
    monkeypatch.setattr("ticketlab.resources.wordnet.DEBIAN", str(tmp_path / "none"))
    monkeypatch.setattr("ticketlab.core.packages.folder", lambda package, inside="": f"/here/{package}" if package != "textblob" else None)
    place = tmp_path / DATA / "corpora" / "wordnet"
    place.mkdir(parents=True)
    (place / "data.noun").touch()
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / DATA))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "40")
    return place


def test_doctor_does_not_cut_resources_in_a_narrow_terminal(invoke: Any, wordnet: Path) -> None:
    lines = invoke("doctor").stdout.splitlines()
    found = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in lines}
    assert found["WordNet"] == str(wordnet)
    assert (found["textattack"], found["greenlet"]) == ("/here/textattack", "/here/greenlet")
    assert found["masked language model"].startswith("missing: name the folder of a masked language model")
    assert found["part-of-speech tagger"].startswith("missing: pip install textblob, or python -m nltk.downloader")
    assert found["tagger data of NLTK"].startswith("missing: python -m nltk.downloader")
    assert {"word vectors", "sentence encoder", "plugins"} <= set(found)


@pytest.mark.parametrize(
    ("name", "paper", "needs"),
    [
        ("pwws", "Ren et al., 2019", ["WordNet"]),
        ("textbugger", "Li et al., 2019", ["word vectors", "sentence encoder"]),
        ("textattack:iga", "Wang et al., 2019", ["word vectors"]),
        ("textattack:CLARE2020", "Li et al., 2021", ["masked language model", "sentence encoder", "part-of-speech tagger"]),
        ("deepwordbug", "Gao et al., 2018", []),
    ],
)
def test_show_has_the_resources_and_the_paper_of_an_attack(invoke: Any, wordnet: Path, name: str, paper: str, needs: list[str]) -> None:
    facts = json.loads(invoke("show", "attack", name, "--json").stdout)
    assert [resource["name"] for resource in facts["resources"]] == needs
    assert facts["paper"].startswith(paper)
    text = invoke("show", "attack", name).stdout
    assert f"paper: {paper}" in text
    assert f"--attack {name}" in text
    for resource in facts["resources"]:
        assert f"needs: {resource['name']}: {resource['where'] or 'missing: ' + resource['how_to_get']}\n" in text
        assert "English" in resource["language"]
        assert f"    language: {resource['language']}\n" in text
    assert "English" in facts["languages"]
    assert f"languages: {facts['languages']}\n" in text
    if name == "pwws":
        assert facts["resources"][0]["where"] == str(wordnet)


def test_show_has_the_thresholds_of_a_recipe_and_why_one_is_refused(invoke: Any) -> None:
    assert "thresholds: 1 word of 4 letters or more\n" in invoke("show", "attack", "textattack:pruthi").stdout
    refused = invoke("show", "attack", "textattack:pso").stdout
    assert "refused: textattack:PSOZang2020 needs the sememes of HowNet" in refused
    assert "thresholds" in json.loads(invoke("show", "attack", "textattack:pruthi", "--json").stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attack", "textattack:prutti"], "did you mean `pruthi`?"),
        (["attack", "deepwordbug:x"], "attack `deepwordbug` has no variants"),
        (["pruner", "imp:3"], "pruner `imp` has no variants"),
    ],
)
def test_an_unknown_variant_is_one_line(invoke: Any, arguments: list[str], message: str) -> None:
    result = invoke("show", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
