"""Tokenizes texts segment by segment and remembers the tokens of each, since the texts of an attack differ in a few words.

A segment is mostly a word with its punctuation marks: what is between two boundaries of :mod:`ticketlab.inference.local_tokenizers`, which
says why the tokens of a text are those of its segments.
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ticketlab.inference.local_tokenizers import BOUNDARY, added_tokens, is_local, is_of_transformers, normalized_by
from ticketlab.inference.token_frame import TokenFrame

Segment = str | tuple[str, ...]
"""A segment, or adjacent ones that are tokenized together."""
_BEFORE = "a"
"""A segment before others, which depend on whether there is one."""
_MOST = 1 << 17
"""The number of segments to remember: some 20 MB."""


def segments_of(tokenizer: Any) -> Segments | None:
    """Return the segments of a tokenizer that all its users share; None if it is not local, so that texts are tokenized as a whole."""
    if not is_of_transformers(tokenizer):
        return None
    known = _known.get(tokenizer)
    if known is None or known[0] != _facts(tokenizer):
        local = is_local(tokenizer) and tokenizer.truncation_side == "right" and not added_tokens(tokenizer) & {_BEFORE}
        known = _known[tokenizer] = _facts(tokenizer), Segments(weakref.proxy(tokenizer)) if local else None
    return known[1]


_known: weakref.WeakKeyDictionary[Any, tuple[Any, Segments | None]] = weakref.WeakKeyDictionary()


def _facts(tokenizer: Any) -> Any:
    """Return what users of a tokenizer may change about it."""
    added = len(tokenizer.backend_tokenizer.get_added_tokens_decoder())
    return added, tokenizer.truncation_side, tuple(tokenizer.model_input_names)


class Segments:
    """The tokens of the segments of texts seen so far, of a local tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._normalized = normalized_by(tokenizer)
        self._added = re.compile("|".join(map(re.escape, sorted(added_tokens(tokenizer)))) or "(?!)")
        self._frames: dict[int, TokenFrame | None] = {}
        self._first: dict[Segment, Sequence[int]] = {}  # at the beginning of a text
        self._inner: dict[Segment, Sequence[int]] = {}
        self._joined: set[str] = set()
        self._context = len(self._encoded([_BEFORE])[0])

    def rows(self, texts: Sequence[tuple[str, ...]], max_length: int) -> list[dict[str, list[int]]] | None:
        """Return the inputs of each text (or pair), truncated and not padded; None if the tokenizer adds tokens in no known way."""
        columns = len(texts[0])
        if columns not in self._frames:
            self._frames[columns] = TokenFrame.find(self._tokenizer, self.ids, columns)
        frame = self._frames[columns]
        if frame is None or frame.added >= max_length:
            return None
        room = max_length - frame.added
        ids = [self.ids(column, room if columns == 1 else None) for column in zip(*texts, strict=True)]
        return [frame.row(of_text, room) for of_text in zip(*ids, strict=True)]

    def ids(self, texts: Sequence[str], limit: int | None = None) -> list[list[int]]:
        """Return the tokens of each text, without special tokens; only some of those after the first ``limit`` ones."""
        if len(self._first) + len(self._inner) > _MOST:
            for known in (self._first, self._inner, self._joined):
                known.clear()
        divided: list[Sequence[Segment]] = [_divided(text, limit) for text in texts]
        ids = [self._known_ids(segments) for segments in divided]
        if unknown := [index for index, known in enumerate(ids) if known is None]:
            self._learn(divided[index] for index in unknown)
            joined = [self._with_joined(divided[index]) for index in unknown]
            self._learn(joined)
            for index, segments in zip(unknown, joined, strict=True):
                ids[index] = self._known_ids(segments)
        return [
            self.ids([text])[0] if len(segments) == limit and self._is_short(segments[-1], known or [], limit) else known or []
            for text, segments, known in zip(texts, divided, ids, strict=True)
        ]

    def _is_short(self, last: Segment, ids: Sequence[int], limit: int) -> bool:
        """Return whether the first ``limit`` segments of a text are too few: a segment has no tokens, or the last needs the next."""
        return len(ids) < limit or last in self._joined

    def _known_ids(self, segments: Sequence[Segment]) -> list[int] | None:
        """Return the tokens of a text; None if those of a segment are not known."""
        try:
            inner = map(self._inner.__getitem__, itertools.islice(segments, 1, None))
            return [*self._first[segments[0]], *itertools.chain.from_iterable(inner)]
        except KeyError:
            return None

    def _learn(self, divided: Iterable[Sequence[Segment]]) -> None:
        first: dict[Segment, str] = {}
        inner: dict[Segment, str] = {}
        for segments in divided:
            for place, known, missing in ((slice(1), self._first, first), (slice(1, None), self._inner, inner)):
                for segment in {*segments[place]}.difference(known, self._joined, missing):
                    text = segment if isinstance(segment, str) else " ".join(segment)
                    if isinstance(segment, str) and self._has_added_token(segment):
                        self._joined.add(segment)
                    else:
                        missing[segment] = text
        self._first.update(zip(first, self._encoded(first.values()), strict=True))
        ids = self._encoded(f"{_BEFORE} {text}" for text in inner.values())
        self._inner.update(zip(inner, (tokens[self._context :] for tokens in ids), strict=True))

    def _has_added_token(self, text: str) -> bool:
        return bool(self._added.search(text) or self._added.search(self._normalized(text)))

    def _with_joined(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """Join each segment that has an added token with its neighbours, whose white space the token may strip."""
        places = [place for place, segment in enumerate(segments) if segment in self._joined]
        result: list[Segment] = []
        done = 0
        while places:
            start, end = max(done, places[0] - 1), places[0] + 2
            while places and places[0] <= end:
                end = places.pop(0) + 2
            result += segments[done:start]
            result.append(tuple(map(str, segments[start:end])))
            done = end
        return [*result, *segments[done:]]

    def _encoded(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the tokens of each text, tokenized as a whole."""
        texts = list(texts)
        if not texts:
            return []
        settings = {"add_special_tokens": False, "return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
        return list(self._tokenizer(texts, **settings)["input_ids"])


def _divided(text: str, limit: int | None) -> Sequence[str]:
    """Return the segments of a text, or the first ``limit`` ones."""
    return BOUNDARY.split(text) if limit is None else BOUNDARY.split(text, limit)[:limit]
