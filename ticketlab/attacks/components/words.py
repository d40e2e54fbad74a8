"""Splits texts into words: for attacks, their counts, and word vectors.

ASCII texts have the same words as in textattack. Other texts are split at Unicode word boundaries (UAX #29), which textattack does not
support: combining marks belong to the letter before them, and joiners and other format characters between two letters belong to the word.
So words of vocalised Arabic or Hebrew, Hindi, Thai and decomposed (NFD) texts stay whole. In scripts without spaces a word extends to the
next space or punctuation mark, except for Chinese, which jieba segments as in textattack.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator

_LOOK_ALIKES = "\u02d7\u0060\u00d7"  # not letters, but textattack uses them as homoglyphs
_ASCII = re.compile(r"[\w`'*@-]+")
_NOT_AT_AN_END = "'-_*@"
_PLANES = (range(0x20000), range(0xE0000, 0xE1000))
"""The planes of Unicode with marks and format characters."""
_BREAK = "\u200b"
"""The format character that separates words."""
_HAN = re.compile("[\u4e00-\u9fff]")
_BY_SCRIPT = re.compile("[\u4e00-\u9fff]+|[^\u4e00-\u9fff]+")
_FOR_JIEBA = re.compile("[\u4e00-\u9fffA-Za-z0-9_-]+")
"""A run that jieba segments correctly as a whole."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order."""
    if text.isascii():
        return [word for run in _ASCII.findall(text) if (word := run.strip(_NOT_AT_AN_END))]
    words: list[str] = _word().findall(text)
    return list(_segmented(words)) if has_chinese(text) else words


def starts_of(words: Iterable[str], text: str, start: int = 0) -> Iterator[int]:
    """Yield the offset of each word that :func:`words_of` found, searching from ``start``."""
    for word in words:
        start = text.index(word, start)
        yield start
        start += len(word)


def is_one_word(text: str) -> bool:
    """Return whether a text is exactly one word."""
    return len(words_of(text)) == 1


def has_chinese(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether a part of a text is segmented with a dictionary, so that its words depend on their context."""
    return _HAN.search(text, start, len(text) if end is None else end) is not None


@functools.cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word: from the first letter or digit of a run to the last one, with its combining marks."""
    letter = rf"(?!_)[\w{_LOOK_ALIKES}]"
    marks, formats = _class_of("M"), _class_of("Cf")
    return re.compile(rf"{letter}(?:[\w{_LOOK_ALIKES}'*@{marks}{formats}-]*{letter})?(?:[{formats}]*[{marks}])*")


def _class_of(category: str) -> str:
    """Return the characters of the Unicode categories with this prefix, as the inside of a regular expression's class."""
    numbers = [n for plane in _PLANES for n in plane if unicodedata.category(chr(n)).startswith(category) and chr(n) != _BREAK]
    runs = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ranges = [[number for _, number in run] for _, run in runs]
    return "".join(f"{chr(numbers[0])}-{chr(numbers[-1])}" for numbers in ranges)


def _segmented(words: Iterable[str]) -> Iterator[str]:
    """Yield words, segmenting Chinese with jieba, which would split letters that are neither Chinese nor ASCII one by one."""
    for word in words:
        if not has_chinese(word):
            yield word
        elif _FOR_JIEBA.fullmatch(word):
            yield from _cut(word)
        else:
            for part in _BY_SCRIPT.findall(word):
                yield from _cut(part) if has_chinese(part) else words_of(part)


def _cut(chinese: str) -> Iterator[str]:
    for part in importlib.import_module("jieba").cut(chinese):
        if word := part.strip(_NOT_AT_AN_END):
            yield word
