"""Reads files with masks from elsewhere: safetensors and npz. Nothing is unpickled, since a pickle can run code."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from attrs import frozen
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ticketlab.core.errors import UsageError
from ticketlab.tasks.reading.labels import quote_some
from ticketlab.tickets.storage import KEY

PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle")
"""Suffixes of files that torch or pickle wrote."""
CONVERT = "save the masks with safetensors.torch.save_file({name: mask, ...}, 'masks.safetensors') or numpy.savez, and import that file"


def read_masks(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name.

    :raises UsageError: there is no such file, it is of another kind, is damaged, or is a ticket.
    """
    if not path.is_file():
        raise UsageError(f"{path}: {'masks are read from a file, not from a folder' if path.is_dir() else 'there is no such file'}")
    if path.suffix.lower() in PICKLES:
        raise UsageError(f"{path}: a pickled file can run code and is not read; {CONVERT}")
    if path.suffix.lower() not in (".safetensors", ".npz"):
        raise UsageError(f"{path}: masks are read from .safetensors and .npz files; {CONVERT}")
    found = _read_npz(path) if path.suffix.lower() == ".npz" else _read_safetensors(path)
    if not found:
        raise UsageError(f"{path}: the file has no tensors")
    return found


def hash_of_file(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rename(masks: Mapping[str, Tensor], rules: Sequence[str]) -> dict[str, Tensor]:
    """Return masks with the names that ``PATTERN=NAME`` rules give them: each ``*`` of NAME is what that of PATTERN matched.

    The first rule that matches a name applies.

    :raises UsageError: a rule is malformed or matches nothing, or two masks get one name.
    """
    parsed = [_Rule.parse(rule) for rule in rules]
    unused = dict.fromkeys(rules)
    renamed: dict[str, Tensor] = {}
    for name, mask in masks.items():
        rule = next((rule for rule in parsed if rule.pattern.fullmatch(name)), None)
        new = name if rule is None else rule.apply(name)
        unused.pop(rule.text if rule else "", None)
        if new in renamed:
            raise UsageError(f"--map: two masks would be called `{new}`")
        renamed[new] = mask
    if unused:
        names = quote_some(list(masks), 4)
        raise UsageError(f"--map {next(iter(unused))}: no mask has such a name, or an earlier --map applies; the names are {names}")
    return renamed


@frozen
class _Rule:
    text: str
    pattern: re.Pattern[str]
    parts: Sequence[str]
    """The texts of NAME between what it takes from the name."""

    @classmethod
    def parse(cls, text: str) -> _Rule:
        pattern, equals, name = text.partition("=")
        if not (equals and pattern and name) or name.count("*") > pattern.count("*"):
            raise UsageError(f"--map {text}: write PATTERN=NAME, such as '*.mask=*.weight', with at most as many * in NAME as in PATTERN")
        return cls(text, re.compile("(.*)".join(map(re.escape, pattern.split("*"))), re.DOTALL), name.split("*"))

    def apply(self, name: str) -> str:
        match = self.pattern.fullmatch(name)
        assert match is not None
        taken = ["", *match.groups()]
        return "".join(f"{before}{part}" for before, part in zip(taken, self.parts, strict=False))


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, "pt") as file:
            if KEY in (file.metadata() or {}):
                raise UsageError(f"{path}: is a ticket already: use it as it is")
            return {name: file.get_tensor(name) for name in sorted(file.keys())}
    except (SafetensorError, OSError) as problem:
        raise UsageError(f"{path}: not a safetensors file, or damaged ({' '.join(str(problem).split())})") from None


def _read_npz(path: Path) -> dict[str, Tensor]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in sorted(file.files)}
    except ValueError as problem:
        raise UsageError(f"{path}: has Python objects, which are pickled and not read ({problem}); {CONVERT}") from None
    except (OSError, EOFError, AttributeError, zipfile.BadZipFile, NotImplementedError) as problem:
        raise UsageError(f"{path}: not an npz file, or damaged ({' '.join(str(problem).split())})") from None
    return {name: _tensor(path, name, array) for name, array in arrays.items()}


def _tensor(path: Path, name: str, array: np.ndarray) -> Tensor:
    try:
        return torch.from_numpy(array)
    except TypeError:
        raise UsageError(f"{path}: `{name}` has values of type {array.dtype}; masks have numbers or booleans") from None
