"""Hints for an unknown option: the nearest option, or the settings of that name, which are given with ``--set``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ticketlab.core.component import Component
from ticketlab.core.errors import TicketlabError, nearest

ARGUMENTS = "ticketlab.arguments"
"""Key in the context's ``meta`` for the arguments of the command."""
MAX_SETTINGS = 6
CUTOFF = 0.75
SYNONYMS = {"learning_rate": "lr", "num_epochs": "epochs", "num_train_epochs": "epochs"}
"""Names used by other libraries, with ours."""
ENVIRONMENT = {"TICKETLAB_DEVICE": ("device", "gpu", "cpu", "cuda", "no_cuda", "use_cpu"), "OMP_NUM_THREADS": ("threads", "num_threads")}
"""Environment variables, with the names of options that other programs have in their place."""
SINGLE_STAGE_COMMANDS = {"evaluate": "evaluate", "attack": "attack"}
"""Commands that run a single stage, with the name of the stage in ``--set``."""


def hint(option: str, context: click.Context) -> str:
    """Return a hint on what to write instead of an unknown option, or an empty string."""
    options = [name for param in context.command.params for name in param.opts if name.startswith("--")]
    near = nearest(option, options, CUTOFF)
    settings = list(_settings(context)) if "--set" in options else []
    name = option.lstrip("-").replace("-", "_").casefold()
    if f"--{SYNONYMS.get(name)}" in options:
        return f"; did you mean `--{SYNONYMS[name]}`?"
    arguments = [param.human_readable_name for param in context.command.params if isinstance(param, click.Argument)]
    if name.upper() in arguments:
        return f"; {name.upper()} is an argument: write it without `{option}`"
    found = _named(SYNONYMS.get(name, name), settings)
    if not found and near is None:
        found = _named(nearest(name, {field.name for _, field, _ in settings}, CUTOFF) or "", settings)
    if found:
        more = f", and {len(found) - MAX_SETTINGS} more" if len(found) > MAX_SETTINGS else ""
        return f"; it is a setting with these current values: {', '.join(f'--set {one}' for one in found[:MAX_SETTINGS])}{more}"
    variable = next((variable for variable, names in ENVIRONMENT.items() if name in names), None)
    if variable is not None:
        return f"; the environment variable {variable} sets it"
    return f"; did you mean `{near}`?" if near else ""


def _named(name: str, settings: Sequence[tuple[str, Any, Any]]) -> list[str]:
    """Return ``path=value`` of the settings with this name, or else of those whose help gives it as the paper's symbol."""
    symbol = re.compile(rf"\({re.escape(name)}(_\w+)?\)", re.IGNORECASE)
    same = [(path, value) for path, field, value in settings if field.name == name]
    same = same or [(path, value) for path, field, value in settings if symbol.search(field.metadata.get("help", ""))]
    return [f"{path}={_as_text(value)}" for path, value in same]


def _settings(context: click.Context) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, field and value of every setting of the stages that a command runs."""
    with contextlib.suppress(TicketlabError):  # an error in the recipe itself is reported once the option is right
        for stage, settings in _stages(context):
            yield from _walk(settings, f"{stage}.")


def _stages(context: click.Context) -> Iterator[tuple[str, Component]]:
    command = context.info_name or ""
    command = (context.parent.info_name or "") if command == "run" and context.parent and context.parent.info_name == "attack" else command
    if command in SINGLE_STAGE_COMMANDS:
        from ticketlab.recipes.recipe import stage_class

        yield SINGLE_STAGE_COMMANDS[command], stage_class(command)()
        return
    from ticketlab.core import registry
    from ticketlab.recipes.compose import compose

    arguments: Sequence[str] = context.meta.get(ARGUMENTS, ())
    with registry.using(registry.load(entry_points=False)) as known:  # the arguments are wrong, so it is not known which plugins are wanted
        recipe = next((one for one in arguments if known.knows("recipe", one) or one.endswith(".toml")), None)
        stages = compose(recipe, tasks=["demo"]).stages
    yield from stages.items()


def _walk(component: Component, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, field and value of the settings of a component, and of its nested components."""
    from ticketlab.core.setting_values import settings_of

    for field in settings_of(type(component)):
        value = getattr(component, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Component):
                yield from _walk(part, f"{path}{field.name}.{part.name}." if isinstance(value, tuple) else f"{path}{field.name}.")
        if "component" not in field.metadata:
            yield f"{path}{field.name}", field, value


def _as_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
