"""What a training stage saves at the steps that other stages name, as in ``finetune@500``."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import ClassVar

from ticketlab.core.callback import Callback
from ticketlab.lab.layout import CHECKPOINT
from ticketlab.stages.base import Context, step_of
from ticketlab.training.checkpoint import Checkpoint


class StepSnapshots(Callback, abc.ABC):
    """Saves a snapshot at each of ``context.keep``, in a training of ``steps`` steps. The one of step 0 is saved at once."""

    observes: ClassVar[bool] = True

    def __init__(self, context: Context, steps: int) -> None:
        self._directory = context.directory
        self._at = {at: step_of(at, steps) for at in context.keep}
        self._save(0)

    @abc.abstractmethod
    def path(self, at: str) -> Path:
        """Return the file or folder of the snapshot at ``500`` or ``55%``."""

    @abc.abstractmethod
    def write(self, path: Path, step: int) -> None:
        """Write the snapshot of this step."""

    def start_over_if_missed(self) -> None:
        """Remove the stage's checkpoint if training passed a snapshot without saving it, because no other stage needed it then."""
        checkpoint = Checkpoint(self._directory / CHECKPOINT)
        done = checkpoint.step()
        if any(wanted <= done and not self.path(at).exists() for at, wanted in self._at.items()):
            checkpoint.remove()

    def on_step_end(self, step: int) -> bool:
        """Save a snapshot if one is needed after this step."""
        self._save(step + 1)
        return False

    def _save(self, step: int) -> None:
        for at, wanted in self._at.items():
            if wanted == step:
                self.write(self.path(at), step)
