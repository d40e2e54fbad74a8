"""Whether the values of a label column are classes: what is refused, and what is doubtful, unless the labels are declared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted, verb
from ticketlab.tasks.reading.labels import MULTI_LABEL, number, ordered, some, spelling
from ticketlab.tasks.reading.split_values import split_of

FEW_CLASSES = 10
"""So many classes are taken for classes however few rows each has."""
MANY_NUMBERS = 100
"""More different numbers than these are doubted, and amounts rather than classes if they have fewer than :data:`ENOUGH` rows each."""
ENOUGH = 20
LISTING = {",": ",", ";": ";", "|": r"\|", "#": "#", "tab": "\t", "line": r"[\r\n]+", "fastText": r"\s+(?=__label__)"}
"""Separators that a single name seldom contains, as patterns."""
SEPARATORS = {**LISTING, "/": "/", "&": "&", "+": r"\+", "and": r"\s+and\s+"}
SCORES = frozenset({"score", "similarity", "rating", "target", "stars"})
MOST_STARS = 5
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"(\d{{1,4}}([-/.])\d{{1,2}}\2\d{{1,4}}|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.? {_MONTH},? \d{{4}})([T ,]+\d.*)?", re.IGNORECASE
)
_LIST = re.compile(r"\[.*\]", re.DOTALL)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def check(source: str, sizes: Mapping[str, int], declare: str = "--labels") -> None:
    """Refuse labels that are no classes; ``sizes`` are the rows of each, and ``declare`` is what declares them nevertheless.

    :raises DataError: they are lists, objects, scores or dates, or nearly every row has one of its own.
    """
    names = list(sizes)
    otherwise = f"if they are classes, declare them with {declare}"
    if names and all(_LIST.fullmatch(name) for name in names):
        raise DataError(f"{source}: the labels are lists, such as {some(names, 2)}: {MULTI_LABEL}; {otherwise}")
    if names and all(_OBJECT.fullmatch(name) for name in names):
        raise DataError(
            f"{source}: the labels are JSON objects, such as {some(names, 2)}; write the value that is the label into the column, or "
            f"{otherwise}"
        )
    numbers = {name: value for name in names if (value := number(name)) is not None}
    joined = joins(names, sure=True)
    broken = [name for name, value in numbers.items() if (not value.is_integer() or name.endswith("%")) and name not in joined]
    if broken and (len(numbers) == len(names) or 2 * len(broken) > len(names)):
        raise DataError(
            f"{source}: the labels are scores, such as {some(broken, 3)} ({len(names)} different ones): a score is not a class, and "
            f"there is no regression here; {otherwise}, or write classes into the column"
        )
    if names and all(_DATE.fullmatch(name) for name in names):
        raise DataError(f"{source}: the labels are dates, such as {some(names, 3)}; name the column of the label, or {otherwise}")
    whole = len(numbers) == len(names) > MANY_NUMBERS
    rows = sum(sizes.values())
    if (whole and rows < ENOUGH * len(names)) or (len(names) > FEW_CLASSES and rows < 2 * len(names)):
        raise DataError(
            f"{source}: {counted(rows, 'row')} have {len(names)} different labels, such as {some(names, 3)}: too many to be classes; name "
            f"the column of the label, or {otherwise}"
        )


def doubts(sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield warnings about labels that were not declared.

    These are joins of others, other spellings of one, numbers beside names, names of splits, and more labels than the rows can teach.
    """
    names = list(sizes)
    if objects := [name for name in names if _OBJECT.fullmatch(name)]:
        yield (
            f"{some(objects, 2)} among the labels is JSON, and a class of its own here: write the value that is the label into the column, "
            f"one a row; {MULTI_LABEL}"
        )
    if joined := joins(names):
        are = verb(len(joined), "is a join", "are joins")
        yield (
            f"{len(joined)} of {len(names)} labels {are} of others, such as {some(joined, 3)}, and each is a class of its own here: "
            f"{MULTI_LABEL}"
        )
    if are_bits(names):
        yield f"labels {some(names, 3)} look like a digit for each of several labels, and each is a class of its own here: {MULTI_LABEL}"
    for spellings in variants(names):
        yield (
            f"labels {some(spellings)} look like one label written differently, and are {len(spellings)} classes here; if they are one, "
            "write it in one way"
        )
    numbered = [name for name in ordered(names) if number(name) is not None]
    named = [name for name in ordered(names) if number(name) is None]
    if len(numbered) == 1 and named:
        yield (
            f"label {some(numbered)} ({counted(sizes[numbered[0]], 'row')}) is a number beside {some(named, 4)}, and a class; if it means "
            "a name, write that, and if it counts rows, as a row of totals does, leave it out"
        )
    elif min(len(numbered), len(named)) > 1:
        yield f"labels {some(numbered, 4)} are numbers, {some(named, 4)} names, and each is a class; if numbers mean names, write these"
    if len(names) > 1 and all(map(split_of, names)):
        yield f"the labels {some(names)} are names of splits: is this the column of the label?"
    rows = sum(sizes.values())
    numbers = len(names) > MANY_NUMBERS and all(number(name) is not None for name in names)
    if numbers or (len(names) > 2 * FEW_CLASSES and rows < 10 * len(names)):
        yield f"{len(names)} different labels are as many classes, of {rows / len(names):.1f} rows on average: are they scores or ids?"


def small(sizes: Mapping[str, Mapping[str, int]], evaluated: Sequence[str]) -> Iterator[str]:
    """Yield the classes of which a split has no example; ``sizes`` are those of each class by split."""
    for split in evaluated:
        without = [name for name, own in sizes.items() if not own.get(split, 0)]
        if without:
            shown = ", ".join(f"{some([name])} ({counted(sum(sizes[name].values()), 'row')} in all)" for name in without[:6])
            more = f" and {len(without) - 6} more" if len(without) > 6 else ""
            these = "this class" if len(without) == 1 else "these classes"
            consequence = f"no model learns {these}" if split == "train" else f"its numbers say nothing about {these}"
            yield f"{split} has no example of {shown}{more}: {consequence}"


def joins(names: Collection[str], *, sure: bool = False) -> list[str]:
    """Return the names made of others, as ``a,b`` is beside ``a`` and ``b``; nothing where that can be by chance.

    One whose parts are all names of their own shows that names are joined. Where its separator does not make lists (``a and b``), a second
    one, or a third name, is needed: ``yes/no`` beside ``yes`` and ``no`` is a class between them. Then each name counts that shares a part
    with another; if ``sure``, only where a separator makes lists, and all its parts come in others. Without it names count, unless
    ``sure``, where half of them have parts that all come in others.
    """
    divided = {separator: _divided(names, separator) for separator in SEPARATORS}
    where: dict[str, set[str]] = {name: {name} for name in names}
    for parts in divided.values():
        for name, own in parts.items():
            for part in own:
                where.setdefault(part, set()).add(name)
    listed: set[str] = set()
    loose: set[str] = set()
    for separator, parts in divided.items():
        whole = {name for name, own in parts.items() if all(part in names for part in own)}
        shared = {name for name, own in parts.items() if (all if sure else any)(len(where[part]) > 1 for part in own)}
        if separator in LISTING and whole:
            listed |= shared
        elif not sure:
            between = len(whole) == 1 and all(set(parts[name]) | {name} == set(names) for name in whole)
            every = {name for name in shared if all(len(where[part]) > 1 for part in parts[name])}
            loose |= shared if whole and not between else every if len(every) >= max(2, len(names) / 2) else set()
    return [name for name in names if name in listed or name in loose]


def _divided(names: Collection[str], separator: str) -> dict[str, list[str]]:
    """Return the parts of each name that a separator divides, none of them empty."""
    parts = {name: [part.strip() for part in re.split(SEPARATORS[separator], name)] for name in names}
    return {name: own for name, own in parts.items() if len(own) > 1 and all(own)}


def are_bits(names: Collection[str]) -> bool:
    """Say whether names are strings of zeros and ones of one length, as a digit for each of several labels gives."""
    return len(names) > 2 and len(set(map(len, names))) == 1 and all(re.fullmatch("[01]{2,}", name) for name in names)


def regression(column: str, names: Collection[str]) -> Iterator[str]:
    """Yield a notice where the classes are whole numbers of up to :data:`MOST_STARS` in a column that is called as scores are."""
    values = [number(name) for name in names]
    whole = all(value is not None and value.is_integer() and 0 <= value <= MOST_STARS for value in values)
    if column.casefold() in SCORES and len(names) > 2 and whole:
        yield (
            f"the values of {some([column])} are taken for {len(names)} classes; a score that is to be predicted as a number needs a "
            "regression, which is not supported"
        )


def variants(names: Collection[str]) -> list[list[str]]:
    """Return the groups of names that differ only in case, white space, Unicode form, hyphens, closing punctuation or way of a number."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(spelling(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]
