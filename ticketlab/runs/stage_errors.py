"""Runs a stage and says of what goes wrong in it whose fault it is: a plugin's, or the machine's."""

from __future__ import annotations

import os
import traceback
from typing import Any

from ticketlab.core import disk_and_memory, registry
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.runs.stage_key import components_in
from ticketlab.stages.base import Context, Stage


def guarded(stage: Stage, context: Context) -> dict[str, Any]:
    """Run a stage; an unforeseen error of one that has components of plugins is theirs until shown otherwise.

    :raises PluginError: such an error.
    :raises OutOfSpace: a disk is full.
    :raises OutOfMemory: there is too little memory; the message has what to lower.
    """
    plugins = {part: source for part in components_in(stage) if (source := registry.current().source(part)).version != "built-in"}
    try:
        return stage.run(context)
    except Exception as problem:
        short = disk_and_memory.explained(problem, lower=_lower(stage, context))
        if short is not None:
            raise type(short)(f"{context.name}: {short}") from problem
        if isinstance(problem, TicketlabError) or not plugins or os.environ.get("TICKETLAB_DEBUG") == "1":
            raise
        names = ", ".join(f"the {part.kind} `{part.name}` of {source.label}" for part, source in plugins.items())
        message = " ".join(f"{type(problem).__name__}: {problem or _function(problem)}".split())
        raise PluginError(f"{context.name}: {message}; look at {names} first (TICKETLAB_DEBUG=1 shows the traceback)") from problem


def _lower(stage: Stage, context: Context) -> str:
    """Say what makes a stage take less memory."""
    settings = {name: getattr(stage, name) for name in ("batch_size", "in_flight", "workers") if hasattr(stage, name)}
    settings |= {"workers": "one a core"} if "workers" in settings and settings["workers"] is None else {}
    lower = [f"{context.name}.{name} (now {value})" for name, value in settings.items() if value is not None]
    return f"lower {', '.join([*lower, f'max_length (now {context.max_length})'])}, or take a smaller model"


def _function(problem: Exception) -> str:
    """Return where an error without words was raised."""
    *_, frame = traceback.extract_tb(problem.__traceback__)
    return f"in `{frame.name}`"
