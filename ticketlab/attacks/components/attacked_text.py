"""A fast version of textattack's ``AttackedText``: the cost of a candidate is proportional to the change, not to the length of its text.

textattack makes new texts only through methods of existing ones, so an attack that starts from :func:`attacked_text` keeps this class.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ticketlab.attacks.components.words import has_chinese, starts_of, words_of
from ticketlab.resources.textattack_import import with_names

_BETWEEN_COLUMNS = "<SPLIT>"


def attacked_text(columns: Mapping[str, str]) -> Any:
    """Return the texts of an example, by column, as a ``textattack.shared.AttackedText``."""
    return _fast_class()(OrderedDict(columns))


@functools.cache
def _fast_class() -> Any:
    from textattack.shared import AttackedText

    return type("FastAttackedText", (FastAttackedText, AttackedText), {})


@functools.cache
def _textattack_change() -> Any:
    """Return textattack's own method that changes a text, using our words and our class."""
    from textattack.shared import AttackedText

    return with_names(AttackedText.generate_new_attacked_text, {"words_from_text": words_of, "AttackedText": _fast_class()})


class _Splice(NamedTuple):
    """A text as a change of a previous one, whose words ``first`` to ``last`` (exclusive) are replaced; offsets are in characters."""

    words_before: list[str]
    starts_before: list[int]
    first: int
    last: int
    words: list[str]
    starts: list[int]
    shift: int

    def all_words(self) -> list[str]:
        return self.words_before[: self.first] + self.words + self.words_before[self.last :]

    def all_starts(self) -> list[int]:
        return self.starts_before[: self.first] + self.starts + [start + self.shift for start in self.starts_before[self.last :]]

    def start(self, index: int) -> int:
        if index < self.first:
            return self.starts_before[index]
        if index < self.first + len(self.words):
            return self.starts[index - self.first]
        return self.starts_before[index - len(self.words) + self.last - self.first] + self.shift


class FastAttackedText:
    """Precedes textattack's ``AttackedText`` in the method resolution order, and overrides its slow methods.

    A text without insertions or deletions shares the array of original indices with the text that it was made from.
    """

    _text_input: OrderedDict[str, str]
    attack_attrs: dict[str, Any]
    _words: list[str] | None
    _words_per_input: list[list[str]] | None
    _pos_tags: Any
    _ner_tags: Any
    _text: str | None = None
    _starts: list[int] | None = None
    _is_plain: bool | None = None
    _change: tuple[FastAttackedText, int, int, list[str] | None] | None = None
    _splice: _Splice | None = None

    @property
    def text(self) -> str:
        """The columns, joined by line breaks."""
        if self._text is None:
            self._text = "\n".join(self._text_input.values())
        return self._text

    @property
    def words(self) -> list[str]:
        """The words of all columns."""
        if not self._words:
            splice = self._spliced()
            self._words = splice.all_words() if splice else words_of(self.text)
        return self._words

    @property
    def words_per_input(self) -> list[list[str]]:
        """The words of each column."""
        if not self._words_per_input:
            self._words_per_input = [words_of(text) for text in self._text_input.values()]
        return self._words_per_input

    def all_words_diff(self, other_attacked_text: Any) -> set[int]:
        """Return the indices at which the words differ, up to the end of the shorter text."""
        return set(itertools.compress(itertools.count(), map(operator.ne, self.words, other_attacked_text.words)))

    def _text_index_of_word_index(self, i: int) -> int:
        # lower-casing changes the length of one of these letters, and depends on the context for the other
        if not 0 <= i < len(self.words) or "İ" in self.text or "Σ" in self.text:
            return int(super()._text_index_of_word_index(i))  # type: ignore[misc]
        if self._splice and self._starts is None:
            return self._splice.start(i)
        if not self._plain():
            return int(super()._text_index_of_word_index(i))  # type: ignore[misc]
        return self._word_starts()[i]

    def replace_words_at_indices(self, indices: Sequence[int], new_words: Sequence[str]) -> Any:
        """Return a text in which these words are replaced.

        :raises ValueError: an index is negative or too large, or the numbers of words and indices differ.
        """
        if len(indices) != len(new_words):
            raise ValueError(f"{len(new_words)} words for {len(indices)} indices")
        changes: dict[int, str] = {}
        for index, word in zip(map(operator.index, indices), new_words, strict=True):
            if not isinstance(word, str):
                raise TypeError(f"a word is a str, not {type(word)}")
            if index < 0 or index > len(self.words):
                raise ValueError(f"there is no word {index}")
            self.words[index]
            changes[index] = word
        if self._plain():
            return self._changed({index: changes[index] for index in sorted(changes) if changes[index] != self.words[index]})
        return self._changed_by_textattack([changes.get(index, word) for index, word in enumerate(self.words)])

    def generate_new_attacked_text(self, new_words: Iterable[str]) -> Any:
        """Return a text with these words in place of the current ones; an empty one deletes, one with spaces inserts."""
        new_words = list(new_words)
        if self._plain():
            pairs = enumerate(zip(self.words, new_words, strict=False))
            return self._changed({index: new for index, (old, new) in pairs if old != new})
        return self._changed_by_textattack(new_words)

    def _changed_by_textattack(self, new_words: list[str]) -> Any:
        return _textattack_change()(self, new_words)

    def _changed(self, changes: Mapping[int, str]) -> Any:
        """Do as textattack does, but only at the words that change; ``changes`` are ordered by index."""
        joined = _BETWEEN_COLUMNS.join(self._text_input.values())
        attributes = {"label_names": self.attack_attrs["label_names"]} if "label_names" in self.attack_attrs else {}
        newly: set[int] = set()
        modified = self.attack_attrs["modified_indices"].copy()
        original = self.attack_attrs["original_index_map"]
        made, done, grown = "", 0, 0
        words: list[str] = []
        for index, new in changes.items():
            old = self.words[index]
            start = self._start_in_joined(index)
            made += joined[done:start]
            done = start + len(old)
            words = words_of(new)
            number = len(words)
            if number != 1:
                modified = {at if at < index else at + number - 1 for at in modified if at != index}
                original = _shifted(original, index, number - 1, stays=words[:1] == [old])
            places = range(index + grown, index + grown + number)
            modified.update(places)
            newly.update(places)
            grown += number - 1
            if not number and done < len(joined):
                if index == 0:
                    done += joined[done] == " "
                elif made[-1] == " ":
                    made = made[:-1]
            made += new
        made += joined[done:]
        texts = made.split(_BETWEEN_COLUMNS)
        text = self.__class__.__new__(self.__class__)
        text._text_input = OrderedDict(zip(self._text_input, texts, strict=False))
        text._words = text._words_per_input = text._pos_tags = text._ner_tags = None
        attributes |= {"newly_modified_indices": newly, "previous_attacked_text": self}
        text.attack_attrs = attributes | {"modified_indices": modified, "original_index_map": original}
        if changes and len(texts) == len(self._text_input):
            is_one_word = len(changes) == 1 and words == list(changes.values())
            text._change = (self, min(changes), max(changes) + 1, words if is_one_word else None)
        return text

    def _plain(self) -> bool:
        """Return whether textattack would find every word of this text at its true position when it replaces some."""
        if self._is_plain is None:
            columns = self._text_input.values()
            self._is_plain = (
                _BETWEEN_COLUMNS.join(columns).count(_BETWEEN_COLUMNS) == len(columns) - 1
                and not has_chinese(self.text)
                and (len(columns) < 3 or all(self.words_per_input[1:-1]))  # it skips one separator, but an empty column is between two
            )
        return self._is_plain

    def _word_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = self._splice.all_starts() if self._splice else list(starts_of(self.words, self.text))
        return self._starts

    def _start_in_joined(self, index: int) -> int:
        start = self._word_starts()[index]
        if len(self._text_input) == 1:
            return start
        columns = itertools.accumulate(len(text) + 1 for text in self._text_input.values())
        return start + (len(_BETWEEN_COLUMNS) - 1) * sum(begin <= start for begin in columns)

    def _spliced(self) -> _Splice | None:
        """Return this text as a change of the previous one, if its words can be derived from that."""
        if self._change is not None:
            self._splice = self._splice_of(*self._change)
            self._change = None
        return self._splice

    def _splice_of(self, before: FastAttackedText, first: int, last: int, changed: list[str] | None) -> _Splice | None:
        """Segment only the text between the words before and after the change, from which it is still separated."""
        words, starts = before.words, before._word_starts()
        shift = len(self.text) - len(before.text)
        if changed is not None and not has_chinese(changed[0]):
            return _Splice(words, starts, first, last, changed, [starts[first]], shift)
        left = starts[first - 1] + len(words[first - 1]) if first else 0
        right = starts[last] + shift if last < len(words) else len(self.text)
        if has_chinese(self.text, left, right):
            return None  # the segmentation of Chinese depends on the whole run
        changed = words_of(self.text[left:right])
        return _Splice(words, starts, first, last, changed, list(starts_of(changed, self.text, left)), shift)


def _shifted(original: Any, index: int, more: int, *, stays: bool) -> Any:
    """Return the positions of the original words after the word at ``index`` grew by ``more`` words, or was deleted (-1)."""
    shifted = np.where(original > index, original + more, original)
    if more < 0:
        shifted[original == index] = -1
    elif not stays:
        shifted[original == index] += more
    return shifted
