from __future__ import annotations

from pathlib import Path

from attrs import evolve
from support.small_page import small_study

from ticketlab.pages.pictures import default_figures, draw_pictures


def test_a_study_without_figures_has_those_that_suit_its_numbers(tmp_path: Path) -> None:
    assert list(default_figures(small_study(tmp_path))) == [
        {"kind": "metric", "x": "sparsity", "y": ["clean.accuracy", "attack.pwws.aua"]},
        {"kind": "id-ood"},
        {"kind": "time-aua"},
    ]


def test_the_figures_of_a_study_are_drawn_or_say_why_not(tmp_path: Path) -> None:
    wanted = ({"kind": "metric", "x": "sparsity", "y": "clean.accuracy"}, {"kind": "survivl", "title": "mine"}, {"kind": "survival"})
    drawn, misspelt, impossible = draw_pictures(evolve(small_study(tmp_path), figures=wanted))
    assert drawn.svg.startswith("<svg")
    assert drawn.note == ""
    assert (misspelt.title, misspelt.svg) == ("mine", "")
    assert "did you mean `survival`?" in misspelt.note
    assert impossible.note.startswith("could not be drawn: ")
