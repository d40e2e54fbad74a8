"""The challenge set of an injected shortcut, which comes with every task that has one."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import component
from ticketlab.tasks.assembly import shortcut
from ticketlab.tasks.base import Task, TaskData

SUFFIX = "_at_chance"


@frozen
class ShortcutChallenge(Task):
    """The test examples of a task with its markers at chance: they have the same ids, and differ in the markers alone.

    Recipes do not name it: :attr:`ticketlab.recipes.recipe.Recipe.challenge_sets` has one for each task with an injected shortcut.
    """

    name: ClassVar[str] = "shortcut_challenge"
    summary: ClassVar[str] = "the test examples of a task with the markers of its shortcut at chance"

    task: Task = component("task", None, help="the task with the shortcut")

    @property
    def label(self) -> str:
        """The label of the task with a suffix."""
        return f"{self.task.label}{SUFFIX}"

    def check_files_exist(self) -> None:
        """Check the files of the task; see :meth:`Task.check_files_exist`."""
        self.task.check_files_exist()

    def of(self, data: TaskData) -> TaskData:
        """Return the challenge set for the data of the task without its shortcut.

        :raises DataError: see :func:`ticketlab.tasks.assembly.shortcut.inject_shortcut`.
        """
        return shortcut.challenge_of(self.task, data, self.label)
