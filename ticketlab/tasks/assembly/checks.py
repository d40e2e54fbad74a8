"""Checks what the author of a task returned: types and values of every field, of every split and of every example."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from ticketlab.core import registry
from ticketlab.core.errors import DataError, did_you_mean
from ticketlab.core.formatting import counted
from ticketlab.tasks import metrics
from ticketlab.tasks.base import Example, SplitWarning, TaskData
from ticketlab.tasks.reading.labels import check_positive_label, quote_some

SPLITS = ("train", "dev", "test")
OTHER_NAMES = {"validation": "dev"}
"""Further names that an author may give to splits."""
MAX_COLUMNS = 2
NAMES = ("columns", "label_names", "subsets", "measures", "notices", "warnings")
"""Fields of :class:`TaskData` that are tuples of strings."""


def checked(source: str, loaded: object) -> TaskData:
    """Return a task as :meth:`Task.load` returned it, with tuples for lists and iterators, after checking all of its content.

    ``source`` names the task in messages. Splits may be missing.

    :raises DataError: something has the wrong type or value; the message names the split and the example.
    """
    if not isinstance(loaded, TaskData):
        raise DataError(f"{source}: `load` must return a TaskData, not {_kind(loaded)}")
    names: dict[str, Any] = {field: _names(source, field, getattr(loaded, field)) for field in NAMES}
    for field, least in (("columns", 1), ("label_names", 1), ("subsets", 0)):
        _check_distinct(source, field, names[field], least)
    if len(names["columns"]) > MAX_COLUMNS:
        raise DataError(f"{source}: columns are {quote_some(names['columns'])}, but a model reads one text or a pair of texts")
    for field in ("dropped", "counts"):
        _check_counts(source, field, getattr(loaded, field))
    for warning in (split_warnings := _sequence(source, "split_warnings", loaded.split_warnings)):
        if not isinstance(warning, SplitWarning):
            raise DataError(f"{source}: split_warnings must be SplitWarning, and one of them is {_kind(warning)} {_shown(warning)}")
    label_sets = tuple(_label_set(source, own, len(names["label_names"])) for own in _sequence(source, "label_sets", loaded.label_sets))
    check_positive_label(source, loaded.positive_label, names["label_names"])
    _check_measures(source, names["measures"], loaded.positive_label)
    data = evolve(loaded, label_sets=label_sets, split_warnings=split_warnings, **names)
    return evolve(data, splits=_checked_splits(source, data))


def _checked_splits(source: str, data: TaskData) -> dict[str, tuple[Example, ...]]:
    if not isinstance(data.splits, Mapping):
        raise DataError(f"{source}: splits must be a mapping from the name of a split to its examples, not {_kind(data.splits)}")
    splits: dict[str, tuple[Example, ...]] = {}
    seen: dict[str, str] = {}
    for given, examples in data.splits.items():
        split = OTHER_NAMES.get(given, given)
        if split not in SPLITS:
            raise DataError(f"{source}: unknown split {_shown(given)}{did_you_mean(str(given), (*SPLITS, *OTHER_NAMES))}")
        if split in splits:
            raise DataError(f"{source}: splits has both `dev` and `validation`, which are names of one split; keep one of them")
        if isinstance(examples, (str, bytes, Mapping)) or not isinstance(examples, Iterable):
            raise DataError(f"{source}: {given}: the examples of a split must be a tuple of Example, not {_kind(examples)}")
        classes = len(data.label_names) + (len(data.label_sets) if split == "train" else 0)
        splits[split] = tuple(_checked_examples(f"{source}: {given}", examples, data, classes, seen))
        seen.update((example.id, given) for example in splits[split])
    return splits


def _checked_examples(where: str, examples: Iterable[object], data: TaskData, classes: int, seen: Mapping[str, str]) -> Iterator[Example]:
    """Yield the examples of a split with tuples and plain numbers. ``seen`` has the splits of the examples before it, by id."""
    own: set[str] = set()
    for number, example in enumerate(examples, 1):
        try:
            checked_example = _checked_example(example, data, classes)
            if checked_example.id in own or checked_example.id in seen:
                other = seen.get(checked_example.id, "the same split")
                raise DataError(f"its id is also that of an example of {other}; ids must be unique across all splits")
        except DataError as problem:
            named = f" (`{example.id}`)" if isinstance(example, Example) and isinstance(example.id, str) and example.id.strip() else ""
            raise DataError(f"{where} example {number}{named}: {problem}") from None
        own.add(checked_example.id)
        yield checked_example


def _checked_example(example: object, data: TaskData, classes: int) -> Example:
    if not isinstance(example, Example):
        raise DataError(f"must be an Example, not {_kind(example)}")
    if not isinstance(example.id, str) or not example.id.strip():
        raise DataError(f"its id must be a string that is not empty, not {_shown(example.id)}")
    texts = _strings("texts", example.texts, data.columns, "column")
    subsets = _strings("subsets", example.subsets, data.subsets, "subset")
    label = _label(example.label, data.label_names, classes)
    if texts is example.texts and subsets is example.subsets and label is example.label:
        return example
    return Example(example.id, texts, label, subsets)


def _strings(field: str, values: object, columns: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the texts or subsets of an example, one for each column."""
    if type(values) is tuple and len(values) == len(columns):
        for value in values:
            if type(value) is not str or not (value.isascii() or _is_unicode(value)):
                break
        else:
            return values
    if not isinstance(values, (tuple, list)) or not all(isinstance(value, str) for value in values):
        wrong = next((value for value in values if not isinstance(value, str)), values) if isinstance(values, (tuple, list)) else values
        inside = f"{_kind(wrong)} {_shown(wrong)}" + (" in it" if wrong is not values else "")
        fix = f"; write ({_shown(values)},)" if isinstance(values, str) and len(columns) == 1 else ""
        raise DataError(f"`{field}` must be a tuple with one string for each {what}, not {inside}{fix}")
    if len(values) != len(columns):
        named = f" ({quote_some(columns)})" if columns else ""
        raise DataError(f"`{field}` has {counted(len(values), 'string')} for {counted(len(columns), what)}{named}")
    return tuple(str(value).encode("utf-8", "replace").decode() for value in values)  # tokenizers fail on lone surrogates


def _label(label: object, names: Sequence[str], classes: int) -> int:
    if isinstance(label, str):
        index = names.index(label) if label in names else None
        fix = f"`{label}` is label {index}" if index is not None else f"no label is called {_shown(label)}{did_you_mean(label, names)}"
        raise DataError(f"its label must be an index of label_names, not a name; {fix}")
    if isinstance(label, bool) or not hasattr(label, "__index__"):
        raise DataError(f"its label must be an index of label_names, a whole number, not {_kind(label)} {_shown(label)}")
    if not 0 <= (index := int(label.__index__())) < classes:
        allowed = f"0 to {classes - 1}" if classes > 1 else "0"
        raise DataError(f"its label is {index}, and the indices of {quote_some(names)} are {allowed}")
    return label if type(label) is int else index


def _names(source: str, field: str, values: object) -> tuple[str, ...]:
    found = _sequence(source, field, values)
    for value in found:
        if not isinstance(value, str):
            raise DataError(f"{source}: {field} must be strings, and one of them is {_kind(value)} {_shown(value)}")
    return tuple(map(str, found))


def _sequence(source: str, field: str, values: object) -> tuple[Any, ...]:
    """Return the elements of a tuple or a list: a string is one value, and a set has another order in each process."""
    if not isinstance(values, (tuple, list)):
        fix = f"; write ({_shown(values)},) for one" if isinstance(values, str) else ""
        raise DataError(f"{source}: {field} must be a tuple, not {_kind(values)}{fix}")
    return tuple(values)


def _check_distinct(source: str, field: str, names: Collection[str], least: int) -> None:
    if len(names) < least:
        raise DataError(f"{source}: {field} is empty")
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{source}: {field} has `{twice}` twice")


def _check_counts(source: str, field: str, counts: object) -> None:
    if not isinstance(counts, Mapping) or not all(isinstance(name, str) and type(count) is int for name, count in counts.items()):
        raise DataError(f"{source}: {field} must be a mapping from names to whole numbers, not {_shown(counts)}")


def _check_measures(source: str, measures: Sequence[str], positive: str | None) -> None:
    known = {*metrics.NAMES, *registry.current().names("metric")}
    for name in measures:
        if name.partition(":")[0] not in known:
            raise DataError(f"{source}: measures: there is no metric `{name}`{did_you_mean(name, known)}")
        if name == "binary_f1" and positive is None:
            raise DataError(f"{source}: measures: `binary_f1` needs a positive_label")


def _label_set(source: str, labels: object, classes: int) -> tuple[int, ...]:
    found = _sequence(source, "each of label_sets", labels)
    if len(found) < 2 or not all(type(label) is int and 0 <= label < classes for label in found):
        raise DataError(f"{source}: each of label_sets must be two or more indices of label_names, not {_shown(labels)}")
    return found


def _is_unicode(text: str) -> bool:
    """Return whether a text can be encoded: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    """Return what a value is, for messages: ``a string``, ``None``, ``a set``."""
    if value is None:
        return "None"
    name = {"str": "string", "NoneType": "None"}.get(type(value).__name__, type(value).__name__)
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _shown(value: object) -> str:
    """Return the start of a value's representation, on one line."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
