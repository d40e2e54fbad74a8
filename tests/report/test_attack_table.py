"""The table of attacks has one line per model and attack."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from ticketlab.cli import output, run_recipe
from ticketlab.report.rows import result_rows

ATTACKS = ("deepwordbug", "textbugger", "textattack:PWWSRen2019")
UNDER_ATTACK = ["30.0", "66.7", "31.5", "12.5", "0.875"]
HEADS = ["Clean %", "Aua %", "Suc %", "#Query", "Words %", "Similarity"]


def numbers(aua: float = 0.3, **more: Any) -> dict[str, Any]:
    shares = {"clean": 0.9, "aua": aua, "suc": 1 - aua / 0.9}
    sizes = {"clean_of": {"total": 200}, "aua_of": {"total": 200}, "suc_of": {"total": 180}}
    means = {"queries": 31.5, "words_changed": 0.125, "similarity": 0.875}
    return {**shares, **sizes, **means, "n": 200, "skipped": 20, "errors": 0, "timeouts": 0, **more}


def judged(label: str, *attacks: str, evaluated: bool = False, task: str = "sst2", **more: Any) -> dict[str, Any]:
    stages: dict[str, Any] = {"attack": {"kind": "attack", "of": label, "attacks": {name: numbers(**more) for name in attacks}}}
    if evaluated:
        stages["evaluate"] = {"kind": "evaluate", "of": label, "clean": {"accuracy": 0.85, "n": 872}}
    return {"schema": 1, "recipe": label, "scale": "full", "model": "demo", "seeds": [0], "tasks": {task: {"0": stages}}}


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*results: dict[str, Any], title: str = "the title", width: int = 160) -> str:
        monkeypatch.setattr(output, "open_console", lambda: Console(width=width))
        run_recipe.print_rows([row for one in results for row in result_rows(one)], title)
        return capsys.readouterr().out

    return call


def lines_with(text: str, *words: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if all(word in line.split() for word in words)]


def test_each_attack_is_one_line(printed: Any) -> None:
    text = printed(judged("./mine", *ATTACKS), title="sst2, model ./mine, 1 seed")
    assert lines_with(text, "Attack") == [["Attack", *" ".join(HEADS).split()]]
    for name in ATTACKS:
        assert lines_with(text, name) == [[name, "90.0", *UNDER_ATTACK]]
    assert text.count("./mine") == 1  # the title has it
    assert "for one seed (sample of 200 examples, 180 attacked; 20 misclassified before the attack were skipped" in " ".join(text.split())


def test_one_attack_without_other_results_is_a_line(printed: Any) -> None:
    text = printed(judged("./mine", ATTACKS[2]))
    assert lines_with(text, ATTACKS[2]) == [["./mine", ATTACKS[2], "90.0", *UNDER_ATTACK]]


def test_several_models_and_attacks_share_one_table(printed: Any) -> None:
    models = ("fine-tune", "random-ticket", "robust-ticket")
    text = printed(*(judged(name, *ATTACKS) for name in models))
    assert text.count("the title") == 1
    for name in models:
        for attack in ATTACKS:
            assert len(lines_with(text, name, attack)) == 1


def test_evaluated_models_have_a_table_before_that_of_several_attacks(printed: Any) -> None:
    text = printed(judged("robust-ticket", *ATTACKS, evaluated=True))
    models, _, attacks = text.partition("the title: attacks")
    assert lines_with(models, "robust-ticket") == [["robust-ticket", "85.0"]]
    assert "872 examples evaluated" in " ".join(models.split())
    assert "872" not in attacks
    assert lines_with(attacks, "robust-ticket", "textbugger") == [["robust-ticket", "textbugger", "90.0", *UNDER_ATTACK]]


def test_one_attack_is_in_the_table_of_evaluated_models(printed: Any) -> None:
    text = printed(judged("robust-ticket", "deepwordbug", evaluated=True))
    assert text.count("the title") == 1
    assert lines_with(text, "robust-ticket") == [["robust-ticket", "85.0", *UNDER_ATTACK]]


def test_lines_name_the_task_if_there_are_several(printed: Any) -> None:
    text = printed(judged("mine", *ATTACKS), judged("mine", *ATTACKS, task="imdb"))
    assert [line[:3] for line in lines_with(text, "deepwordbug")] == [["mine", "sst2", "deepwordbug"], ["mine", "imdb", "deepwordbug"]]


def test_errors_and_timeouts_are_counted_per_line(printed: Any) -> None:
    found = judged("mine", *ATTACKS)
    found["tasks"]["sst2"]["0"]["attack"]["attacks"]["textbugger"] |= {"errors": 2, "timeouts": 7}
    text = printed(found)
    assert [line[-2:] for line in lines_with(text, "deepwordbug")] == [["0", "0"]]
    assert [line[-2:] for line in lines_with(text, "textbugger")] == [["2", "7"]]


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_terminal_gets_at_most_two_tables(printed: Any, width: int) -> None:
    found = judged("./mine", *ATTACKS)
    for numbers_of_one in found["tasks"]["sst2"]["0"]["attack"]["attacks"].values():
        numbers_of_one |= {f"{name}_of": {"n": 180, "interval": [0.12, 0.98]} for name in ("queries", "words_changed", "similarity")}
    text = printed(found, title="model ./mine", width=width)
    assert text.count("model ./mine") <= 2
    assert "…" not in text
    assert all(len(line) <= width for line in text.splitlines())
    for head in HEADS:
        assert text.count(head) == 1


def test_one_example_is_singular(printed: Any) -> None:
    found = judged("mine", "deepwordbug", evaluated=True)
    found["tasks"]["sst2"]["0"]["evaluate"]["clean"]["n"] = 1
    assert "1 example evaluated" in " ".join(printed(found).split())
