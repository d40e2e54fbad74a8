"""Attributes unexpected errors to the plugin in whose code they were raised."""

from __future__ import annotations

from collections.abc import Iterable

from ticketlab.core import plugin_frames, registry
from ticketlab.core.callback import Callback
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, TicketlabError
from ticketlab.core.plugin_source import Source


def explained(problem: BaseException, suspects: Iterable[Component] = ()) -> PluginError | None:
    """Return an error that names the plugin, the file, the line and the function in which a problem was raised.

    None if no code of a plugin was running, or if the problem is an error of ticketlab's own kinds, whose message is for users already.
    ``suspects`` are the components that were running; they are named if the plugin's own code does not tell which of them it was.
    """
    if isinstance(problem, TicketlabError) or not isinstance(problem, Exception) or not registry.is_loaded():
        return None
    known = registry.current()
    files = {source: known.files_of(source) for source in known.sources if not source.is_built_in}
    frames = {source: frame for source in files if (frame := plugin_frames.raised_in(problem, files[source])) is not None}
    if not frames:
        return None
    source = max(frames, key=lambda source: frames[source].depth)
    return PluginError(f"{_who(problem, source, suspects)} failed: {plugin_frames.describe(problem, files[source])}")


def _who(problem: BaseException, source: Source, suspects: Iterable[Component]) -> str:
    """Return which component of a plugin raised an error, as text: that whose method was running, otherwise all suspects of the plugin."""
    parts = [part for part in suspects if _is_of(part, source)]
    owners = plugin_frames.owners(problem)
    found = next(([owner] for owner in owners if isinstance(owner, Component) and _is_of(owner, source)), parts)
    kind = next((owner.of_kind for owner in owners if isinstance(owner, Callback) and owner.of_kind), "")
    found = [part for part in found if part.kind == kind] or found
    names = dict.fromkeys(f"{part.kind} `{part.label}`" for part in found)
    return f"{' or '.join(names)} of {source.label}" if names else source.label


def _is_of(component: Component, source: Source) -> bool:
    entry = registry.current().entry_of(type(component))
    return entry is not None and entry.source == source
