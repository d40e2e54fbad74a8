"""The best state of a training stage so far, kept on disk for ``select = "best"``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from torch import Tensor

from ticketlab.core import progress
from ticketlab.lab.layout import BEST, CHECKPOINT
from ticketlab.training import checked_file

SCORE = "score"


class BestCheckpoint:
    """Keeps the tensors with the highest score in a stage's directory, where a resumed training finds them.

    If they are damaged, the checkpoint is removed too and the training starts over, since the best step is no longer known.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / BEST
        self.score: float = -math.inf  # a correlation may be -1
        try:
            content = checked_file.read(self._path, SCORE)
            self.score = -math.inf if content is None else float(content[1])
        except ValueError as problem:
            progress.warn(f"{self._path}: damaged, or of an earlier version ({problem}); the training starts over")
            for name in (BEST, CHECKPOINT):
                (directory / name).unlink(missing_ok=True)

    def offer(self, score: float, tensors: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep what ``tensors`` returns if the score is higher than any before."""
        if score > self.score:
            self.score = score
            saved = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors().items()}  # untied
            checked_file.write(self._path, saved, SCORE, score)

    def take(self) -> dict[str, Tensor]:
        """Return the tensors that were kept, if any. The file stays in the directory until the stage has its result."""
        content = checked_file.read(self._path, SCORE)
        return {} if content is None else content[0]
