"""The contract of a stage, and what a stage is given to run."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import attrs
from attrs import field, frozen

from ticketlab.core import progress
from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import setting, to_table
from ticketlab.lab import integrity
from ticketlab.lab.layout import model_folder
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.trained_on import TrainedOn, load_hashes
from ticketlab.training.loss_function import Precision

Split = Literal["test", "dev", "train", "all"]
PRETRAINED = "pretrained"
"""The reference that means: the model of the recipe, as it was published."""


@frozen
class Input:
    """What a reference of a stage came to: the folder of a finished stage, or a path or model name outside the recipe."""

    location: str
    is_stage: bool
    at: str = ""
    """Which of a train stage's checkpoints is meant, as in ``finetune@500``; empty for the finished model."""
    inside: bool = False
    """It is a stage of the same recipe."""
    made_in: str = ""
    """Of the file of a ticket that a run keeps, the folder of the stage that drew it."""

    @property
    def model(self) -> str:
        """Where the model is."""
        return str(Path(self.location) / model_folder(self.at)) if self.is_stage else self.location

    def trained_on(self) -> TrainedOn | None:
        """What is known of the texts that went into it; None where nothing is. Raises as :func:`ticketlab.tasks.trained_on.load_hashes`."""
        places = (place for place in (self.made_in, self.model, self.location) if place)
        return next((found for place in places if (found := load_hashes(place)) is not None), None)

    def file(self, name: str) -> Path:
        """A file of the stage, or the outside path itself.

        :raises Damaged: it is not what the stage left.
        """
        path = Path(self.location) / name if self.is_stage else Path(self.location)
        integrity.check(path)
        return path

    @property
    def folder(self) -> Path:
        """The folder of the stage with all that it left, or the outside path itself. Raises as :meth:`file`."""
        integrity.check(Path(self.location))
        return Path(self.location)


@frozen
class Context:
    """Everything a stage depends on besides its settings. ``directory`` is the stage's own, kept between tries.

    ``data`` is empty for a stage that does not use the task. ``ood`` are the recipe's challenge sets, and ``ood_map`` the pairs of labels
    that are called otherwise there. ``keep`` names the checkpoints of a training that other stages start from.
    """

    directory: Path
    key: str
    name: str
    model: str
    max_length: int
    data: TaskData
    seed: int
    precision: Precision
    inputs: Mapping[str, Input]
    log: Callable[[dict[str, Any]], None]
    ood: Sequence[TaskData] = ()
    ood_map: Sequence[str] = ()
    keep: Collection[str] = ()
    warnings: list[str] = field(factory=list)
    """What :meth:`warn` was told; the runner puts it into the result, and repeats it where the result is found in the lab."""
    input_warnings: list[str] = field(factory=list)
    """What :meth:`warn_of_input` was told; as ``warnings``, but a run says each once, however many stages meet it."""
    told: set[str] = field(factory=set)
    """What the run has said already of what goes into its stages."""

    def trained_on(self, *beside: Input) -> TrainedOn:
        """Return what is known of the texts that went into the stage's inputs and into those ``beside`` them."""
        found = (one.trained_on() for one in (*beside, *self.inputs.values()))
        return functools.reduce(operator.or_, found, TrainedOn())

    def warn(self, message: str) -> None:
        """Say, now and beside every number of the stage, what makes its numbers mean less than they seem to."""
        if message not in self.warnings:
            self.warnings.append(message)
            progress.warn(f"{self.data.name} seed {self.seed} {self.name}: {message}".lstrip())

    def warn_if(self, message: str) -> None:
        """Do as :meth:`warn` unless there is nothing to say."""
        if message:
            self.warn(message)

    def warn_of_input(self, message: str, *, keep: bool = True) -> None:
        """Say once in a run what makes the numbers of every stage with the same model or texts mean less than they seem to.

        Do not ``keep`` what is about another stage's input: a result depends on nothing that was done before.
        """
        if keep and message not in self.input_warnings:
            self.input_warnings.append(message)
        self._once(message, progress.warn)

    def say_of_input(self, message: str) -> None:
        """Say once in a run what is worth knowing of a model or of texts."""
        self._once(message, progress.say)

    def _once(self, message: str, how: Callable[[str], None]) -> None:
        if message not in self.told:
            self.told.add(message)
            how(message)


def step_of(at: str, steps: int) -> int:
    """Return the step of a training of ``steps`` that ``500`` or ``55%`` means.

    :raises UsageError: it is after the end.
    """
    share = float(at[:-1]) / 100 if at.endswith("%") else None
    step = int(at) if share is None else int(share * steps + 0.5)
    if step > steps or (share is not None and share > 1):
        raise UsageError(f"there is no checkpoint at {at}: the training has {counted(steps, 'step')}")
    return step


def split_setting(help: str) -> Any:
    """Declare a setting that names a split."""
    return setting("test", choices=get_args(Split), help=help)


@frozen
class UnusedSetting:
    """Why a setting cannot change the result of its stage.

    ``quiet`` marks one that misleads nobody where it stands in a recipe, so that only asking for it by name is worth a word.
    """

    reason: str
    quiet: bool = False


@frozen
class Stage(Component):
    """Settings of one step of a recipe. Its references name the stages that it needs."""

    kind: ClassVar[str] = "stage"
    seeded: ClassVar[bool] = True
    """Whether the result depends on the run's seed by itself, and not only through its inputs."""

    @property
    def uses_task(self) -> bool:
        """Whether the result depends on the task's data by itself, and not only through its inputs. If not, tasks share the stage."""
        return True

    @property
    def uses_ood(self) -> bool:
        """Whether the result depends on the recipe's challenge sets."""
        return False

    def longest(self, of_recipe: int) -> int:
        """Return the longest input of this stage in tokens; ``of_recipe`` is the recipe's."""
        return of_recipe

    def references(self) -> dict[str, str]:
        """Return the references that are set and are not :data:`PRETRAINED`, by field name."""
        found = {field.name: getattr(self, field.name) for field in attrs.fields(type(self)) if "reference" in field.metadata}
        return {name: value for name, value in found.items() if value not in (None, PRETRAINED)}

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse what cannot work with the stages that the references name, given by field name, before anything is computed.

        :raises SettingError: it begins with the name of the setting.
        """

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings that cannot change the result as the others are, by path (``stop.heads``)."""
        return {}

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and what can have no effect beside the other ``stages`` of the recipe, given by name."""
        return self.unused()

    def doubts(self, stages: Mapping[str, Stage]) -> list[str]:
        """Return what beside the other ``stages`` of the recipe, given by name, makes the result mean less than it seems to."""
        return []

    def identity(self) -> dict[str, Any]:
        """Return the settings that the result depends on: all but the unused ones."""
        settings = to_table(self, identity_only=True)
        for path in self.unused():
            *above, name = path.split(".")
            table = settings
            for key in above:
                table = table.get(key, {})
            table.pop(name, None)
        return settings

    def external_inputs(self) -> dict[str, str]:
        """Return the files and folders besides its references whose content the result depends on, by what they are.

        What is no file is given as the ``sha256:`` of its content.
        """
        return {}

    def run(self, context: Context) -> dict[str, Any]:
        """Do the work; leave files in ``context.directory`` and return the result, JSON values only."""
        raise NotImplementedError
