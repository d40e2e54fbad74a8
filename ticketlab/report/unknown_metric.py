"""What to say about a metric that no cell has: that its attack is missing, or the metrics with the nearest names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ticketlab.core.errors import nearest
from ticketlab.report.metric_text import split_metric

MAX_NAMES = 5


def metric_hint(metric: str, known: Iterable[str]) -> str:
    """Return the reason why none of the ``known`` metrics is ``metric``, or the nearest of them, as text to append to an error."""
    names = sorted(set(known))
    _, kind, attack, _ = split_metric(metric)
    attacks = dict.fromkeys(found[2] for found in map(split_metric, names) if found[1] == "attack")
    if kind == "attack" and attack not in attacks and "*" not in attack and nearest(attack, attacks) is None:
        made = f"; the attacks are {', '.join(f'`{name}`' for name in attacks)}" if attacks else ""
        return f": none was attacked with `{attack}`{made}"
    near = nearest(metric, names)
    if near is not None:
        return f"; did you mean `{near}`?"
    similar = difflib.get_close_matches(metric, names, n=MAX_NAMES, cutoff=0) or names[:MAX_NAMES]
    return f"; the nearest are {', '.join(f'`{name}`' for name in similar)}" if similar else ""
