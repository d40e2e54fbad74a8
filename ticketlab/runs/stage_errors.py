"""Runs a stage and explains its errors: a failing plugin, a full disk, or too little memory."""

from __future__ import annotations

from typing import Any

from ticketlab.backbone import device
from ticketlab.core import disk_and_memory, plugin_errors, registry
from ticketlab.core.component import components_in
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.core.plugin_frames import describe
from ticketlab.stages.base import Context, Stage


def run_explaining_errors(stage: Stage, context: Context) -> dict[str, Any]:
    """Run a stage. An unexpected error in a stage with components from plugins is attributed to the plugins.

    :raises PluginError: an unexpected error in such a stage.
    :raises OutOfSpace: a disk is full.
    :raises TicketlabError: the device lacks an operation.
    :raises OutOfMemory: there is too little memory; the message lists the settings to lower.
    """
    try:
        return stage.run(context)
    except Exception as problem:
        short = disk_and_memory.explained(problem, lower=_what_to_lower(stage, context))
        if short is not None:
            raise type(short)(f"{context.name}: {short}") from problem
        if isinstance(problem, TicketlabError):
            raise
        lacking = device.explained(problem)
        if lacking is not None:
            raise TicketlabError(f"{context.name}: {lacking}") from problem
        parts = [stage, *components_in(stage)]
        raised_in_plugin = plugin_errors.explained(problem, parts)
        if raised_in_plugin is not None:
            raise PluginError(f"{context.name}: {raised_in_plugin}") from problem
        entries = [(part, registry.current().entry_of(type(part))) for part in parts]
        of_plugins = [(part, entry.source.label) for part, entry in entries if entry is not None and not entry.source.is_built_in]
        if not of_plugins:
            raise
        names = ", ".join(f"the {part.kind} `{part.label}` of {label}" for part, label in of_plugins)
        message = describe(problem)
        raise PluginError(f"{context.name}: {message}; look at {names} first (TICKETLAB_DEBUG=1 shows the traceback)") from problem


def _what_to_lower(stage: Stage, context: Context) -> str:
    """Return advice on settings that reduce the memory of a stage."""
    settings = {name: getattr(stage, name) for name in ("batch_size", "in_flight", "workers") if hasattr(stage, name)}
    settings |= {"workers": "one per core"} if "workers" in settings and settings["workers"] is None else {}
    lower = [f"{context.name}.{name} (now {value})" for name, value in settings.items() if value is not None]
    return f"lower {', '.join([*lower, f'max_length (now {context.max_length})'])}, or use a smaller model"
