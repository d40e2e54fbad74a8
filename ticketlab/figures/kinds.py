"""The kinds of pictures by name, and drawing one from arguments of a study file or the command line."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.cells import Comparison

if TYPE_CHECKING:
    from altair import TopLevelMixin


@frozen
class Figure:
    """A kind of picture: the function that draws it, as ``module:name``, and one line about it."""

    target: str
    summary: str

    @property
    def function(self) -> Callable[..., TopLevelMixin]:
        """The function. Its module, and Altair with it, is imported now."""
        module, _, name = self.target.partition(":")
        function: Callable[..., TopLevelMixin] = getattr(importlib.import_module(f"ticketlab.figures.{module}"), name)
        return function


FIGURES = {
    "metric": Figure("metric_lines:metric", "a metric against sparsity, lambda, gamma, a ratio or any other factor"),
    "id-ood": Figure("id_ood_points:id_ood", "accuracy on the task against that on a challenge set, a point per cell"),
    "survival": Figure("survival_map:survival", "survival of weights, heads and neurons per layer, over seeds"),
    "mask-distance": Figure("mask_distance_map:mask_distance", "distance of the masks between all looks of a search"),
    "gates": Figure("gate_curves:gates", "gates at 0 and 1, and the regulariser R, over the steps of a search"),
    "convergence": Figure("convergence_curves:convergence", "clean accuracy and Aua over the steps of a training"),
    "time-aua": Figure("time_aua_points:time_aua", "training time against Aua, a point per cell"),
    "overlap": Figure("overlap_map:overlap", "overlap of tickets (Jaccard) between cells, tasks and seeds"),
    "classes": Figure("class_bars:classes", "distributions of classes in data and in predictions"),
}

LEAST_WIDTH, MOST_WIDTH = 240, 4000
"""The width of a picture in pixels."""
NAMES = {str: "text", int: "a whole number", bool: "true or false"}
"""Types of arguments in messages."""


def figure(kind: str) -> Figure:
    """Return a kind of picture by its name.

    :raises UsageError: there is none of this name.
    """
    if kind not in FIGURES:
        raise UsageError(f"no kind of figure `{kind}`{did_you_mean(kind, FIGURES)}")
    return FIGURES[kind]


def draw(kind: str, comparison: Comparison, **arguments: Any) -> TopLevelMixin:
    """Return a picture of the ``kind``. ``arguments`` are those of its function, and checked: they may come from a file.

    :raises UsageError: the kind or an argument does not exist, is missing or has another type; or there is nothing to draw.
    """
    check_arguments(kind, arguments)
    return figure(kind).function(comparison, **arguments)


def check_arguments(kind: str, arguments: Mapping[str, Any]) -> None:
    """Check the arguments of a picture as far as that is possible without the comparison. Raises the same errors as :func:`draw`."""
    function = figure(kind).function
    parameters = {name: about for name, about in inspect.signature(function).parameters.items() if name != "comparison"}
    hints = typing.get_type_hints(function)
    for name, value in arguments.items():
        if name not in parameters:
            raise UsageError(f"{name}: the figure `{kind}` has no such argument; it has {', '.join(parameters)}")
        _check(f"{kind}: {name}", value, hints[name])
    if not LEAST_WIDTH <= arguments.get("width", LEAST_WIDTH) <= MOST_WIDTH:
        raise UsageError(f"{kind}: width: must be from {LEAST_WIDTH} to {MOST_WIDTH} pixels, not {arguments['width']}")
    needed = [name for name, about in parameters.items() if about.default is about.empty and name not in arguments]
    if needed:
        raise UsageError(f"the figure `{kind}` needs the argument `{needed[0]}` (--{needed[0].replace('_', '-')} of `ticketlab plot`)")


def _check(where: str, value: Any, hint: Any) -> None:
    """Check an argument against the type of its parameter: text, texts, a whole number, a switch, or one of several words.

    :raises UsageError: it does not fit.
    """
    if typing.get_origin(hint) is typing.Literal:
        words = typing.get_args(hint)
        if value not in words:
            raise UsageError(f"{where}: must be {' or '.join(words)}, not {value!r}")
        return
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    takes_texts = any(typing.get_origin(kind) is Sequence for kind in kinds)
    if takes_texts and isinstance(value, (list, tuple)) and all(isinstance(entry, str) for entry in value):
        return
    plain = [kind for kind in kinds if isinstance(kind, type) and kind is not types.NoneType]
    if not any(type(value) is kind for kind in plain):
        names = " or ".join([*(NAMES[kind] for kind in plain), *(["a list of texts"] if takes_texts else [])])
        raise UsageError(f"{where}: must be {names}, not {value!r}")
