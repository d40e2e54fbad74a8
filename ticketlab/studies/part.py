"""One part of a study, as ``--part`` names it."""

from __future__ import annotations

import re

from attrs import frozen

from ticketlab.core.errors import UsageError

MAX_PARTS = 10_000


@frozen
class Part:
    """One part of a study: ``number`` of ``of``, counted from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return the part that a text such as ``3/10`` names.

        :raises UsageError: the text is not of this form, or the number is not between 1 and the number of parts.
        """
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip(), re.ASCII)
        if match is None:
            raise UsageError(f"--part {text}: give the number of the part and of all parts, such as 3/10")
        number, of = map(int, match.groups())
        if not 1 <= of <= MAX_PARTS:
            raise UsageError(f"--part {text}: a study is divided into 1 to {MAX_PARTS:,} parts")
        if not 1 <= number <= of:
            counted_from_0 = "; if your array counts from 0, add 1" if number == 0 else ""
            raise UsageError(f"--part {text}: the parts are 1/{of} to {of}/{of}{counted_from_0}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
