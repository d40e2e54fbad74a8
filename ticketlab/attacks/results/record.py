"""The record of one attacked example, with checks of its values. Files of records are in record_file.py."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args

import attrs
from attrs import field, frozen
from attrs.validators import deep_iterable, in_, instance_of, optional

Status = Literal["success", "failed", "skipped", "error", "timeout"]
STATUSES: tuple[str, ...] = get_args(Status)
_ROUNDING = 1e-6
_TEXT = instance_of(str)


def _texts(texts: Any) -> tuple[str, ...]:
    if isinstance(texts, str):
        raise TypeError("texts must be a list, one for each column")
    return tuple(texts)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _count(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"`{attribute.name}` must be a whole number, 0 or more, not {value!r}")


def _between(least: float, most: float) -> Any:
    def check(_: Any, attribute: attrs.Attribute[Any], value: float | None) -> None:
        if value is not None and not least - _ROUNDING <= value <= most + _ROUNDING:
            raise ValueError(f"`{attribute.name}` must be between {least:g} and {most:g}, not {value:g}")

    return check


def json_line(value: Mapping[str, Any]) -> str:
    """Return a value as one line of JSON that can be encoded as UTF-8."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # a lone surrogate
        line = json.dumps(value, allow_nan=False)
    return line


@frozen(kw_only=True)
class Record:
    """One attacked example.

    ``success``: the victim's prediction was correct, and it misclassified the changed text. ``failed``: the prediction stayed correct.
    ``skipped``: it was wrong before any change. ``error`` and ``timeout``: the outcome is unknown, and ``message`` says why. Confidences
    are the victim's probability of the correct label.

    :raises ValueError: an invalid number, such as -5 queries.
    :raises TypeError: a value of the wrong type.
    """

    id: str = field(validator=_TEXT)
    status: Status = field(validator=in_(STATUSES))
    original: tuple[str, ...] = field(converter=_texts, validator=deep_iterable(_TEXT))
    label: str = field(validator=_TEXT)
    perturbed: tuple[str, ...] = field(default=(), converter=_texts, validator=deep_iterable(_TEXT))
    """The changed texts; if the attack failed, its best attempt."""
    predicted_before: str | None = field(default=None, validator=optional(_TEXT))
    predicted_after: str | None = field(default=None, validator=optional(_TEXT))
    confidence_before: float | None = field(default=None, converter=_finite, validator=_between(0, 1))
    confidence_after: float | None = field(default=None, converter=_finite, validator=_between(0, 1))
    queries: int = field(default=0, validator=_count)
    """Number of texts that the attack sent to the victim, cache hits included, as textattack counts."""
    words_changed: int = field(default=0, validator=_count)
    words_total: int = field(default=0, validator=_count)
    words_unseen: int | None = field(default=None, validator=optional(_count))
    """Words of the original that the victim does not see; None if unknown."""
    words_tried: int | None = field(default=None, validator=optional(_count))
    """Words of the original for which the attack looked for candidates before it succeeded or gave up; None if unknown, or if it gave up
    before looking for any."""
    words_replaceable: int | None = field(default=None, validator=optional(_count))
    """Those of them for which it had a candidate: a neighbour, a synonym, a prediction, an edit."""
    words_allowed: int | None = field(default=None, validator=optional(_count))
    """Those of them with a candidate that passed the constraints of the attack."""
    truncated: bool = field(default=False, validator=instance_of(bool))
    """Whether the victim sees only a part of the original."""
    similarity: float | None = field(default=None, converter=_finite, validator=_between(-1, 1))
    """Cosine similarity of original and changed text by a sentence encoder, computed after the attack, for successes only."""
    message: str = field(default="", validator=_TEXT)

    def __attrs_post_init__(self) -> None:
        """Check that the numbers are consistent."""
        for part, whole in (
            ("words_changed", "words_total"),
            ("words_unseen", "words_total"),
            ("words_tried", "words_total"),
            ("words_replaceable", "words_tried"),
            ("words_allowed", "words_replaceable"),
        ):
            few, many = getattr(self, part), getattr(self, whole)
            if few is not None and few > (many or 0):
                raise ValueError(f"`{part}` is {few}, more than `{whole}`, {many}")
        if self.status == "success" and not self.perturbed:
            raise ValueError("`perturbed` is empty although the status is `success`")

    def to_json(self) -> str:
        """Return one line of JSON that can be encoded as UTF-8."""
        return json_line(attrs.asdict(self))
