"""Parameter types for the names of components and recipes, with shell completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from ticketlab.core import registry


class ComponentName(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5 only
    """The name of a registered component. It is checked later, where the error message can say more."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name unchanged."""
        return value

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the placeholder for the value in help texts."""
        return "NAME"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the registered names, with their summaries."""
        known = registry.current()
        names = [name for name in known.names(self.kind) if name.startswith(incomplete)]
        return [CompletionItem(name, help=known.entry(self.kind, name).summary) for name in names]


class RecipeName(click.ParamType):  # type: ignore[type-arg]
    """The name of a registered recipe, or the path of a recipe file."""

    name = "recipe"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the registered names, or files if none matches."""
        names = [name for name in sorted(registry.current().recipes) if name.startswith(incomplete)]
        return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]
