"""Writes the reference pages that follow from the code: settings, recipes, hooks and the help of every command.

Run ``python docs/generate.py`` after a change of these; a test compares the pages with what this would write.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import ticketlab
from ticketlab.cli.describe_settings import describe
from ticketlab.cli.main import cli
from ticketlab.core import hookspecs, registry
from ticketlab.core.component import Component
from ticketlab.core.registry import HOOK_OF_KIND
from ticketlab.recipes import recipe, tables

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py. -->\n\n"
WIDTH = 100
PLURALS = {"adversary": "Adversaries", "loss": "Losses"}
OF_A_RECIPE = {
    "summary": "one line, for `ticketlab recipes`",
    "paper": "where it is from",
    "paper_seeds": "over how many seeds the published comparison is; `run` runs one unless `--seeds` says otherwise",
    "scale": "the scale that it was resolved at; `full` where nothing was reduced",
    "model": "a model of the hub, a folder, or `demo`",
    "max_length": "longest input in tokens, 128 by default; longer texts are cut, and counted",
    "precision": "`auto`, `fp32` or `bf16`; `auto` is bf16 on GPUs and CPUs that multiply it faster",
    "seeds": "a list; every stage that draws random numbers runs once for each",
    "train_rows": "at most this many training examples of each task, each class in its proportion; `none` for all",
    "tasks": "a list of tables with a `name`; see [](tasks.md)",
    "ood": "challenge sets, a list like `tasks`: `evaluate` judges models on them too, and `mix_ood` trains on their training examples",
    "ood_map": "a list of `TASK_LABEL=OOD_LABEL`, where a challenge set calls a label otherwise",
}
"""What the keys above the stages mean."""
MARK = "Marks a function as the implementation of the hook that it is named after; see [](hooks.md)."
LIFE_CYCLE = ("ticketlab_on_log", "ticketlab_stage_finished")


def pages() -> dict[str, str]:
    """Return the generated pages by their names in docs/reference/."""
    builtin = registry.load(entry_points=False)
    with registry.using(builtin):
        found = {
            "stages.md": stages_page(),
            "recipes.md": recipes_page(builtin),
            "hooks.md": hooks_page(),
            "commands.md": commands_page(),
            "python.md": python_page(),
        }
        for kind in HOOK_OF_KIND:
            if builtin.names(kind):
                found[f"{plural(kind).lower().replace(' ', '-')}.md"] = components_page(builtin, kind)
    return {name: NOTE + text.rstrip() + "\n" for name, text in found.items()}


def plural(kind: str) -> str:
    """Return what several components of a kind are called."""
    return PLURALS.get(kind, f"{kind.capitalize()}s")


def stages_page() -> str:
    """Return the page of stage kinds."""
    intro = """
        A recipe is made of stages. Each is a table with a `kind`; the settings below are its keys, and `--set STAGE.SETTING=VALUE` sets
        them on the command line. A setting of the type "stage or path" names an earlier stage of the recipe, or something outside it.
        Settings marked ° change how a result is computed and not the result: they are no part of its key.
        """
    head = table(("Key", "What it is"), [(f"`{key}`", OF_A_RECIPE[key]) for key in tables.HEAD])
    stages = "\n\n".join(section(recipe.stage_class(kind)) for kind in recipe.KINDS)
    above = f"Above the stages, a recipe has these keys, `--set KEY=VALUE`:\n\n{head}"
    return f"# Stages\n\n{paragraph(intro)}\n\n{above}\n\n{stages}"


def components_page(builtin: registry.Registry, kind: str) -> str:
    """Return the page of a kind of component."""
    intro = f"`ticketlab show {kind.replace(' ', '-')} NAME` prints the same for components of plugins."
    sections = "\n\n".join(section(builtin.get(kind, name)) for name in builtin.names(kind))
    return f"# {plural(kind)}\n\n{intro}\n\n{sections}"


def section(cls: type[Component]) -> str:
    """Return what there is to say about a component: summary, docstring, paper, settings."""
    parts = [f"## {cls.name}", f"{cls.summary[0].upper()}{cls.summary[1:]}."]
    if about := prose(cls.__dict__.get("__doc__") or ""):
        parts.append(about)
    if cls.paper:
        parts.append(f"Paper: {linked(cls.paper)}.")
    if languages := getattr(cls, "languages", ""):
        parts.append(f"Languages: {languages}.")
    rows = [setting_row(setting) for setting in describe(cls)]
    parts.append(table(("Setting", "Type", "Default", "Bounds", "What it does"), rows) if rows else "It has no settings.")
    return "\n\n".join(parts)


def setting_row(setting: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a setting."""
    mark = "" if setting["changes_results"] else "°"
    unit = f" [{setting['unit']}]" if setting["unit"] else ""
    default = setting["default_text"]
    if isinstance(setting["default"], (list, tuple)) and not setting["default"]:
        default = "none"
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
        `ticketlab recipes show NAME` prints the TOML file of a recipe, and `ticketlab run NAME --dry-run` every setting of it. What a
        table leaves out is the default of the [stage](stages.md). Overlays come last: those of a task are for the data set of that name,
        those of a scale are asked for with `--scale`; `small` fits two cores. A recipe with `extends = "NAME"` is that recipe with its own
        tables laid over it; NAME is a recipe of this list, or a TOML file beside it. Where each number is from is in
        [](hyperparameters.md).
        """
    parts = [recipe_section(name, path) for name, (path, _) in sorted(builtin.recipes.items())]
    return f"# Recipes\n\n{paragraph(intro)}\n\n" + "\n\n".join(parts)


def recipe_section(name: str, path: Path) -> str:
    """Return what there is to say about a recipe."""
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    parts = [f"## {name}", f"{raw['summary'][0].upper()}{raw['summary'][1:]}."]
    if raw.get("paper"):
        parts.append(f"Paper: {linked(raw['paper'])}.")
    if raw.get("paper_seeds", "none") != "none":
        parts.append(f"The published comparison is over {raw['paper_seeds']} seeds.")
    if "extends" in raw:
        parts.append(f"The recipe [{raw['extends']}](#{raw['extends']}) with these settings instead of its own:")
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
    """Return settings as one cell; those of a component are named by its setting."""
    return ", ".join(f"`{path} = {value}`" for path, value in flat(settings) if path != "kind")


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the settings of nested tables by path; a table's ``name`` is the value of the table itself."""
    for key, value in settings.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            if "name" in value:
                yield path, str(value["name"])
            yield from flat({inner: one for inner, one in value.items() if inner != "name"}, f"{path}.")
        else:
            yield path, ", ".join(map(shown, value)) if isinstance(value, list) else shown(value)


def shown(value: Any) -> str:
    """Return a value as text; a component in a list with its settings."""
    if isinstance(value, Mapping):
        settings = ", ".join(f"{key} {shown(one)}" for key, one in value.items() if key != "name")
        return f"{value['name']} ({settings})" if settings else str(value["name"])
    return f"{value:g}" if isinstance(value, float) else str(value)


def hooks_page() -> str:
    """Return the page of hooks, with their signatures."""
    intro = """
        A plugin is a module (or an object) with functions of these names, marked with `@ticketlab.plugin.hookimpl`. A function may
        leave out parameters that it does not use. `Components` is `Iterable[type[Component] | Lazy]`: classes, or references that are
        imported when
        they are first used, `ticketlab.plugin.Lazy(name, summary, "package.module:Class")`. See [](../howto/pruner.md),
        [](../howto/stop_rule.md), [](../howto/objective.md) and [](../howto/bias_model.md).
        """
    components = "\n\n".join(hook(name) for name in HOOK_OF_KIND.values())
    others = "\n\n".join(hook(name) for name in ("ticketlab_recipes", *LIFE_CYCLE))
    return f"# Hooks\n\n{paragraph(intro)}\n\n## Components\n\n{components}\n\n## Recipes and the life of a run\n\n{others}"


def hook(name: str) -> str:
    """Return the section of a hook."""
    function = getattr(hookspecs, name)
    return f"### {name}\n\n```python\n@hookspec\ndef {name}{bare(function)}: ...\n```\n\n{prose(function.__doc__ or '')}"


def python_page() -> str:
    """Return the page of what ``ticketlab`` exports."""
    intro = """
        Everything below is imported from `ticketlab` itself, and only when it is used. Other modules may change between versions;
        `ticketlab.testing.tiny` (tiny models to test plugins with) and `ticketlab.backbone.masks` (`attach` and `detach`, to put masks
        into the forward pass) are public as well.
        """
    parts = [f"# Python\n\n{paragraph(intro)}"]
    for name in ticketlab.__all__:
        thing = getattr(ticketlab, name)
        if not callable(thing):
            continue
        about = MARK if name == "hookimpl" else signature(name, thing) + prose(own_docstring(thing))
        parts.append(f"## {name}\n\n{about}".rstrip())
    return "\n\n".join(parts)


def own_docstring(thing: Any) -> str:
    """Return the docstring that was written for a class or function, not the one of its base."""
    return (thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__) or ""


def signature(name: str, thing: Any) -> str:
    """Return the signature of a function, or of a class, its methods and its properties, as a code block."""
    if inspect.isfunction(thing):
        return f"```python\n{name}{bare(thing)}\n```\n\n"
    if not inspect.isclass(thing):
        return ""
    if call := vars(thing).get("__call__"):
        return f"```python\n{name}{bare(call)}\n```\n\n"
    made = bare(thing) if "__init__" in vars(thing) and inspect.signature(thing).parameters else ""
    lines = [f"{name}{made}"] if made else []
    for member, value in vars(thing).items():
        function = getattr(value, "__func__", value)
        if member.startswith("_"):
            continue
        if inspect.isfunction(function):
            lines.append(f"{name}.{member}{bare(function)}")
        elif isinstance(value, property):
            lines.append(f"{name}.{member}: {inspect.get_annotations(value.fget)['return']}")  # type: ignore[arg-type]
    return "```python\n" + "\n".join(lines) + "\n```\n\n" if lines else ""


def bare(function: Any) -> str:
    """Return a signature, its annotations without quotation marks, without ``self`` and ``-> None``."""
    found = inspect.signature(function)
    parameters = [
        one.replace(
            annotation=_bare(one.annotation), default=_Bare(one.default.__name__) if inspect.isfunction(one.default) else one.default
        )
        for name, one in found.parameters.items()
        if name not in ("self", "cls")
    ]
    gives = inspect.Signature.empty if inspect.isclass(function) else _bare(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=gives))


class _Bare(str):
    def __repr__(self) -> str:
        return str(self)


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def commands_page() -> str:
    """Return the page of commands: the help of each."""
    intro = "What `--help` prints. `--plugin` and `--no-plugins` may also stand before the command."
    return f"# Commands\n\n{intro}\n\n" + "\n\n".join(helps(cli, None, "ticketlab"))


def helps(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    """Yield the help of a command and of those below it."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, parent=parent, info_name=name, **settings)
    title = context.command_path
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"## {title}\n\n```text\n{text}\n```"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from helps(found, context, below)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def paragraph(text: str) -> str:
    """Return an indented text as one line."""
    return " ".join(text.split())


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: roles and double backquotes become code."""
    text = textwrap.dedent(inspect.cleandoc(docstring))
    text = re.sub(r":(?:class|meth|func|data|attr):`~?\.?([^`]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    text = re.sub(r":raises (\w+):", r"Raises `\1`:", text)
    text = re.sub(r":param (\w+):", r"`\1`:", text).replace(":returns:", "Returns:")
    return text.replace("``", "`")


def linked(paper: str) -> str:
    """Return a reference with its address as a link."""
    before, mark, address = paper.partition("https://")
    return f"{before}<{mark}{address}>" if mark else paper


def main() -> None:
    """Write the pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
