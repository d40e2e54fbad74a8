"""The best state of a training stage so far, kept on disk for ``select = "best"``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ticketlab.core import disk_and_memory, files, progress
from ticketlab.lab.layout import BEST, CHECKPOINT
from ticketlab.training import checksum

SCORE, CHECKSUM = "score", "checksum"


class BestCheckpoint:
    """Keeps the tensors with the highest score in a stage's directory, where a resumed training finds them.

    If they are damaged, the checkpoint is removed too and the training starts over, since the best step is no longer known.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / BEST
        self.score: float = -math.inf  # a correlation may be -1
        try:
            self.score, _ = self._read() or (-math.inf, {})
        except (SafetensorError, KeyError, TypeError, ValueError) as problem:
            if disk_and_memory.kind(problem):
                raise
            progress.warn(f"{self._path}: damaged, or of an earlier version ({problem}); the training starts over")
            for name in (BEST, CHECKPOINT):
                (directory / name).unlink(missing_ok=True)

    def offer(self, score: float, tensors: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep what ``tensors`` returns if the score is higher than any before."""
        if score > self.score:
            self.score = score
            saved = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors().items()}  # untied
            metadata = {SCORE: json.dumps(score), CHECKSUM: checksum.of_tensors(saved)}
            files.write_atomic(self._path, lambda path: save_file(saved, path, metadata=metadata))

    def take(self) -> dict[str, Tensor]:
        """Return the tensors that were kept, if any. The file stays in the directory until the stage has its result."""
        _, tensors = self._read() or (-math.inf, {})
        return tensors

    def _read(self) -> tuple[float, dict[str, Tensor]] | None:
        """Return the score and the tensors.

        :raises ValueError: they are not what was written. Safetensors errors, KeyError and TypeError mean the same.
        """
        if not self._path.exists():
            return None
        with safe_open(self._path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a mapping
            metadata = file.metadata() or {}
        if metadata[CHECKSUM] != checksum.of_tensors(tensors):
            raise ValueError("it is not what was written")
        return float(json.loads(metadata[SCORE])), tensors
