"""A cell of a study: its levels and its recipe."""

from __future__ import annotations

from attrs import frozen

from ticketlab.recipes.recipe import Recipe
from ticketlab.studies.design import Combination


@frozen
class StudyCell:
    """A cell with its recipe, or the ``error`` why it has none. ``inapplicable`` are the keys that the cell's recipe does not have."""

    label: str
    levels: Combination
    recipe: Recipe | None = None
    error: str = ""
    inapplicable: tuple[str, ...] = ()
