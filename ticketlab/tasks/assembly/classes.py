"""Checks that the values of a label column are classes: rejects some and warns about others, unless the labels are declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, verb
from ticketlab.tasks.reading.labels import MULTI_LABEL_ADVICE, parse_number, quote_some, sort_labels, spelling_key
from ticketlab.tasks.reading.split_values import split_of_value

FEW_CLASSES = 10
"""Up to this number of distinct labels, they are accepted as classes however few rows each has."""
MANY_NUMBERS = 100
"""More distinct numeric labels than this cause a warning, and are rejected with fewer than :data:`ROWS_PER_NUMBER` rows each."""
ROWS_PER_NUMBER = 20
LIST_SEPARATORS = {",": ",", ";": ";", "|": r"\|", "#": "#", "tab": "\t", "line": r"[\r\n]+", "fastText": r"\s+(?=__label__)"}
"""Separators, as patterns, that the name of a single label seldom contains."""
SEPARATORS = {**LIST_SEPARATORS, "/": "/", "&": "&", "+": r"\+", "and": r"\s+and\s+"}
SCORES = frozenset({"score", "similarity", "rating", "target", "stars"})
MAX_STARS = 5
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(\d{{1,4}}([-/.])\d{{1,2}}\2\d{{1,4}}|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? {_MONTH},? \d{{4}})([T ,]+\d.*)?", re.IGNORECASE
)
_LIST = re.compile(r"\[.*\]", re.DOTALL)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def check_labels(source: str, sizes: Mapping[str, int], declare: str = "--labels") -> None:
    """Reject labels that are not classes. ``sizes`` are the numbers of rows; ``declare`` is the setting that forces them to be accepted.

    :raises DataError: the labels are lists, objects, scores or dates, or nearly every row has a different one.
    """
    names = list(sizes)
    otherwise = f"if they are classes, declare them with {declare}"
    if names and all(_LIST.fullmatch(name) for name in names):
        raise DataError(f"{source}: the labels are lists, such as {quote_some(names, 2)}: {MULTI_LABEL_ADVICE}; {otherwise}")
    if names and all(_OBJECT.fullmatch(name) for name in names):
        raise DataError(
            f"{source}: the labels are JSON objects, such as {quote_some(names, 2)}; write only the label's value into the column, or "
            f"{otherwise}"
        )
    numbers = {name: value for name in names if (value := parse_number(name)) is not None}
    joined = joined_labels(names, sure=True)
    broken = [name for name, value in numbers.items() if (not value.is_integer() or name.endswith("%")) and name not in joined]
    if broken and (len(numbers) == len(names) or 2 * len(broken) > len(names)):
        raise DataError(
            f"{source}: the labels are scores, such as {quote_some(broken, 3)} ({len(names)} different values): a score is not a class, "
            f"and regression is not supported; {otherwise}, or write classes into the column"
        )
    if names and all(_DATE.fullmatch(name) for name in names):
        raise DataError(f"{source}: the labels are dates, such as {quote_some(names, 3)}; name the label column, or {otherwise}")
    whole = len(numbers) == len(names) > MANY_NUMBERS
    rows = sum(sizes.values())
    if (whole and rows < ROWS_PER_NUMBER * len(names)) or (len(names) > FEW_CLASSES and rows < 2 * len(names)):
        raise DataError(
            f"{source}: {counted(rows, 'row')} have {len(names)} different labels, such as {quote_some(names, 3)}: too many to be "
            f"classes; name the label column, or {otherwise}"
        )


def label_warnings(sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield warnings about labels that were not declared.

    They are about labels that combine others, different spellings of one label, numbers among names, names of splits, and too many labels
    for the number of rows.
    """
    names = list(sizes)
    if objects := [name for name in names if _OBJECT.fullmatch(name)]:
        yield (
            f"{quote_some(objects, 2)} among the labels is JSON and is treated as a class: write only the label's value into the column, "
            f"one per row; {MULTI_LABEL_ADVICE}"
        )
    if joined := joined_labels(names):
        combine = verb(len(joined), "combines", "combine")
        yield (
            f"{len(joined)} of {len(names)} labels {combine} others, such as {quote_some(joined, 3)}, and each is treated as a separate "
            f"class: {MULTI_LABEL_ADVICE}"
        )
    if are_bit_strings(names):
        yield (
            f"labels {quote_some(names, 3)} look like one digit for each of several labels, and each is treated as a separate class: "
            f"{MULTI_LABEL_ADVICE}"
        )
    for spellings in spelling_variants(names):
        yield (
            f"labels {quote_some(spellings)} look like spellings of one label and are treated as {len(spellings)} classes; if they mean "
            "the same, use one spelling"
        )
    numbered = [name for name in sort_labels(names) if parse_number(name) is not None]
    named = [name for name in sort_labels(names) if parse_number(name) is None]
    if len(numbered) == 1 and named:
        yield (
            f"label {quote_some(numbered)} ({counted(sizes[numbered[0]], 'row')}) is a number among names, such as "
            f"{quote_some(named, 4)}, and is treated as a class; if it stands for a name, write the name; if it is a total, remove the row"
        )
    elif min(len(numbered), len(named)) > 1:
        yield (
            f"labels {quote_some(numbered, 4)} are numbers and {quote_some(named, 4)} are names, and each is treated as a class; if the "
            "numbers stand for names, write the names"
        )
    if len(names) > 1 and all(map(split_of_value, names)):
        yield f"the labels {quote_some(names)} are names of splits: is this the label column?"
    rows = sum(sizes.values())
    numbers = len(names) > MANY_NUMBERS and all(parse_number(name) is not None for name in names)
    if numbers or (len(names) > 2 * FEW_CLASSES and rows < 10 * len(names)):
        yield f"{len(names)} different labels are treated as classes, with {rows / len(names):.1f} rows each: are they scores or ids?"


def missing_class_warnings(sizes: Mapping[str, Mapping[str, int]], evaluated: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each split without examples of some class; ``sizes`` are the examples of each class by split."""
    for split in evaluated:
        without = [name for name, own in sizes.items() if not own.get(split, 0)]
        if without:
            shown = ", ".join(f"{quote_some([name])} ({counted(sum(sizes[name].values()), 'row')} in all)" for name in without[:6])
            more = f" and {len(without) - 6} more" if len(without) > 6 else ""
            these = "this class" if len(without) == 1 else "these classes"
            consequence = f"no model can learn {these}" if split == "train" else f"its metrics say nothing about {these}"
            yield f"{split} has no examples of {shown}{more}: {consequence}"


def joined_labels(names: Collection[str], *, sure: bool = False) -> list[str]:
    """Return the names that join other labels, such as ``a,b`` next to ``a`` and ``b``.

    A separator joins labels if all parts of some name are themselves names. For a separator that seldom occurs in a single name
    (:data:`LIST_SEPARATORS`) one such name is enough. For others, such as ``and``, it is not if the parts and the name are the only labels:
    in ``yes``, ``no`` and ``yes/no`` the last is a class between the two. Then the names that share a part with another name are joined.
    Otherwise names are joined if at least half of all names consist of parts that occur in others.

    If ``sure``, only :data:`LIST_SEPARATORS` are considered, and only names all of whose parts occur in other names.
    """
    names_with = _names_by_part(names)
    joined: set[str] = set()
    for separator in SEPARATORS:
        parts = _split_names(names, separator)
        made_of_names = {name for name, own in parts.items() if all(part in names for part in own)}
        all_shared = {name for name, own in parts.items() if all(len(names_with[part]) > 1 for part in own)}
        any_shared = {name for name, own in parts.items() if any(len(names_with[part]) > 1 for part in own)}
        if made_of_names and separator in LIST_SEPARATORS:
            joined |= all_shared if sure else any_shared
        elif sure:
            continue
        elif made_of_names and not _is_class_between(made_of_names, parts, names):
            joined |= any_shared
        elif len(all_shared) >= max(2, len(names) / 2):
            joined |= all_shared
    return [name for name in names if name in joined]


def _names_by_part(names: Collection[str]) -> dict[str, set[str]]:
    """Return, for each name and each part of a name by any separator, the names that equal or contain it."""
    found: dict[str, set[str]] = {name: {name} for name in names}
    for separator in SEPARATORS:
        for name, parts in _split_names(names, separator).items():
            for part in parts:
                found.setdefault(part, set()).add(name)
    return found


def _is_class_between(made_of_names: Collection[str], parts: Mapping[str, Sequence[str]], names: Collection[str]) -> bool:
    """Return whether the labels are exactly one joined label and its parts, as with ``yes``, ``no`` and ``yes/no``."""
    return len(made_of_names) == 1 and all({name, *parts[name]} == set(names) for name in made_of_names)


def _split_names(names: Collection[str], separator: str) -> dict[str, list[str]]:
    """Return the parts of each name that the separator splits into non-empty parts."""
    parts = {name: [part.strip() for part in re.split(SEPARATORS[separator], name)] for name in names}
    return {name: own for name, own in parts.items() if len(own) > 1 and all(own)}


def are_bit_strings(names: Collection[str]) -> bool:
    """Return whether the names are strings of zeros and ones of equal length, as with one digit for each of several labels."""
    return len(names) > 2 and len(set(map(len, names))) == 1 and all(re.fullmatch("[01]{2,}", name) for name in names)


def score_notices(column: str, names: Collection[str]) -> Iterator[str]:
    """Yield a notice if the classes are whole numbers up to :data:`MAX_STARS` in a column with a typical name for scores."""
    values = [parse_number(name) for name in names]
    whole = all(value is not None and value.is_integer() and 0 <= value <= MAX_STARS for value in values)
    if column.casefold() in SCORES and len(names) > 2 and whole:
        yield (
            f"the values of {quote_some([column])} are treated as {len(names)} classes; predicting a score as a number needs "
            "regression, which is not supported"
        )


def spelling_variants(names: Collection[str]) -> list[list[str]]:
    """Return the groups of names that differ only in case, white space, Unicode form, hyphens, closing punctuation or number format."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(spelling_key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
