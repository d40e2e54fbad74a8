"""What a model sees of tokenised texts: how many were cut off, and how much of the rest it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from ticketlab.core.formatting import counted, percent
from ticketlab.training.unknown_characters import Characters

TRUNCATED = 0.05
"""Share of the examples from which on it is a warning that they are cut off."""
UNKNOWN = 0.02
"""Share of the tokens, or of the characters, from which on it is a warning that they are unknown."""
UNBOUNDED = 1 << 30
"""What tokenizers of models without a limit give as theirs is larger."""
UNSEEN = 0.01
"""Share of the examples from which on it is a warning that the model knows nothing in them."""


@frozen
class InputCoverage:
    """Counts over rows; special tokens are left out.

    ``truncated`` rows were cut, which left ``cut_tokens`` out; of the ``tokens`` that are left, ``unknown_tokens`` stand for what the
    vocabulary lacks. Of the ``characters`` of that text, white space aside, ``unknown_characters`` are in such tokens: there a sentence
    without spaces may be a single one. ``unseen`` rows have a text without any token that is known.
    """

    rows: int = 0
    truncated: int = 0
    cut_tokens: int = 0
    tokens: int = 0
    unknown_tokens: int = 0
    unseen: int = 0
    longest: int = 0
    """The most tokens that a row may have, special ones included."""
    most: int = 0
    """The most that the model takes; 0 where that is not known."""
    characters: int = 0
    unknown_characters: int = 0
    run_together: bool = False
    """Whether nothing stands between the two texts of a pair."""

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
        """Count over token ids with ``special`` special tokens a row, in a fraction of the time that tokenising took.

        ``parts`` says of each token which of the two texts of a pair it is of, None for special ones.
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
        """The share of the tokens that are unknown; None where there is no token."""
        return self.unknown_tokens / self.tokens if self.tokens else None

    @property
    def unknown_character_share(self) -> float | None:
        """The share of the characters that are in unknown tokens; None where there is no character, or no tokenizer that says where."""
        return self.unknown_characters / self.characters if self.characters else None

    @property
    def is_poor(self) -> bool:
        """Whether so much is not seen that numbers on these texts mean less than they seem to."""
        return (
            self.truncated > TRUNCATED * self.rows
            or self.unseen > UNSEEN * self.rows
            or self.run_together
            or max(self.unknown_share or 0, self.unknown_character_share or 0) > UNKNOWN
        )

    def facts(self) -> dict[str, Any]:
        """Return what results say, JSON values only."""
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
        """Say what sets the length at which rows are cut off: the model, or the user."""
        if self.longest == self.most:
            return "the most that the model takes"
        return f"--max-length; the model takes {self.most}" if self.most else "--max-length"

    def words(self) -> str:
        """Say in one line what the model does not see; empty where it sees everything."""
        parts = []
        if self.truncated:
            share, lost = percent(self.truncated / self.rows), percent(self.cut_tokens / (self.tokens + self.cut_tokens))
            cut = f"{self.truncated} of {counted(self.rows, 'example')} ({share}) cut off at {self.longest} tokens"
            parts.append(f"{cut} ({self.bound()}), which leaves out {lost} of the text")
        if self.unknown_tokens:
            letters = self.unknown_character_share
            of_text = "" if letters is None else f", with {percent(letters)} of the characters"
            parts.append(f"{percent(self.unknown_share or 0)} of the tokens are unknown to the model{of_text}")
        if self.unseen:
            parts.append(f"{counted(self.unseen, 'example')} of {self.rows} with nothing that the model knows")
        if self.run_together:
            parts.append("the tokenizer puts nothing between the two texts of a pair, so the model cannot tell where the first one ends")
        return "; ".join(parts)
