"""Generates the reference pages from the code: settings, recipes, hooks, the public names of Python and the help of every command.

Run ``python docs/generate.py`` after a change to any of these; a test compares the pages with the output of this script.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from markdown_text import linked, paragraph, prose, table
from python_pages import plugin_page, python_page
from signatures import WIDTH, bare

from ticketlab.cli.describe_settings import describe
from ticketlab.cli.main import cli
from ticketlab.core import hookspecs, registry
from ticketlab.core.component import Component
from ticketlab.core.hookspecs import HOOK_OF_KIND
from ticketlab.core.setting_values import settings_of
from ticketlab.papers.catalogue import PAPERS, paper_studies
from ticketlab.papers.costs import Cost, known_costs
from ticketlab.papers.counting import write_costs
from ticketlab.recipes import tables
from ticketlab.recipes.head import RecipeHead

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Written by docs/generate.py. -->\n\n"
LINE = 140
PLURALS = {"adversary": "Adversaries", "loss": "Losses", "metric": "Evaluation metrics"}
PROMISE = """\
The public names are those of this page and of [](plugin.md): `ticketlab` is for users, `ticketlab.plugin` for authors of plugins,
`ticketlab.testing` for their tests, `ticketlab.auto` for `transformers`, and
[`ticketlab.figures`](../howto/figures.md#from-python) for figures. Everything else may change in any version.

ticketlab follows [Semantic Versioning](https://semver.org/). As long as the major version stays the same (before 1.0, the minor
version):

- a public name stays importable, and keeps its parameters and their meaning; new parameters have defaults, and new methods of a base
  class have implementations;
- commands, flags, components and settings keep their names, and the files of a run their keys;
- a changed default, and a changed result of a [stage](stages.md) with the same settings, is in the changelog; the component then has
  another `version`, so that earlier results are not taken for its own.

A public name is deprecated before it is removed: for at least one minor version it still works and issues a `DeprecationWarning` that
names its replacement. `CHANGELOG.md` lists every such change, under "Deprecated", "Removed" or "Changed". The wording of messages and
the layout of tables may change at any time.

## The plugin API

The plugin API has a version of its own, `MAJOR.MINOR`, which is `ticketlab.plugin.API_VERSION`. It covers the names of
`ticketlab.plugin` and `ticketlab.testing`, the [hooks](hooks.md) with their arguments, the methods and class attributes of the base
classes, and what is passed to and expected of them.

- The minor version is raised when something is added: a name, a hook, an argument of a hook, or a method that has an implementation.
  A plugin that is written for an earlier minor version works unchanged.
- The major version is raised when something is removed, or changed so that a plugin may have to change. What is removed has been
  deprecated before: in at least one minor version of the plugin API, and of ticketlab, it works and issues a `DeprecationWarning` that
  names its replacement.

A plugin states the version that it is written for in its entry module, as `TICKETLAB_API = "1.0"`; without this line it is 1.0. It is
the lowest version that has all that the plugin uses. Plugins of the same major version, and the same minor version or an earlier one, are
loaded. Others are refused with one line, before any code of theirs is imported. `ticketlab plugins` shows the version of each plugin and
`ticketlab doctor` that of ticketlab."""


def pages() -> dict[str, str]:
    """Return the generated pages by their names in docs/reference/."""
    builtin = registry.load(entry_points=False)
    with registry.using(builtin):
        found = {
            "stages.md": stages_page(builtin),
            "recipes.md": recipes_page(builtin),
            "papers.md": papers_page(),
            "hooks.md": hooks_page(),
            "commands.md": commands_page(),
            "python.md": python_page(PROMISE),
            "plugin.md": plugin_page(),
        }
        for kind in HOOK_OF_KIND:
            if builtin.names(kind) and kind != "stage":
                found[f"{plural(kind).lower().replace(' ', '-')}.md"] = components_page(builtin, kind)
    return {name: NOTE + text.rstrip() + "\n" for name, text in found.items()}


def plural(kind: str) -> str:
    """Return the plural of the name of a kind of component."""
    return PLURALS.get(kind, f"{kind.capitalize()}s")


def stages_page(builtin: registry.Registry) -> str:
    """Return the page of stage kinds."""
    intro = """
        A recipe consists of stages. Each is a table with a `kind`; the settings below are its keys, and `--set STAGE.SETTING=VALUE` sets
        them on the command line. A setting of the type "stage or path" names an earlier stage of the recipe, or a path or model outside it.
        Settings marked ° change how a result is computed, but not the result itself, so they are not part of its key.
        """
    head = table(("Key", "Meaning"), [(f"`{field.name}`", field.metadata["help"]) for field in settings_of(RecipeHead)])
    stages = "\n\n".join(section(builtin.get("stage", name)) for name in builtin.names("stage"))
    above = f"Above the stages, a recipe has these keys (`--set KEY=VALUE`):\n\n{head}"
    return f"# Stages\n\n{paragraph(intro)}\n\n{above}\n\n{stages}"


def components_page(builtin: registry.Registry, kind: str) -> str:
    """Return the page of a kind of component."""
    intro = f"`ticketlab show {kind.replace(' ', '-')} NAME` prints this for any component, those of plugins included."
    sections = "\n\n".join(section(builtin.get(kind, name)) for name in builtin.names(kind))
    return f"# {plural(kind)}\n\n{intro}\n\n{sections}"


def section(cls: type[Component]) -> str:
    """Return the section of a component: summary, docstring, paper, settings."""
    parts = [f"## {cls.name}", f"{cls.summary[0].upper()}{cls.summary[1:]}."]
    if about := prose(cls.__dict__.get("__doc__") or ""):
        parts.append(about)
    if cls.paper:
        parts.append(f"Paper: {linked(cls.paper)}.")
    if languages := getattr(cls, "languages", ""):
        parts.append(f"Languages: {languages}.")
    rows = [setting_row(setting) for setting in describe(cls)]
    parts.append(table(("Setting", "Type", "Default", "Bounds", "Description"), rows) if rows else "It has no settings.")
    return "\n\n".join(parts)


def setting_row(setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a setting."""
    mark = "" if setting["changes_results"] else "°"
    unit = f" [{setting['unit']}]" if setting["unit"] else ""
    default = setting["default_text"]
    return (
        f"`{setting['name']}`{mark}",
        setting["type"],
        f"`{default}`" if default else "",
        setting["bounds_text"],
        setting["help"] + unit,
    )


def recipes_page(builtin: registry.Registry) -> str:
    """Return the page of recipes."""
    intro = """
        `ticketlab recipes show NAME` prints the TOML file of a recipe, and `ticketlab run NAME --dry-run` all of its settings. Settings
        that a table omits have the defaults of the [stage](stages.md). Overlays are applied last: those of a task apply to the data set of
        that name, those of a scale are selected with `--scale`; `small` fits two cores. A recipe with `extends = "NAME"` starts from that
        recipe and overrides it with its own tables; NAME is a recipe of this list, or a TOML file in the same folder. The source of each
        number is in [](hyperparameters.md).
        """
    parts = [recipe_section(name, path) for name, (path, _) in sorted(builtin.recipes.items())]
    return f"# Recipes\n\n{paragraph(intro)}\n\n" + "\n\n".join(parts)


def recipe_section(name: str, path: Path) -> str:
    """Return the section of a recipe."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = [f"## {name}", f"{raw['summary'][0].upper()}{raw['summary'][1:]}."]
    if raw.get("paper"):
        parts.append(f"Paper: {linked(raw['paper'])}.")
    if raw.get("paper_seeds", "none") != "none":
        parts.append(f"The published comparison uses {raw['paper_seeds']} seeds.")
    if "extends" in raw:
        parts.append(f"The recipe [{raw['extends']}](#{raw['extends']}) with these settings changed:")
    kinds = {key: value["kind"] for key, value in tables.read(path)[1].items() if isinstance(value, dict) and "kind" in value}
    rows = [(f"`{key}`", kind, settings_cell(raw[key])) for key, kind in kinds.items() if key in raw]
    if rows:
        parts.append(table(("Stage", "Kind", "Settings"), rows))
    overlays = [(f"{label} `{key}`", settings_cell(over)) for label, key, over in overlays_of(raw)]
    if overlays:
        parts.append(table(("For", "Settings"), overlays))
    return "\n\n".join(parts)


def overlays_of(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the overlays of a recipe: of tasks, then of scales."""
    for label, key in (("task", "per_task"), ("scale", "scales")):
        for name, over in raw.get(key, {}).items():
            yield label, name, over


def settings_cell(settings: Mapping[str, Any]) -> str:
    """Return settings as one cell; the settings of a component follow the name of the setting that it is in."""
    return ", ".join(f"`{path} = {value}`" for path, value in flat(settings) if path != "kind")


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings of nested tables by path; a table's ``name`` is the value of the table itself."""
    for key, value in settings.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if "name" in value:
                yield path, str(value["name"])
            yield from flat({inner: item for inner, item in value.items() if inner != "name"}, f"{path}.")
        else:
            yield path, ", ".join(map(shown, value)) if isinstance(value, list) else shown(value)


def shown(value: Any) -> str:
    """Return a value as text; a component in a list with its settings."""
    if isinstance(value, Mapping):
        settings = ", ".join(f"{key} {shown(item)}" for key, item in value.items() if key != "name")
        return f"{value['name']} ({settings})" if settings else str(value["name"])
    return f"{value:g}" if isinstance(value, float) else str(value)


def papers_page() -> str:
    """Return the page of the papers' tables and figures."""
    intro = """
        Every table and figure with results of the four papers is a study that one command runs, such as
        `ticketlab papers robust-tickets/table-1`. Each has the baselines, settings, tasks, attacks, numbers of attacked examples and
        seeds of its paper. `--dry-run` prints its cells, and what they cost in a lab. `--scale small --model demo` runs a part of it on
        built-in data, in minutes, to show what it looks like. Cells that share stages compute them once, and so do studies in one lab.
        """
    more = """
        The report of a study has the printed numbers next to ours, and what differs from the paper's set-up. Figures were published
        without their numbers, and the tables of EarlyRobust could not be read with certainty: these studies have our numbers only.
        Rows in the column "Needs a plugin" are computed if the plugin is installed or named with `--plugin`; without it they have the
        printed numbers alone, and say what to install. Cells and stages are counted without such rows, and with them after the plus sign.
        `ticketlab papers NAME --show` prints the study file, to read it or to change a copy. The column "Stages" counts those of all
        seeds. Some data sets must be copied by hand (`ticketlab show
        task fever`). The text of ORTicket is WikiText-2; `--text` names another one.
        """
    studies, costs = paper_studies(), known_costs()
    parts = []
    for folder, method in PAPERS.items():
        of_paper = [study for name, study in studies.items() if name.startswith(f"{folder}/")]
        rows = [
            (
                f"`{study.name}`",
                study.title.partition(", ")[2],
                study.summary,
                with_more(costs[study.name], "cells"),
                f"{study.seeds}",
                with_more(costs[study.name], "stages"),
                str(study.published or ""),
                ", ".join(f"{label} ({plugin})" for label, plugin in study.plugins.items()),
            )
            for study in of_paper
        ]
        head = ("Study", "In the paper", "Shows", "Cells", "Seeds", "Stages", "Printed numbers", "Needs a plugin")
        parts.append(f"## {method}\n\nPaper: {linked(of_paper[0].paper)}.\n\n{table(head, rows)}")
    return f"# Tables and figures of the papers\n\n{paragraph(intro)}\n\n{paragraph(more)}\n\n" + "\n\n".join(parts)


def with_more(cost: Cost, count: str) -> str:
    """Return a count of a study, and what levels that need a plugin add to it: ``15 + 3``."""
    own = getattr(cost, count)
    more = getattr(cost.with_plugins, count) - own if cost.with_plugins is not None else 0
    return f"{own:,} + {more:,}" if more else f"{own:,}"


def hooks_page() -> str:
    """Return the page of hooks, with their signatures."""
    intro = """
        A plugin is a module (or an object) with functions of these names, decorated with `@ticketlab.plugin.hookimpl`. A function may
        omit parameters that it does not use. `Components` is `Iterable[type[Component] | Lazy]`: component classes, or references of the
        form `ticketlab.plugin.Lazy(name, summary, "package.module:Class")`, which are imported when they are first used. See
        [](../howto/pruner.md), [](../howto/stop_rule.md), [](../howto/adversary.md), [](../howto/loss.md), [](../howto/objective.md),
        [](../howto/bias_model.md), [](../howto/attack.md), [](../howto/metric.md), [](../howto/stage.md), [](../howto/executor.md),
        [](../howto/task.md) and
        [](../howto/model_family.md), [](../howto/listener.md) for events, [](../howto/compose.md#recipes-of-a-package) for recipes, and
        [](plugin.md) for the base classes.
        """
    components = "\n\n".join(hook(name) for name in HOOK_OF_KIND.values())
    others = "\n\n".join(hook(name) for name in ("ticketlab_recipes", *hookspecs.EVENTS))
    return f"# Hooks\n\n{paragraph(intro)}\n\n## Components\n\n{components}\n\n## Recipes, and events of a run\n\n{others}"


def hook(name: str) -> str:
    """Return the section of a hook."""
    function = getattr(hookspecs, name)
    return f"### {name}\n\n```python\n@hookspec\n{definition(name, bare(function))}\n```\n\n{prose(function.__doc__ or '')}"


def definition(name: str, signature: str) -> str:
    """Return the definition of a function without its body, broken into lines as the style of the project demands."""
    line = f"def {name}{signature}: ..."
    if len(line) <= LINE:
        return line
    inside, _, result = signature.removeprefix("(").rpartition(")")
    for parameters in (f"    {inside}", "\n".join(f"    {part}," for part in re.split(r", (?=\w+: )", inside))):
        if max(map(len, parameters.splitlines())) <= LINE:
            break
    return f"def {name}(\n{parameters}\n){result}: ..."


def commands_page() -> str:
    """Return the page of commands: the help of each."""
    intro = "The output of `--help`. `--plugin` and `--no-plugins` may also be given before the command."
    return f"# Commands\n\n{intro}\n\n" + "\n\n".join(help_sections(cli, None, "ticketlab"))


def help_sections(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    """Yield the help of a command and of its subcommands."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    title = context.command_path
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"## {title}\n\n```text\n{text}\n```"
    if isinstance(command, click.Group):
        for subcommand in command.list_commands(context):
            found = command.get_command(context, subcommand)
            assert found is not None
            yield from help_sections(found, context, subcommand)


def main() -> None:
    """Write the pages, and what the papers' studies cost."""
    write_costs([path.parent for path in sorted(ROOT.glob("plugins/*/src/*/__init__.py"))])
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
