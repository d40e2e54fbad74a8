"""What the conformance tests share: tiny models and small data, made once in the temporary folder of pytest."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

from ticketlab.core import files
from ticketlab.tasks.assembly.loading import load_task
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.demo.pairs import DemoPairs
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.testing.models.model_copies import ModelCopies
from ticketlab.testing.models.tiny import tiny_model

SMALL: dict[str, Any] = {"rows": 24, "dev_rows": 8, "test_rows": 8}
LENGTH = 24
"""The maximum length of inputs in tokens."""


class Workspace:
    """A folder with tiny models and small data. Use :func:`workspace_in`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.outcomes: dict[Any, Any] = {}
        """Outcomes of runs that several tests compare with, by test class and component."""
        self._models: dict[str, Path] = {}
        self._copies = ModelCopies()

    def model(self, family: str = "bert") -> Path:
        """Return the folder of the tiny model of a family, or of any model type."""
        if family not in self._models:
            self._models[family] = tiny_model(family, self.root / family)
        return self._models[family]

    def copied_models(self) -> contextlib.AbstractContextManager[None]:
        """Load each tiny model once, and copy it from then on, inside a ``with`` block."""
        return self._copies.in_use(lambda: {str(folder) for folder in self._models.values()})

    def text(self) -> Path:
        """Return a file of plain text, a paragraph on each line."""
        path = self.root / "plain.txt"
        if not path.exists():
            files.write_text(path, "\n".join(example.texts[0] for example in self.data().splits["train"]))
        return path

    def task(self, *, pairs: bool = False) -> Task:
        """Return a task of single texts or of pairs, with two labels."""
        return DemoPairs(**SMALL) if pairs else DemoTask(**SMALL)

    def data(self, *, pairs: bool = False) -> TaskData:
        """Return the examples of that task."""
        return _loaded(self.task(pairs=pairs))


@functools.cache
def _loaded(task: Task) -> TaskData:
    return load_task(task)


@functools.cache
def workspace_in(root: Path) -> Workspace:
    """Return the workspace of a folder, the same one at each call."""
    return Workspace(root)
