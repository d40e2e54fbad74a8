"""Makes a model's inputs from tokens: adds special tokens, segments of a pair and the attention mask, and truncates as tokenizers does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

_IDS = "input_ids"
_EXAMPLES = (("a b c", "d e"), ("a", "b c d e f"), ("a b c d e f g", "b"))


@frozen
class TokenFrame:
    """What a tokenizer puts around the tokens of a text, or of the texts of a pair."""

    parts: Sequence[tuple[int | None, Mapping[str, list[int]]]]
    """In order: the inputs of special tokens, or the number of a text with the inputs of each of its tokens."""
    added: int
    """The number of special tokens."""

    @classmethod
    def find(cls, tokenizer: Any, ids: Callable[[Sequence[str]], Sequence[list[int]]], columns: int) -> TokenFrame | None:
        """Return the frame of a fast tokenizer for a text or a pair, whose tokens are ``ids``; None if some examples have no common one."""
        frame = None
        for example in _EXAMPLES:
            encoded = tokenizer(*([text] for text in example[:columns]))
            inputs = {name: list(encoded[name][0]) for name in encoded}
            frame = frame or cls._of(inputs, encoded.sequence_ids(0), columns)
            if frame is None or list(frame.row(ids(example[:columns]), None).items()) != list(inputs.items()):
                return None
        return frame

    @classmethod
    def _of(cls, inputs: Mapping[str, list[int]], columns: Sequence[int | None], number: int) -> TokenFrame | None:
        parts, start = [], 0
        for column, run in itertools.groupby(columns):
            end = start + len(list(run))
            values = {name: of_name[start : end if column is None else start + 1] for name, of_name in inputs.items()}
            parts.append((column, values))
            start = end
        if [column for column, _ in parts if column is not None] != list(range(number)):
            return None
        return cls(parts, sum(column is None for column in columns))

    def row(self, ids: Sequence[list[int]], room: int | None) -> dict[str, list[int]]:
        """Return the inputs for the texts with these tokens, of which ``room`` are kept in total; None: all."""
        kept = ids if room is None else [of_text[:size] for of_text, size in zip(ids, _sizes(list(map(len, ids)), room), strict=True)]
        row: dict[str, list[int]] = {name: [] for name in self.parts[0][1]}
        for column, values in self.parts:
            for name, of_name in values.items():
                if column is None:
                    row[name] += of_name
                else:
                    row[name] += kept[column] if name == _IDS else of_name * len(kept[column])
        return row


def _sizes(lengths: Sequence[int], room: int) -> Sequence[int]:
    """Return how many tokens of each text are kept: the longer of a pair is truncated first, then both to half of the room."""
    if sum(lengths) <= room or len(lengths) == 1:
        return [min(length, room) for length in lengths]
    shorter, longer = sorted(lengths)
    longer = shorter if shorter > room else max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room // 2 + room % 2
    return (longer, shorter) if lengths[0] > lengths[1] else (shorter, longer)
