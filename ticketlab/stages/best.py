"""The best state of a training so far, on disk: what ``select = "best"`` keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from ticketlab import files
from ticketlab.stages.base import UNTIL_DONE


class Best:
    """Keeps the tensors that had the highest score in a stage's directory; a try after an interruption finds them there."""

    def __init__(self, directory: Path) -> None:
        self._tensors, self._score = (directory / name for name in UNTIL_DONE[1:])
        self.score: float = files.read_json(self._score) if self._score.exists() else -1.0

    def offer(self, score: float, tensors: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep what ``tensors`` returns if the score is higher than any before."""
        if score > self.score:
            self.score = score
            saved = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors().items()}  # tied or not
            files.replace(self._tensors, lambda path: save_file(saved, path))
            files.write_json(self._score, score)

    def take(self) -> dict[str, Tensor]:
        """Return what was kept, nothing where nothing was. It stays in the directory until the stage has its result."""
        return dict(load_file(self._tensors)) if self._tensors.exists() else {}
