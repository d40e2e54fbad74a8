"""``ticketlab show``: explain a component and its settings."""

from __future__ import annotations

import importlib
from typing import Any

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import formatting, progress, registry
from ticketlab.core.component import Component
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.hookspecs import HOOK_OF_KIND

FLAGS = {
    "pruner": "--pruner {name}",
    "adversary": "--adversary {name} (or --finetune-adversary, --retrain-adversary)",
    "loss": "--loss {name} (or --finetune-loss, --search-loss, --retrain-loss)",
    "bias model": "--bias {name}, with a loss that needs a bias model",
    "attack": "--attack {name}",
    "task": "--task {name} (or --ood {name})",
    "stop rule": "--stop {name}",
    "metric": "--metric {name}",
    "executor": "--executor {name}; its settings are set with --executor-set",
}
"""The option that selects a component; its settings are set with --set unless it says otherwise."""


@click.command(cls=Command, epilog="Example: ticketlab show pruner hard-concrete")
@click.argument("kind")
@click.argument("name", required=False)
@shared_options.JSON
def show(kind: str, name: str | None, as_json: bool) -> None:
    """Explain the component NAME of KIND: what it does, where it comes from, and its settings. Without NAME, list the components of KIND.

    KIND is pruner, adversary, loss, bias-model, attack, task, objective, stop-rule, backbone, metric, stage or executor. NAME may be
    NAME:VALUE, such as textattack:pruthi, and PACKAGE:NAME to choose among plugins.
    """
    kind = _kind(kind)
    if name is None:
        _list(kind, as_json)
    else:
        known = registry.current()
        _explain(known.get(kind, name), known.entry(kind, name).source.label, name, as_json)


def _kind(name: str) -> str:
    """Return the kind with this name, which may be plural and have a space, hyphen or underscore."""
    kinds = list(HOOK_OF_KIND)
    forms = {form: kind for kind in kinds for form in (kind, f"{kind}s", f"{kind}es", kind.removesuffix("y") + "ies")}
    word = name.lower().replace("-", " ").replace("_", " ")
    if word not in forms:
        extra = " (`ticketlab recipes show NAME` shows a recipe)" if word.startswith("recipe") else ""
        known = registry.current()
        commands = [f"show {kind.replace(' ', '-')}" for kind in kinds if known.knows(kind, name)]
        commands += ["recipes show"] if known.knows("recipe", name) else []
        if commands:
            raise UsageError(f"`{name}` is not a kind: write {' or '.join(f'`ticketlab {command} {name}`' for command in commands)}")
        raise UsageError(f"unknown kind `{name}`{did_you_mean(word.replace(' ', '-'), [kind.replace(' ', '-') for kind in kinds])}{extra}")
    return forms[word]


def _list(kind: str, as_json: bool) -> None:
    known = registry.current()
    entries = known.by_kind().get(kind, [])
    found = [{"name": known.name_of(entry), "summary": entry.summary, "source": entry.source.label} for entry in entries]
    if as_json:
        output.print_json(found)
        return
    if not found:
        progress.say(f"no {kind} is installed; plugins provide them")
        return
    from rich import box
    from rich.table import Table

    from ticketlab.report.layout import cell_text

    table = Table(kind.capitalize(), "What it is", "From", box=box.SIMPLE)
    for one in found:
        table.add_row(*(cell_text(one[key]) for key in ("name", "summary", "source")))
    output.print_table(table)


def _explain(cls: type[Component], source: str, name: str, as_json: bool) -> None:
    from ticketlab.cli.describe_settings import describe

    settings = describe(cls)
    about = (importlib.import_module(cls.__module__).__doc__ or "").strip().partition("\n")[0]
    facts: dict[str, Any] = {"kind": cls.kind, "name": cls.name, "summary": cls.summary, "paper": cls.paper, "about": about}
    facts |= {"description": _description(cls), "source": source, "class": f"{cls.__module__}:{cls.__qualname__}"}
    facts |= _attack_facts(name) if cls.kind == "attack" else {}
    if as_json:
        output.print_json({**facts, "settings": settings})
        return
    from rich import box
    from rich.table import Table

    from ticketlab.report.layout import cell_text

    output.print_line(f"{cls.kind} {cls.name}: {cls.summary}")
    output.print_line()
    if facts["description"]:
        click.echo(formatting.printable(facts["description"].replace("``", "`"), lines=True) + "\n")
    if cls.kind in FLAGS:
        output.print_line(f"use: ticketlab run {FLAGS[cls.kind].format(name=name)}")
    for fact in ("paper", "languages", "thresholds", "refused"):
        if facts.get(fact):
            output.print_line(f"{fact}: {facts[fact]}")
    output.print_line(f"from: {source} ({facts['class']})")
    for resource in facts.get("resources", ()):  # not a table, which would cut paths
        output.print_line(f"needs: {resource['name']}: {resource['where'] or 'missing: ' + resource['how_to_get']}")
        output.print_line(f"    language: {resource['language']}")
    if not settings:
        output.print_line()
        output.print_line("It has no settings.")
        return
    table = Table("Setting", "Type", "Default", "Bounds", "What it does", box=box.SIMPLE)
    for setting in settings:
        words = setting["help"] + (f" [{setting['unit']}]" if setting["unit"] else "")
        cells = (setting["name"], setting["type"], setting["default_text"], setting["bounds_text"], words)
        table.add_row(*map(cell_text, cells))
    output.print_table(table)


def _attack_facts(name: str) -> dict[str, Any]:
    """Return the facts about an attack, and where each of its resources is."""
    import attrs

    from ticketlab.core.settings import build_component

    attack: Any = build_component("attack", name, name)
    resources = attack.resources()
    return {**attack.about(), "resources": [attrs.asdict(resources.status(needed)) for needed in attack.resource_names()]}


def _description(cls: type[Component]) -> str:
    """Return the unindented docstring of a class itself, not one inherited or made by attrs."""
    import inspect

    return inspect.cleandoc(cls.__dict__.get("__doc__") or "")
