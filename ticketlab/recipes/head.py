"""The head of a recipe: the settings above its stages (seeds, model, tasks, ...), checked like those of every component."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import component, setting
from ticketlab.tasks.base import Task


def _check_seeds(seeds: Sequence[int]) -> None:
    if not seeds:
        raise ValueError("name at least one seed")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"a seed is named twice in {list(seeds)}")


def _check_label_pairs(pairs: Sequence[str]) -> None:
    if not all("=" in pair for pair in pairs):
        raise ValueError(f"must be a list of TASK_LABEL=OOD_LABEL, not {list(pairs)}")


@frozen
class RecipeHead:
    """The settings that hold for all stages of a recipe, in the order in which they are written.

    Settings with ``identity=False`` describe the recipe and change no result.
    """

    summary: str = setting("", identity=False, help="one line, for `ticketlab recipes`")
    paper: str = setting("", identity=False, help="where it is from")
    paper_seeds: int | None = setting(
        None,
        at_least=1,
        identity=False,
        help="number of seeds of the published comparison; `run` runs one seed unless `--seeds` sets more",
    )
    scale: str = setting("full", help="the scale that the recipe was resolved at; `full` where nothing was reduced")
    model: str = setting("bert-base-uncased", help="a model of the hub, a folder, or `demo`")
    max_length: int = setting(
        128, at_least=4, unit="tokens", help="maximum length of an input in tokens, 128 by default; longer texts are truncated, and counted"
    )
    precision: str = setting(
        "auto",
        choices=("auto", "fp32", "bf16"),
        help="`auto`, `fp32` or `bf16`; `auto` is bf16 on GPUs and CPUs with fast bf16 arithmetic",
    )
    seeds: tuple[int, ...] = setting(
        (0,), at_least=0, check=_check_seeds, help="a list; every stage that draws random numbers runs once for each seed"
    )
    train_rows: int | None = setting(
        None,
        at_least=1,
        unit="examples",
        help="maximum number of training examples for each task without its own limit, a stratified sample; `none` for all",
    )
    tasks: tuple[Task, ...] = component(
        "task",
        None,
        many=True,
        if_duplicate="rename the file or folder",
        help="a list of tables with a `name`; see [](tasks.md)",
    )
    ood: tuple[Task, ...] = component(
        "task",
        None,
        many=True,
        if_duplicate="rename the file or folder",
        help="challenge sets, a list like `tasks`: `evaluate` measures models on them too, and `mix_ood` trains on their training examples",
    )
    ood_map: tuple[str, ...] = setting(
        (), check=_check_label_pairs, help="a list of `TASK_LABEL=OOD_LABEL`, for challenge sets that have another name for a label"
    )


HEAD = tuple(field.name for field in settings_of(RecipeHead))
"""Top-level keys that are not stages."""
DESCRIPTIVE = tuple(field.name for field in settings_of(RecipeHead) if not field.metadata["identity"])
"""The keys in :data:`HEAD` that describe a recipe and change no result."""
