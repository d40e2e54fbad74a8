from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ticketlab.core.errors import UsageError
from ticketlab.tickets.mask_files import read_masks, rename
from ticketlab.tickets.ticket import Ticket

ONES = {"a.mask": torch.ones(2), "b.mask": torch.zeros(3)}


class Runs:
    """An object whose pickle runs code."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('a pickle ran')",)


def test_safetensors_and_npz_are_read(tmp_path: Path) -> None:
    save_file({**ONES, "c": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "masks.safetensors")
    np.savez_compressed(tmp_path / "masks.npz", **{name: mask.numpy() for name, mask in ONES.items()})
    tensors, arrays = read_masks(tmp_path / "masks.safetensors"), read_masks(tmp_path / "masks.npz")
    assert list(tensors) == ["a.mask", "b.mask", "c"]
    assert arrays.keys() == ONES.keys()
    assert all(torch.equal(arrays[name], mask) and torch.equal(tensors[name], mask) for name, mask in ONES.items())


def write(name: str, tmp_path: Path) -> Path:
    path = tmp_path / name
    if name in ("masks.pt", "masks.bin", "model.pth"):
        torch.save(ONES, path)
    elif name == "objects.npz":
        np.savez(path, masks=np.array([Runs()], dtype=object))
    elif name == "text.npz":
        np.savez(path, masks=np.array(["1"]))
    elif name == "empty.npz":
        np.savez(path)
    elif name == "ticket.safetensors":
        Ticket({"heads/0": torch.ones(2) > 0}, "s", "f", "r").save(path)
    elif name == "folder.npz":
        path.mkdir()
    elif name != "missing.npz":
        path.write_bytes(b"PK\x03\x04 damaged")
    return path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("masks.pt", r"a pickled file can run code and is not read; save the masks with safetensors.torch.save_file"),
        ("masks.bin", "a pickled file can run code"),
        ("model.pth", "a pickled file can run code"),
        ("objects.npz", r"has Python objects, which are pickled and not read .*save the masks with"),
        ("text.npz", "`masks` has values of type <U1"),
        ("empty.npz", "the file has no tensors"),
        ("damaged.npz", "not an npz file, or damaged"),
        ("damaged.safetensors", "not a safetensors file, or damaged"),
        ("ticket.safetensors", "is a ticket already"),
        ("masks.npy", "masks are read from .safetensors and .npz files"),
        ("missing.npz", "there is no such file"),
        ("folder.npz", "masks are read from a file, not from a folder"),
    ],
)
def test_other_files_are_refused_in_one_line(name: str, message: str, tmp_path: Path) -> None:
    path = write(name, tmp_path)
    with pytest.raises(UsageError, match=message) as problem:
        read_masks(path)
    assert str(problem.value).startswith(f"{path}: ")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        ([], ["a.mask", "b.mask"]),
        (["*.mask=*.weight"], ["a.weight", "b.weight"]),
        (["a.mask=first", "*=m.*"], ["first", "m.b.mask"]),
        (["*.*=*-\\1"], ["a-\\1", "b-\\1"]),
        (["*.m*k=*/*"], ["a/as", "b/as"]),
    ],
    ids=str,
)
def test_names_are_mapped(rules: list[str], names: list[str]) -> None:
    assert list(rename(ONES, rules)) == names


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["a"], "--map a: write PATTERN=NAME"),
        (["=b"], "write PATTERN=NAME"),
        (["a*=*.*"], r"with at most as many \* in NAME as in PATTERN"),
        (["c.*=d.*"], r"--map c.\*=d.\*: no mask has such a name, .*; the names are `a.mask`, `b.mask`"),
        (["*.mask=m"], "two masks would be called `m`"),
    ],
    ids=str,
)
def test_a_wrong_rule_is_refused(rules: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rename(ONES, rules)
