"""``ticketlab new-plugin``: write a package for a plugin."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click

from ticketlab.cli import output, shared_options
from ticketlab.cli.command import Command
from ticketlab.cli.path_types import PathType
from ticketlab.core import progress
from ticketlab.core.errors import UsageError
from ticketlab.scaffold.kinds import KINDS, PluginKind, find_kind

AUTHOR = re.compile(r"(?P<name>[^<>]*[^<>\s])?\s*(<(?P<email>[^<>\s]+@[^<>\s]+)>)?")


@click.command(cls=Command, name="new-plugin", epilog="Example: ticketlab new-plugin movement --kind pruner")
@click.argument("name")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help=f"What the package provides: {', '.join(KINDS)}; may be repeated.",
)
@click.option("--folder", type=PathType(), help="Folder to write, new or empty.  [default: ticketlab-NAME]")
@click.option("--author", default="", metavar="'NAME <EMAIL>'", help="Author of the package.")
@shared_options.JSON
def new_plugin(name: str, kinds: tuple[str, ...], folder: Path | None, author: str, as_json: bool) -> None:
    """Write the package ticketlab-NAME, with a working example of each KIND to replace by your own.

    It has the component, its hook, tests with the conformance suite, a README, and a workflow for continuous integration. NAME is that of
    the method, such as movement or "Movement Pruning".
    """
    from ticketlab.scaffold.names import derive_names
    from ticketlab.scaffold.package import check_folder, package_files, parts_of, write_package
    from ticketlab.scaffold.taken import check_free

    names = derive_names(name)
    chosen = _chosen(kinds)
    place = Path(names.package) if folder is None else folder
    check_folder(place)
    check_free(names, chosen)
    parts = parts_of(names, chosen)
    files = package_files(names, parts, _author_table(author))
    write_package(place, files)
    steps = [f"cd {shlex.quote(str(place))}", 'pip install -e ".[test]"', "ticketlab plugins", "pytest"]
    if as_json:
        output.print_json(
            {
                "package": names.package,
                "module": names.module,
                "folder": str(place),
                "plugins": [
                    {"kind": part.kind.kind, "name": names.component, "class": f"{part.full_module}:{part.class_name}"}
                    if part.kind.is_component
                    else {"kind": part.kind.kind, "name": names.component}
                    for part in parts
                ],
                "files": list(files),
                "next": steps,
            }
        )
        return
    for path in files:
        output.print_line(str(place / path))
    what = " and ".join(dict.fromkeys(part.kind.kind for part in parts))
    progress.say(f"{names.package}: {what} `{names.component}`; next:")
    for step in steps:
        progress.say(f"  {step}")


def _chosen(kinds: tuple[str, ...]) -> list[PluginKind]:
    if not kinds:
        raise UsageError(f"--kind is missing: it says what the package provides, one or several of {', '.join(KINDS)}")
    return list({kind.option: kind for kind in map(find_kind, kinds)}.values())


def _author_table(author: str) -> str:
    """Return the author as a TOML table; an empty string for none.

    :raises UsageError: it is neither a name nor an address.
    """
    found = AUTHOR.fullmatch(author.strip())
    if found is None or not author.isprintable():
        raise UsageError(f"--author {author!r}: give a name, an address in angle brackets, or both: 'Ada Lovelace <ada@example.org>'")
    values = {key: value for key, value in found.groupdict().items() if value}
    table = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return f"{{ {table} }}" if table else ""
