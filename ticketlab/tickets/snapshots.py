"""Mask snapshots: the masks that would have been drawn at several steps of a search, bit-packed in one safetensors file.

The tensor ``STEP/NAME`` is numpy's ``packbits`` of the flattened mask of a group of units, such as ``40/heads/0``. The header's metadata
has one key, ``ticketlab``, whose value is JSON: ``format``, and ``shapes``, the shape of each mask by name.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab import integrity
from ticketlab.tickets.draw import group_of
from ticketlab.tickets.storage import KEY

FORMAT = 1
Masks = Mapping[str, Tensor]
Shapes = Mapping[str, tuple[int, ...]]


def pack(masks: Masks) -> dict[str, Tensor]:
    """Return boolean masks with eight units per byte."""
    return {name: torch.from_numpy(np.packbits(mask.cpu().numpy().reshape(-1))) for name, mask in masks.items()}


def packed_size(shapes: Shapes) -> int:
    """Return the number of bytes of one packed snapshot."""
    return sum(_packed_length(shape) for shape in shapes.values())


def save_masks(masks: Mapping[int, Masks], path: Path) -> None:
    """Write the masks of several steps atomically. All steps have the same groups of units."""
    shapes = {name: tuple(mask.shape) for of_step in masks.values() for name, mask in of_step.items()}
    save_packed({step: pack(of_step) for step, of_step in masks.items()}, shapes, path)


def save_packed(packed: Mapping[int, Masks], shapes: Shapes, path: Path) -> None:
    """Write masks that :func:`pack` returned, by step, atomically."""
    tensors = {f"{step}/{name}": mask for step, of_step in packed.items() for name, mask in of_step.items()}
    header = {"format": FORMAT, "shapes": {name: list(shape) for name, shape in shapes.items()}}
    files.write_atomic(path, lambda temporary: save_file(tensors, temporary, metadata={KEY: json.dumps(header)}))


def load_masks(path: str | Path) -> dict[int, dict[str, Tensor]]:
    """Return the boolean masks that :func:`save_masks` wrote, by step in ascending order, and by the name of the group of units.

    :raises UsageError: the file is missing, is not a file of masks, or is damaged.
    :raises Damaged: it was changed after the search wrote it.
    """
    place = files.expand(path)
    if not place.is_file():
        raise UsageError(f"{place}: there is no such file; a search with `keep_masks` writes it")
    integrity.check(place)
    try:
        with safe_open(place, framework="pt") as file:
            header = files.parse_json((file.metadata() or {})[KEY])
            packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
        shapes = _shapes(header)
        found: dict[int, dict[str, Tensor]] = {}
        for key in sorted(packed, key=lambda key: int(key.partition("/")[0])):
            step, _, name = key.partition("/")
            found.setdefault(int(step), {})[name] = _unpack(packed[key], shapes[name])
        if any(of_step.keys() != shapes.keys() for of_step in found.values()):
            raise ValueError("masks are missing")
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise UsageError(f"{place}: not a file of masks, or damaged ({' '.join(str(problem).split())})") from None
    return {step: {name: of_step[name] for name in shapes} for step, of_step in found.items()}


def pairwise_distances(masks: Mapping[int, Masks]) -> dict[str, Tensor]:
    """Return the normalised Hamming distance between the masks of any two steps, for each group of units (heads, neurons, weights).

    Each is a float64 matrix whose rows and columns are the steps in their order: the fraction of the group's units that are kept at one
    of the two steps only. Its diagonal is zero.
    """
    found = {}
    for group in dict.fromkeys(group_of(name) for of_step in masks.values() for name in of_step):
        kept = [torch.cat([mask.flatten() for name, mask in of_step.items() if group_of(name) == group]) for of_step in masks.values()]
        found[group] = distances = torch.zeros(len(kept), len(kept), dtype=torch.float64)
        for (row, one), (column, other) in itertools.combinations(enumerate(kept), 2):
            distances[row, column] = distances[column, row] = int(torch.count_nonzero(one ^ other)) / len(one)
    return found


def _shapes(header: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes in a header.

    :raises ValueError: the header is of another format.
    """
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}, and this version of ticketlab reads {FORMAT}")
    return {str(name): tuple(int(size) for size in shape) for name, shape in header["shapes"].items()}


def _unpack(packed: Tensor, shape: tuple[int, ...]) -> Tensor:
    if packed.dtype != torch.uint8 or packed.shape != (_packed_length(shape),):
        raise ValueError("a mask does not fit its shape")
    return torch.from_numpy(np.unpackbits(packed.numpy(), count=math.prod(shape)).astype(bool)).reshape(shape)


def _packed_length(shape: tuple[int, ...]) -> int:
    return -(-math.prod(shape) // 8)
