"""The keys of a study file that say what its report shows. They change no result, and are checked before anything is computed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.metric_text import SPEED_UP
from ticketlab.report.table_spec import check_keys
from ticketlab.studies.hypothesis_tables import read_hypotheses
from ticketlab.studies.tables import as_table, as_tables

KEYS = ("hypotheses", "table", "figures", "published", "differences", "notes")


def read_report_keys(table: Mapping[str, Any], factors: Collection[str]) -> dict[str, Any]:
    """Return the keys of a study that say what its report shows, the hypotheses in a uniform form. ``factors`` are its factors' names.

    :raises UsageError: one of them cannot be read.
    """
    found = {key: table[key] for key in KEYS if key in table}
    if "hypotheses" in found:
        found["hypotheses"] = [one.to_table() for one in read_hypotheses(as_tables(found["hypotheses"], "hypotheses"))]
    if "table" in found:
        check_keys(as_table(found["table"], "table"))
    for figure in as_tables(found.get("figures", ()), "figures"):
        _check_figure(figure)
    for entry in as_tables(found.get("published", ()), "published"):
        _check_published(entry, factors)
    for key in ("differences", "notes"):
        _check_texts(found.get(key, ()), key)
    return found


def is_published_level(name: str, factors: Collection[str]) -> bool:
    """Return whether an entry of ``[[published]]`` is a level of a factor; otherwise it is a metric with its value."""
    return name in factors or not ("." in name or name == SPEED_UP)


def texts_of(value: Any) -> Iterable[Any]:
    """Return the texts of ``notes`` or ``differences``: a text, a list, or a table whose values they are."""
    return value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value


def _check_figure(figure: Mapping[str, Any]) -> None:
    from ticketlab.figures import kinds  # imports Altair for the arguments

    kind = figure.get("kind")
    if not isinstance(kind, str):
        raise UsageError(f"figures: the `kind` must be a text, not {kind!r}{did_you_mean(str(kind), kinds.FIGURES)}")
    try:
        kinds.check_arguments(kind, {name: value for name, value in figure.items() if name != "kind"})
    except UsageError as problem:
        raise UsageError(f"figures: {problem}") from None


def _check_published(entry: Mapping[str, Any], factors: Collection[str]) -> None:
    for name, value in entry.items():
        if is_published_level(name, factors):
            if isinstance(value, (Mapping, list)):
                raise UsageError(f"published: `{name}` must be a level, not {value!r}")
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UsageError(f"published: `{name}` must be a number, not {value!r}")


def _check_texts(value: Any, where: str) -> None:
    if not isinstance(value, (str, list, tuple, Mapping)) or not all(isinstance(text, str) for text in texts_of(value)):
        raise UsageError(f"{where}: must be a text, a list of texts or a table of texts, not {value!r}")
