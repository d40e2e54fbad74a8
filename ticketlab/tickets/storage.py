"""The file format of tickets: a safetensors file with bit-packed masks and everything else as JSON in the header.

The header's metadata has one key, ``ticketlab``, whose value is JSON: ``format``, ``structure``, ``found_on``, ``rewind_to``,
``provenance``, ``shapes`` and ``sha256``. Each mask is a uint8 tensor, numpy's ``packbits`` of the flattened mask. A ticket with a
classifier stores its tensors as ``head/NAME`` (those in bfloat16 as float32), and ``head`` (their names) and ``labels`` in the header.

In format 3 the hash covers the rest of the header and every tensor with its name, type and shape, sorted by name. Formats 1 (without a
classifier) and 2 (with one) can still be read; their hash does not cover the names and shapes of masks. The same ticket always gives the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor

from ticketlab.core import files
from ticketlab.core.errors import UsageError

KEY = "ticketlab"
FORMAT = 3
HEAD = "head/"
FIELDS = {"structure": str, "found_on": str, "rewind_to": str, "provenance": dict, "shapes": dict, "sha256": str}


def encode(masks: Mapping[str, Tensor], header: Mapping[str, Any], head: Mapping[str, Tensor]) -> bytes:
    """Return the bytes of a ticket file."""
    packed = {name: np.packbits(mask.numpy().reshape(-1)) for name, mask in masks.items()}
    floats = {name: np.ascontiguousarray(_numpy_has(value.detach().cpu()).numpy()) for name, value in sorted(head.items())}
    tensors = {**packed, **{HEAD + name: value for name, value in floats.items()}}
    whole = {**header, "format": FORMAT}
    whole["sha256"] = _digest(whole, tensors)
    return save(tensors, metadata={KEY: _text(whole)})


def _numpy_has(value: Tensor) -> Tensor:
    """Return a tensor with the same values of a type that numpy has: bfloat16 becomes float32."""
    return value.float() if value.dtype == torch.bfloat16 else value


def _text(header: Mapping[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, separators=(",", ":"))


def _digest(header: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """Return the hash of the header without its ``sha256``, and of the tensors with their names, types and shapes."""
    digest = hashlib.sha256(_text({key: value for key, value in header.items() if key != "sha256"}).encode())
    for name in sorted(tensors):
        digest.update(f"\n{name} {tensors[name].dtype} {tensors[name].shape}\n".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _digest_before_format_3(packed: Mapping[str, np.ndarray], head: Mapping[str, np.ndarray], labels: Sequence[str]) -> str:
    """Return the hash of formats 1 and 2: of the masks and, for a ticket with a classifier, its labels and tensors."""
    digest = hashlib.sha256()
    for name in sorted(packed):
        digest.update(packed[name].tobytes())
    if head:
        digest.update(json.dumps(list(labels)).encode())
    for name in sorted(head):
        digest.update(f"{name} {head[name].dtype} {head[name].shape}".encode())
        digest.update(head[name].tobytes())
    return digest.hexdigest()


def write(path: Path, content: bytes) -> None:
    """Write a file atomically. Missing folders are created.

    :raises UsageError: it cannot be written.
    """
    try:
        files.write_atomic(path, lambda temporary: temporary.write_bytes(content))
    except OSError as problem:
        raise UsageError(f"{path}: cannot be written ({problem.strerror})") from None


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any], dict[str, Tensor]]:
    """Return the masks of a ticket file, its header, and the classifier's tensors.

    :raises UsageError: the file is missing, is not a ticket, is of a newer format, or is damaged.
    """
    if not path.is_file():
        reason = "a ticket is a file, not a folder" if path.is_dir() else "there is no such file"
        raise UsageError(f"{path}: {reason}")
    try:
        with safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            packed = {name: file.get_tensor(name) for name in file.keys()} if KEY in metadata else {}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError) as problem:
        raise UsageError(f"{path}: not a ticket, or damaged ({' '.join(str(problem).split())})") from None
    if KEY not in metadata:
        raise UsageError(f"{path}: not a ticket: a safetensors file without ticketlab's header (a model's weights?)")
    header = _header(path, metadata[KEY])
    _check_hash(path, packed, header)
    head = {name: packed.pop(HEAD + name) for name in header.get("head", ()) if HEAD + name in packed}
    masks = _unpack(path, packed, header, head)
    return masks, header, {name: torch.from_numpy(value) for name, value in head.items()}


def _header(path: Path, text: str) -> dict[str, Any]:
    try:
        header = files.parse_json(text)
    except ValueError as problem:
        raise UsageError(f"{path}: damaged: its header is not JSON ({problem})") from None
    version = header.get("format") if isinstance(header, dict) else None
    if type(version) is int and version > FORMAT:
        raise UsageError(f"{path}: written by a newer ticketlab (format {version}, this one reads {FORMAT}); update ticketlab")
    lists = isinstance(header, dict) and all(_are_names(header.get(key, [])) for key in ("head", "labels"))
    if type(version) is not int or version < 1 or not lists or not all(isinstance(header.get(key), kind) for key, kind in FIELDS.items()):
        raise UsageError(f"{path}: damaged: fields of a ticket are missing in its header")
    return dict(header)


def _are_names(values: Any) -> bool:
    """Return whether this is a list of distinct strings."""
    return isinstance(values, list) and all(isinstance(value, str) for value in values) and len(set(values)) == len(values)


def _check_hash(path: Path, tensors: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> None:
    if header["format"] == FORMAT:
        digest = _digest(header, tensors)
    else:
        masks = {name: tensor for name, tensor in tensors.items() if not name.startswith(HEAD)}
        head = {name: tensors[HEAD + name] for name in header.get("head", ()) if HEAD + name in tensors}
        digest = _digest_before_format_3(masks, head, header.get("labels", ()))
    if digest != header["sha256"]:
        raise UsageError(f"{path}: damaged: its content does not match the hash in its header")


def _unpack(path: Path, packed: Mapping[str, np.ndarray], header: Mapping[str, Any], head: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    shapes = header["shapes"]
    complete = packed.keys() == shapes.keys() and all(_fits(packed[name], shape) for name, shape in shapes.items())
    if not complete or head.keys() != set(header.get("head", ())):
        raise UsageError(f"{path}: damaged: its masks do not match its header")
    return {
        name: torch.from_numpy(np.unpackbits(packed[name], count=math.prod(shape)).astype(bool)).reshape(shape)
        for name, shape in shapes.items()
    }


def _fits(packed: np.ndarray, shape: Any) -> bool:
    if not (isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)):
        return False
    return packed.dtype == np.uint8 and packed.shape == (-(-math.prod(shape) // 8),)
