"""``ticketlab doctor``: check that everything a run needs is available."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.core import registry
from ticketlab.core.errors import ResourceError
from ticketlab.core.formatting import counted
from ticketlab.core.plugin_api import API_VERSION
from ticketlab.lab.directory_facts import describe_facts

HUB_SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@click.command(cls=Command, epilog="Example: ticketlab doctor --json")
@shared_options.LAB
@shared_options.JSON
def doctor(lab: Path, as_json: bool) -> None:
    """Show versions, the device, what the place of the lab supports, and the resources of attacks, with instructions for missing ones."""
    facts = _examine(lab)
    if as_json:
        output.print_json(facts)
        return
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    lines = {
        "python": f"{facts['python']} on {facts['platform']}",
        "packages": packages,
        "device": f"{facts['device']}, {counted(facts['threads'], 'thread')}",
        "precision": f"{facts['precision']} (what `auto` selects on this machine)",
        "hub": "offline" if facts["hub_offline"] else "online, downloads are allowed",
        "lab": "\n".join(describe_facts(facts["lab"])),
    }
    resources = {
        resource["name"]: resource["where"] if resource["found"] else f"missing: {resource['how_to_get']}"
        for resource in facts["resources"]
    }
    plugins = {"plugin API": facts["plugin_api"], "plugins": "; ".join(facts["plugin_problems"]) or "no problems"}
    width = max(map(len, [*lines, *resources, *plugins]))
    for part in (lines, resources, plugins):  # not a table, which would cut paths in a narrow terminal
        for name, text in part.items():
            for number, line in enumerate(text.split("\n")):
                output.print_line(f"{name if number == 0 else '':<{width}}  {line}")
        if part is not plugins:
            output.print_line()


def _examine(lab: Path) -> dict[str, Any]:
    from ticketlab.backbone.device import pick_precision
    from ticketlab.lab.open_lab import open_lab
    from ticketlab.resources import resources
    from ticketlab.runs import environment

    return {
        "lab": open_lab(lab).facts(),
        **environment.describe(),
        "precision": pick_precision("auto"),
        "hub_offline": any(os.environ.get(name, "0").lower() in ("1", "true", "yes", "on") for name in HUB_SWITCHES),
        "resources": [_demo_model(), *(attrs.asdict(status) for status in resources.survey())],
        "plugin_api": API_VERSION,
        "plugin_problems": [problem.message for problem in registry.current().problems],
    }


def _demo_model() -> dict[str, Any]:
    from ticketlab.backbone import loading

    try:
        return {"name": "demo model", "found": True, "where": loading.resolve_model("demo"), "how_to_get": ""}
    except ResourceError as problem:
        return {"name": "demo model", "found": False, "where": "", "how_to_get": str(problem)}
