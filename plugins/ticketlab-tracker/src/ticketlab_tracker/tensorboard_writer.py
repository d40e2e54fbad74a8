"""Event files of TensorBoard: a folder for each task and seed, so that seeds are lines in one chart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from ticketlab_tracker.place import Place


class TensorBoardWriter:
    """Writes to ``tensorboard/`` in the folder of the place."""

    def __init__(self, place: Place) -> None:
        self.where: Path = place.folder / "tensorboard" / place.name
        self._settings = dict(place.settings)
        self._results: dict[str, float] = {}
        self._writer = SummaryWriter(str(self.where))

    def numbers(self, values: Mapping[str, float], step: int) -> None:
        """Write a point of each curve."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def results(self, values: Mapping[str, float]) -> None:
        """Write final numbers as curves of one point, under ``results/``."""
        self._results |= {f"results/{name}": value for name, value in values.items()}
        self.numbers({f"results/{name}": value for name, value in values.items()}, 0)

    def close(self, status: str) -> None:
        """Write the settings with the final numbers, for the tab HPARAMS, and how the run has ended."""
        writer: Any = self._writer
        summaries: Any = hparams(self._settings, self._results)  # type: ignore[no-untyped-call]
        for summary in summaries:  # add_hparams would write them into another folder
            writer._get_file_writer().add_summary(summary)
        self._writer.add_text("status", status)
        self._writer.close()
