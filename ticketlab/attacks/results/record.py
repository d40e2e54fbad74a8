"""What became of one attacked example. A record whose numbers cannot be is refused, wherever it comes from."""

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
    """Return a value as one line of JSON, which can be written as UTF-8."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        line = json.dumps(value, allow_nan=False)
    return line


@frozen(kw_only=True)
class Record:
    """One attacked example.

    ``success``: the victim was right, and misclassified the changed text. ``failed``: it was right, and stayed so. ``skipped``: it was
    wrong before any change. ``error`` and ``timeout``: the outcome is unknown, and ``message`` says why. Confidences are the victim's
    probability of the right label.

    :raises ValueError: a number that cannot be, such as -5 queries.
    :raises TypeError: a value of another type.
    """

    id: str = field(validator=_TEXT)
    status: Status = field(validator=in_(STATUSES))
    original: tuple[str, ...] = field(converter=_texts, validator=deep_iterable(_TEXT))
    label: str = field(validator=_TEXT)
    perturbed: tuple[str, ...] = field(default=(), converter=_texts, validator=deep_iterable(_TEXT))
    """The changed texts; when the attack failed, its best try."""
    predicted_before: str | None = field(default=None, validator=optional(_TEXT))
    predicted_after: str | None = field(default=None, validator=optional(_TEXT))
    confidence_before: float | None = field(default=None, converter=_finite, validator=_between(0, 1))
    confidence_after: float | None = field(default=None, converter=_finite, validator=_between(0, 1))
    queries: int = field(default=0, validator=_count)
    """Texts that the attack asked the victim about, cache hits included, as textattack counts."""
    words_changed: int = field(default=0, validator=_count)
    words_total: int = field(default=0, validator=_count)
    words_unseen: int | None = field(default=None, validator=optional(_count))
    """Of the words of the original those that the victim does not see; None where that is unknown."""
    words_tried: int | None = field(default=None, validator=optional(_count))
    """Words of the original for which the attack looked for candidates, before it succeeded or gave up; None where that is unknown,
    or it gave up before it looked for any."""
    words_replaceable: int | None = field(default=None, validator=optional(_count))
    """Of these the words for which it had a candidate: a neighbour, a synonym, a guess, an edit."""
    words_allowed: int | None = field(default=None, validator=optional(_count))
    """Of these the words with a candidate that the constraints of the attack let through."""
    truncated: bool = field(default=False, validator=instance_of(bool))
    """The victim sees only a part of the original."""
    similarity: float | None = field(default=None, converter=_finite, validator=_between(-1, 1))
    """Cosine of original and changed text by a sentence encoder, measured once all are attacked; of successes alone."""
    message: str = field(default="", validator=_TEXT)

    def __attrs_post_init__(self) -> None:
        """Check the numbers against each other."""
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
            raise ValueError("`perturbed` is empty, and the status `success`")

    def to_json(self) -> str:
        """Return one line, which can be written as UTF-8."""
        return json_line(attrs.asdict(self))
