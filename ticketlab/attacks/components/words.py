"""What a word of a text is: for attacks, for what they count, and for word vectors.

Texts in ASCII have the words that textattack gives them. Elsewhere a word is cut where Unicode has a boundary of words (UAX #29), which
textattack does not know: combining marks belong to the letter before them, and joiners and other format characters between two letters
to both. So words of vocalised Arabic or Hebrew, of Hindi, Thai, and of decomposed (NFD) texts stay whole. Scripts without spaces are one
word up to the next space or sign, but for Chinese, which jieba segments as in textattack.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator

_LOOK_ALIKES = "\u02d7\u0060\u00d7"  # no letters, but textattack counts them as look-alikes of some
_ASCII = re.compile(r"[\w`'*@-]+")
_NOT_AT_AN_END = "'-_*@"
_PLANES = (range(0x20000), range(0xE0000, 0xE1000))
"""Where marks and format characters are."""
_BREAK = "\u200b"
"""A format character that is there to separate words."""
_HAN = re.compile("[\u4e00-\u9fff]")
_BY_SCRIPT = re.compile("[\u4e00-\u9fff]+|[^\u4e00-\u9fff]+")
_JIEBAS = re.compile("[\u4e00-\u9fffA-Za-z0-9_-]+")
"""What jieba can take as a whole."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, in their order."""
    if text.isascii():
        return [word for run in _ASCII.findall(text) if (word := run.strip(_NOT_AT_AN_END))]
    found: list[str] = _word().findall(text)
    return list(_segmented(found)) if has_chinese(text) else found


def starts_of(words: Iterable[str], text: str, start: int = 0) -> Iterator[int]:
    """Yield where each of the words that :func:`words_of` found begins, from ``start`` on."""
    for word in words:
        start = text.index(word, start)
        yield start
        start += len(word)


def is_one_word(text: str) -> bool:
    """Say whether there is exactly one word in a text."""
    return len(words_of(text)) == 1


def has_chinese(text: str, start: int = 0, end: int | None = None) -> bool:
    """Say whether some of a text is segmented by a dictionary, so that its words depend on what is around them."""
    return _HAN.search(text, start, len(text) if end is None else end) is not None


@functools.cache
def _word() -> re.Pattern[str]:
    """Return the pattern of a word: from a letter or digit to the last one of its run, with the marks on that."""
    letter = rf"(?!_)[\w{_LOOK_ALIKES}]"
    marks, formats = _class_of("M"), _class_of("Cf")
    return re.compile(rf"{letter}(?:[\w{_LOOK_ALIKES}'*@{marks}{formats}-]*{letter})?(?:[{formats}]*[{marks}])*")


def _class_of(category: str) -> str:
    """Return the characters of a category, or of all that begin so, as the inside of a pattern's class."""
    numbers = [n for plane in _PLANES for n in plane if unicodedata.category(chr(n)).startswith(category) and chr(n) != _BREAK]
    runs = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ranges = [[number for _, number in run] for _, run in runs]
    return "".join(f"{chr(numbers[0])}-{chr(numbers[-1])}" for numbers in ranges)


def _segmented(words: Iterable[str]) -> Iterator[str]:
    """Yield words, those with Chinese in them cut as jieba does; it would take letters that are neither Chinese nor ASCII one by one."""
    for word in words:
        if not has_chinese(word):
            yield word
        elif _JIEBAS.fullmatch(word):
            yield from _cut(word)
        else:
            for part in _BY_SCRIPT.findall(word):
                yield from _cut(part) if has_chinese(part) else words_of(part)


def _cut(chinese: str) -> Iterator[str]:
    for part in importlib.import_module("jieba").cut(chinese):
        if word := part.strip(_NOT_AT_AN_END):
            yield word
