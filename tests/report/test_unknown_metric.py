"""What is said about a metric that no cell has."""

from __future__ import annotations

import pytest

from ticketlab.report.unknown_metric import metric_hint

CLEAN = [f"clean.{name}" for name in ("accuracy", "macro_f1", "weighted_f1", "matthews", "recall.a", "recall.b", "examples.a")]
ATTACKED = ["attack.pwws.aua", "attack.pwws.suc"]


@pytest.mark.parametrize(
    ("metric", "known", "hint"),
    [
        ("clean.acuracy", CLEAN, "; did you mean `clean.accuracy`?"),
        ("attack.deepwordbug.aua", CLEAN, ": none was attacked with `deepwordbug`"),
        ("attack.deepwordbug.aua", CLEAN + ATTACKED, ": none was attacked with `deepwordbug`; the attacks are `pwws`"),
        ("attack.pwws.auas", CLEAN + ATTACKED, "; did you mean `attack.pwws.aua`?"),
        ("attack.textfoler.aua", ["attack.textfooler.aua"], "; did you mean `attack.textfooler.aua`?"),
        ("x", [], ""),
    ],
)
def test_the_reason_or_the_nearest_metric_is_named(metric: str, known: list[str], hint: str) -> None:
    assert metric_hint(metric, known) == hint


def test_at_most_five_are_listed() -> None:
    hint = metric_hint("f1", CLEAN)
    assert hint.count("`clean.") == 5
    assert "`clean.macro_f1`" in hint
