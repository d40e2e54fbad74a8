"""Runs a stage and explains its errors: a failing plugin, a full disk, or too little memory."""

from __future__ import annotations

import os
import traceback
from typing import Any

from ticketlab.core import disk_and_memory, registry
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.runs.stage_key import components_in
from ticketlab.stages.base import Context, Stage


def run_explaining_errors(stage: Stage, context: Context) -> dict[str, Any]:
    """Run a stage. An unexpected error in a stage with components from plugins is attributed to the plugins.

    :raises PluginError: an unexpected error in such a stage.
    :raises OutOfSpace: a disk is full.
    :raises OutOfMemory: there is too little memory; the message lists the settings to lower.
    """
    plugins = {part: source for part in components_in(stage) if (source := registry.current().source(part)).version != "built-in"}
    try:
        return stage.run(context)
    except Exception as problem:
        short = disk_and_memory.explained(problem, lower=_what_to_lower(stage, context))
        if short is not None:
            raise type(short)(f"{context.name}: {short}") from problem
        if isinstance(problem, TicketlabError) or not plugins or os.environ.get("TICKETLAB_DEBUG") == "1":
            raise
        names = ", ".join(f"the {part.kind} `{part.name}` of {source.label}" for part, source in plugins.items())
        message = " ".join(f"{type(problem).__name__}: {problem or _where_raised(problem)}".split())
        raise PluginError(f"{context.name}: {message}; look at {names} first (TICKETLAB_DEBUG=1 shows the traceback)") from problem


def _what_to_lower(stage: Stage, context: Context) -> str:
    """Return advice on settings that reduce the memory of a stage."""
    settings = {name: getattr(stage, name) for name in ("batch_size", "in_flight", "workers") if hasattr(stage, name)}
    settings |= {"workers": "one per core"} if "workers" in settings and settings["workers"] is None else {}
    lower = [f"{context.name}.{name} (now {value})" for name, value in settings.items() if value is not None]
    return f"lower {', '.join([*lower, f'max_length (now {context.max_length})'])}, or use a smaller model"


def _where_raised(problem: Exception) -> str:
    """Return the function that raised an error without a message."""
    *_, frame = traceback.extract_tb(problem.__traceback__)
    return f"in `{frame.name}`"
