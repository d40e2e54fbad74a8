"""Input coverage: how much of the texts a model sees, after truncation and without unknown tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import counted, percent
from ticketlab.training.unknown_characters import Characters

TRUNCATED = 0.05
"""A warning is printed if more than this fraction of the examples is truncated."""
UNKNOWN = 0.02
"""A warning is printed if more than this fraction of the tokens, or of the characters, is unknown."""
UNBOUNDED = 1 << 30
"""A maximum length of at least this means that the tokenizer's model has no limit."""
UNSEEN = 0.01
"""A warning is printed if more than this fraction of the examples has a text without any known token."""


@frozen
class InputCoverage:
    """Counts over rows, without special tokens.

    - ``truncated``: rows that were cut off, by ``cut_tokens`` tokens in total.
    - ``tokens``: tokens after truncation; ``unknown_tokens`` of them are the tokenizer's unknown token.
    - ``characters``: characters after truncation, without white space; ``unknown_characters`` of them are in unknown tokens. In a script
      without spaces, a whole sentence may be one unknown token.
    - ``unseen``: rows that have a text without any known token.
    """

    rows: int = 0
    truncated: int = 0
    cut_tokens: int = 0
    tokens: int = 0
    unknown_tokens: int = 0
    unseen: int = 0
    longest: int = 0
    """The maximum length of a row in tokens, including special tokens."""
    most: int = 0
    """The maximum length that the model accepts; 0 if it is not known."""
    characters: int = 0
    unknown_characters: int = 0
    run_together: bool = False
    """Whether there is no separator between the two texts of a pair."""

    @classmethod
    def of(
        cls,
        ids: Sequence[Sequence[int]],
        *,
        special: int,
        unknown: int | None,
        parts: Sequence[Sequence[int | None]] | None = None,
        truncated: int = 0,
        cut_tokens: int = 0,
        longest: int = 0,
        most: int = 0,
        characters: Characters | None = None,
        run_together: bool = False,
    ) -> InputCoverage:
        """Count over token ids with ``special`` special tokens per row. This takes a fraction of the time of tokenising.

        ``parts`` has, for each token, the index of its text in the pair; None for special tokens.
        """
        unknowns = [0 if unknown is None else list(row).count(unknown) for row in ids]
        if parts is None:
            unseen = sum(len(row) - special <= lost for row, lost in zip(ids, unknowns, strict=True))
        else:
            known = (
                {part for token, part in zip(row, places, strict=True) if token != unknown} for row, places in zip(ids, parts, strict=True)
            )
            unseen = sum(not {0, 1} <= texts for texts in known)
        tokens = sum(map(len, ids)) - special * len(ids)
        return cls(
            rows=len(ids),
            truncated=truncated,
            cut_tokens=cut_tokens,
            tokens=tokens,
            unknown_tokens=sum(unknowns),
            unseen=unseen,
            longest=longest,
            most=most if most < UNBOUNDED else 0,
            characters=characters.seen if characters else 0,
            unknown_characters=characters.unknown if characters else 0,
            run_together=run_together,
        )

    @property
    def unknown_share(self) -> float | None:
        """The fraction of unknown tokens; None if there are no tokens."""
        return self.unknown_tokens / self.tokens if self.tokens else None

    @property
    def unknown_character_share(self) -> float | None:
        """The fraction of characters in unknown tokens; None if there are none, or if the tokenizer does not report positions."""
        return self.unknown_characters / self.characters if self.characters else None

    @property
    def is_poor(self) -> bool:
        """Whether so much of the texts is not seen that results on them may be misleading."""
        return (
            self.truncated > TRUNCATED * self.rows
            or self.unseen > UNSEEN * self.rows
            or self.run_together
            or max(self.unknown_share or 0, self.unknown_character_share or 0) > UNKNOWN
        )

    def facts(self) -> dict[str, Any]:
        """Return the entries of the result, as JSON values."""
        return {
            "truncated": self.truncated,
            "cut_tokens": self.cut_tokens,
            "tokens": self.tokens,
            "unknown_tokens": self.unknown_tokens,
            "unknown_share": self.unknown_share,
            "characters": self.characters,
            "unknown_characters": self.unknown_characters,
            "unknown_character_share": self.unknown_character_share,
            "unseen": self.unseen,
        }

    def bound(self) -> str:
        """Return what sets the maximum length, as text: the model or the user."""
        if self.longest == self.most:
            return "the model's maximum"
        return f"--max-length; the model's maximum is {self.most}" if self.most else "--max-length"

    def summary(self) -> str:
        """Return one line about what the model does not see; empty if it sees everything."""
        parts = []
        if self.truncated:
            share, lost = percent(self.truncated / self.rows), percent(self.cut_tokens / (self.tokens + self.cut_tokens))
            cut = f"{self.truncated} of {counted(self.rows, 'example')} ({share}) cut off at {self.longest} tokens"
            parts.append(f"{cut} ({self.bound()}), which drops {lost} of the text")
        if self.unknown_tokens:
            letters = self.unknown_character_share
            of_text = "" if letters is None else f", with {percent(letters)} of the characters"
            parts.append(f"{percent(self.unknown_share or 0)} of the tokens are unknown to the model{of_text}")
        if self.unseen:
            parts.append(f"{counted(self.unseen, 'example')} of {self.rows} without any known token")
        if self.run_together:
            parts.append("the tokenizer puts no separator between the two texts of a pair, so the model cannot tell where the first ends")
        return "; ".join(parts)
