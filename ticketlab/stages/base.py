"""Stages: the base class, and the context in which a stage runs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import attrs
from attrs import field, frozen

from ticketlab.backbone import saving
from ticketlab.core import progress
from ticketlab.core.component import Component, Precision
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import component, setting, to_table
from ticketlab.lab import integrity
from ticketlab.lab.layout import MODEL, checkpoint_folder
from ticketlab.tasks.base import Task, TaskData
from ticketlab.tasks.trained_on import TrainedOn, load_hashes

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ticketlab.attacks.engine.executor import AttackExecution

Split = Literal["test", "dev", "train", "all"]
MEASURED = ("train", "search", "export")
"""The kinds of stages whose models can be measured."""
MODEL_HELP = "a train, search or export stage, a model folder (also of an exported ONNX file) or a hub name"
PRETRAINED = "pretrained"
"""The reference to the recipe's pre-trained model."""


@frozen
class Input:
    """A resolved reference of a stage: the folder of a finished stage, or a path or model name outside the recipe."""

    location: str
    """The folder of the stage, or the path or name."""
    is_stage: bool
    """Whether it is a stage, of this recipe or of another run."""
    at: str = ""
    """The checkpoint of a train stage or search, such as ``500`` in ``finetune@500``; empty for the end."""
    inside: bool = False
    """Whether it is a stage of the same recipe."""
    made_in: str = ""
    """For a ticket file in the directory of a run, the folder of the stage that drew it."""
    model_folder: str = MODEL
    """The folder of the model of a stage."""

    @property
    def model(self) -> str:
        """The folder or name of the model."""
        return str(Path(self.location) / checkpoint_folder(self.model_folder, self.at)) if self.is_stage else self.location

    def trained_on(self) -> TrainedOn | None:
        """Return the texts that it was trained on; None if unknown. Raises the errors of :func:`ticketlab.tasks.trained_on.load_hashes`."""
        places = (place for place in (self.made_in, self.model, self.location) if place)
        return next((known for place in places if (known := load_hashes(place)) is not None), None)

    def file(self, name: str) -> Path:
        """Return the path of a file of the stage, or the external path itself.

        :raises Damaged: the file is not what the stage wrote.
        """
        path = Path(self.location) / name if self.is_stage else Path(self.location)
        integrity.check(path)
        return path

    @property
    def folder(self) -> Path:
        """The folder of the stage with all its files, or the external path itself. Raises the errors of :meth:`file`."""
        integrity.check(Path(self.location))
        return Path(self.location)


@frozen
class Context:
    """Everything that a stage depends on besides its settings."""

    directory: Path
    """The folder of the stage, which it writes its files to. It is kept when the stage is interrupted."""
    key: str
    """The key of the result in the lab."""
    name: str
    """The name of the stage in the recipe."""
    model: str
    """The model of the recipe: a folder or a hub name."""
    max_length: int
    """The maximum length of an input in tokens."""
    data: TaskData
    """The task that the stage uses; empty for a stage that uses none."""
    seed: int
    """The seed of the run, for every random number of the stage."""
    precision: Precision
    """The precision to compute in."""
    inputs: Mapping[str, Input]
    """The stages and paths that the settings made by ``reference`` name, by setting."""
    log: Callable[[dict[str, Any]], None]
    """Appends a record to the log of the run; listeners get it too."""
    ood: Sequence[TaskData] = ()
    """The challenge sets of the recipe."""
    ood_map: Sequence[str] = ()
    """Pairs the labels of the task with the challenge sets' names for them."""
    keep: Collection[str] = ()
    """The checkpoints of this stage that other stages use, such as ``500``."""
    warnings: list[str] = field(factory=list)
    """The messages of :meth:`warn`. The runner stores them in the result and repeats them when the result is found in the lab."""
    input_warnings: list[str] = field(factory=list)
    """The messages of :meth:`warn_of_input`: like ``warnings``, but a run prints each once, even if it concerns several stages."""
    printed: set[str] = field(factory=set)
    """The messages about inputs of stages that the run has already printed."""
    attack_execution: AttackExecution | None = None
    """The workers that attacks share their examples out to; None for this process and its own workers."""

    def trained_on(self, *others: Input) -> TrainedOn:
        """Return the known texts that the stage's inputs, and the ``others``, were trained on."""
        found = (source.trained_on() for source in (*others, *self.inputs.values()))
        return functools.reduce(operator.or_, found, TrainedOn())

    def save_model(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        """Write a model as that of the stage, with its tokenizer and the record of the texts that the stage's inputs were trained on."""
        saving.save(model, tokenizer, self.directory / MODEL, self.trained_on())

    def warn(self, message: str) -> None:
        """Print a caveat about the stage's numbers, and store it with them."""
        if message not in self.warnings:
            self.warnings.append(message)
            progress.warn(f"{self.data.name} seed {self.seed} {self.name}: {message}".lstrip())

    def warn_if(self, message: str) -> None:
        """Call :meth:`warn` unless the message is empty."""
        if message:
            self.warn(message)

    def warn_of_input(self, message: str, *, keep: bool = True) -> None:
        """Warn, once per run, about a model or texts: a caveat for the numbers of every stage that uses them.

        Pass ``keep=False`` for a warning about another stage's input: a stored result must not depend on what ran before.
        """
        if keep and message not in self.input_warnings:
            self.input_warnings.append(message)
        self._once(message, progress.warn)

    def say_of_input(self, message: str) -> None:
        """Print information about a model or texts, once per run."""
        self._once(message, progress.notice)

    def _once(self, message: str, how: Callable[[str], None]) -> None:
        if message not in self.printed:
            self.printed.add(message)
            how(message)


def step_of(at: str, steps: int) -> int:
    """Return the step that ``500`` or ``55%`` refers to in a training stage of ``steps`` steps.

    :raises UsageError: it is after the last step.
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
    """Why a setting cannot change the result of its stage."""

    reason: str
    """The reason, which completes the sentence that names the setting."""
    harmless: bool = False
    """Whether the setting does not mislead when it is in a recipe: only setting it by name is refused."""


@frozen
class Stage(Component):
    """Settings of one step of a recipe. Its references name the stages whose outputs it uses."""

    kind: ClassVar[str] = "stage"
    seeded: ClassVar[bool] = True
    """Whether the result depends on the run's seed directly, and not only through its inputs."""
    replaces: ClassVar[tuple[str, ...]] = ()
    """The kinds of stages whose files it also writes: a setting that accepts a stage of such a kind accepts this one."""
    model_folder: ClassVar[str] = MODEL
    """The folder of the finished classifier that it writes, if it writes one."""
    measures_model: ClassVar[bool] = False
    """Whether its result has numbers of the model that its setting ``model`` names."""
    copied_output: ClassVar[tuple[str, str] | None] = None
    """A file that is copied to the directory of the run, and the folder for it there."""
    shown_elsewhere: ClassVar[tuple[str, ...]] = ()
    """Settings that labels omit, since tables show them anyway."""

    @classmethod
    def works_as(cls, *kinds: str) -> bool:
        """Return whether the stage is of one of these kinds, or replaces one."""
        return not {cls.name, *cls.replaces}.isdisjoint(kinds)

    @property
    def needs_model(self) -> bool:
        """Whether the stage loads the recipe's model."""
        return False

    @property
    def uses_task(self) -> bool:
        """Whether the result depends on the task's data directly, and not only through its inputs. If not, tasks share the stage."""
        return True

    @property
    def uses_ood(self) -> bool:
        """Whether the result depends on the recipe's challenge sets."""
        return False

    @property
    def shrinks(self) -> bool:
        """Whether the stage cuts the heads and neurons that its ticket removes out of a model, if that is what its ticket removes."""
        return False

    def longest(self, of_recipe: int) -> int:
        """Return the maximum length of this stage's inputs in tokens; ``of_recipe`` is the recipe's."""
        return of_recipe

    def references(self) -> dict[str, str]:
        """Return the references that are set and are not :data:`PRETRAINED`, by field name."""
        found = {field.name: getattr(self, field.name) for field in attrs.fields(type(self)) if "reference" in field.metadata}
        return {name: value for name, value in found.items() if value not in (None, PRETRAINED)}

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse settings that cannot work with the referenced stages, before anything is computed. ``named`` has the stages by field name.

        :raises SettingError: a setting is refused; the message begins with its name.
        """

    def check_packages(self) -> None:
        """Check that the packages that the stage needs are installed, before anything is computed.

        :raises ResourceError: one is missing.
        """

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings that cannot change the result given the other settings, by path (``stop.heads``)."""
        return {}

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and settings that have no effect but stay in the key, such as those that other ``stages`` make useless."""
        return self.unused()

    def caveats(self, stages: Mapping[str, Stage]) -> list[str]:
        """Return caveats about the result that follow from the other ``stages`` of the recipe, by name."""
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
        """Return the files and folders, in addition to its references, whose content the result depends on, by their role.

        Content that is not in a file is given as its ``sha256:`` hash.
        """
        return {}

    def run(self, context: Context) -> dict[str, Any]:
        """Run the stage: write its files to ``context.directory`` and return the result, JSON values by name.

        ``numbers`` in the result are numbers by name, which tables and files of numbers show as ``KIND.NAME``, and ``numbers_note`` is a
        line about them to print under tables. A table of the stage's own should have the name of its kind.
        :data:`ticketlab.stages.result.RESERVED` are the names that the run adds.
        """
        raise NotImplementedError


@frozen
class TaskStage(Stage):
    """A stage that uses the data of a task: the task of the run, or its own."""

    task: Task | None = component(
        "task",
        None,
        added_later=True,
        help="the data that this stage uses, as in `tasks` of the recipe, where a name or path is enough; none: the task of the run. All "
        "tasks of a run share a stage that has its own, if they share its inputs",
    )

    @property
    def own_task(self) -> Task | None:
        """The task that the stage uses instead of the run's; None if it uses that one, or none at all."""
        return self.task if self.uses_task else None
