"""The options of ``ticketlab run`` on other commands, and the keys of a study that they set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ticketlab.cli.run import STAGES
from ticketlab.cli.run import run as run_command
from ticketlab.core.errors import UsageError

PLUGINS = ("plugin", "no_plugin", "no_plugins")
NOT_SHARED = ("recipe", "seed", "seeds", "dry_run", "name", "csv_file", "jobs", "executor", "executor_sets", "processes", *PLUGINS)
"""Parameters of ``ticketlab run`` that other commands have not, or have in another form."""
OF_STAGES = {f"{stage}_{kind}": f"{stage}-{kind}" for stage in STAGES for kind in ("loss", "adversary")}


def recipe_options(command: click.Command) -> click.Command:
    """Add the options of ``ticketlab run`` that describe a recipe, with ``--lab`` and ``--json``, after a command's own options."""
    own = [param for param in command.params if param.name not in PLUGINS]
    taken = {option for param in own for option in param.opts}
    shared = [param for param in run_command.params if param.name not in NOT_SHARED and taken.isdisjoint(param.opts)]
    command.params = [*own, *shared, *(param for param in command.params if param.name in PLUGINS)]
    return command


def study_settings(options: Mapping[str, Any], sets: Sequence[str], lab: Path) -> dict[str, Any]:
    """Return the value of each key of a study that options of ``ticketlab run`` and ``--set PATH=VALUE`` set.

    :raises UsageError: a ``--set`` has no value, or a run that is named as the model is not in the lab.
    """
    from ticketlab.lab.finished_runs import find_run
    from ticketlab.studies.definition import KEY_NAMES

    found: dict[str, Any] = {}
    for name, value in options.items():
        if value not in (None, ()):
            key = KEY_NAMES.get(name) or OF_STAGES.get(name) or name.replace("_", "-")
            found[key] = list(value) if isinstance(value, tuple) else value
    if "model" in found:
        found["model"] = find_run(found["model"], lab, "model")
    if "like" in found:
        found["like"] = find_run(found["like"], lab, "draw")
    for assignment in sets:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            raise UsageError(f"--set {assignment}: write PATH=VALUE, such as search.pruner.lr=0.05")
        found[path.strip()] = value.strip()
    return found
