"""The registry: a broken plugin, or one with a duplicate name, never breaks anything else."""

from __future__ import annotations

import hashlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from ticketlab.core import registry
from ticketlab.core.errors import PluginError, SettingError, UsageError
from ticketlab.core.hookspecs import Lazy, hookimpl
from ticketlab.core.plugin_selection import PluginSelection
from ticketlab.core.plugin_source import Source
from ticketlab.core.registry import Registry
from ticketlab.core.settings import build_component, component_table, setting
from ticketlab.pruners.base import Pruner
from ticketlab.recipes import tables


@frozen
class Middle(Pruner):
    """Nothing."""

    name: ClassVar[str] = "middle"
    summary: ClassVar[str] = "nothing"


def plugin(**hooks: Callable[..., Any]) -> types.ModuleType:
    """Return a plugin with these hooks, their names shortened."""
    module = types.ModuleType("plugin")
    for name, function in hooks.items():
        setattr(module, f"ticketlab_{name}", hookimpl(function))
    return module


def raising(problem: BaseException) -> Callable[[], Iterable[Any]]:
    def hook() -> Iterable[Any]:
        raise problem

    return hook


def half() -> Iterable[Any]:
    yield Middle
    raise ValueError("in the middle")


OURS, THEIRS = Source("ours 1", "ours==1"), Source("theirs 2", "theirs==2")

BROKEN = [
    pytest.param(plugin(pruners=raising(ValueError("a\nbad day"))), "ValueError: a bad day", id="a hook that raises"),
    pytest.param(plugin(pruners=raising(SystemExit(3))), "SystemExit: 3", id="a hook that exits"),
    pytest.param(plugin(pruners=half), "ValueError: in the middle", id="a hook that raises after its first"),
    pytest.param(plugin(pruners=lambda: [3]), "neither a class of kind pruner nor a Lazy", id="a number"),
    pytest.param(plugin(pruners=lambda: [Pruner]), "AttributeError", id="a class without a name"),
    pytest.param(plugin(attacks=lambda: [Middle]), "neither a class of kind attack", id="a class of another kind"),
    *(
        pytest.param(plugin(pruners=lambda name=name: [Lazy(name, "s", "a:B")]), "of a pruner; a name is", id=f"called {str(name)[:9]!r}")
        for name in (5, "5", "", " ", "a b", "a\x1b[2J", "x" * 1_000_000, None, "../a", "a/b", "-a", "a=b")
    ),
    pytest.param(plugin(recipes=lambda: {"a\nb": "a.toml"}), "invalid name 'a\\nb' of a recipe", id="a recipe's name in two lines"),
    pytest.param(plugin(pruners=lambda: [Lazy("a", 3, "a:B")]), "a summary must be a string, not 3", id="a summary that is a number"),
    pytest.param(plugin(pruners=lambda: [Lazy("a", "s", 3)]), "the target of the pruner `a` must be", id="a target that is a number"),
    pytest.param(plugin(pruners=lambda: 3), "TypeError", id="no list"),
    pytest.param(plugin(recipes=lambda: ["a.toml"]), "ValueError", id="recipes without names"),
    pytest.param(plugin(recipes=lambda: {"a": 3}), "TypeError", id="a recipe without a path"),
    pytest.param(plugin(pruners=lambda wrong: []), "PluginValidationError", id="an argument that the hook has not"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_a_broken_plugin_leaves_the_registry_as_it_was(builtins_only: Registry, broken: Any, message: str) -> None:
    entries, recipes, sources = dict(builtins_only.registered), dict(builtins_only.recipes), list(builtins_only.sources)
    builtins_only.register(broken, OURS)
    assert (builtins_only.registered, builtins_only.recipes, builtins_only.sources) == (entries, recipes, sources)
    (problem,) = builtins_only.problems
    assert problem.message.startswith("ours 1 does not load: ")
    assert message in problem.message
    assert "\n" not in problem.message
    assert not builtins_only.manager.is_registered(broken)


def test_the_traceback_of_a_broken_plugin_is_printed_in_debug_mode(
    builtins_only: Registry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TICKETLAB_DEBUG", "1")
    builtins_only.register(plugin(pruners=half), OURS)
    builtins_only.register(plugin(on_log=lambda record: 1 / 0), THEIRS)
    builtins_only.notify("ticketlab_on_log", record={})
    told = capsys.readouterr().err
    assert told.count("Traceback (most recent call last)") == 2
    assert "in half" in told


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_a_broken_plugin_is_an_error_with_strict_plugins(
    builtins_only: Registry, monkeypatch: pytest.MonkeyPatch, broken: Any, message: str
) -> None:
    monkeypatch.setenv("TICKETLAB_STRICT_PLUGINS", "1")
    with pytest.raises(PluginError, match="ours 1 does not load"):
        builtins_only.register(broken, OURS)


def test_the_error_for_an_unknown_component_names_broken_plugins(builtins_only: Registry) -> None:
    builtins_only.register(plugin(pruners=raising(ValueError("bad"))), OURS)
    with pytest.raises(SettingError, match=r"unknown pruner `middle`.*\(ours 1 does not load: ValueError: bad\)"):
        builtins_only.get("pruner", "middle")
    assert builtins_only.get("pruner", "magnitude").name == "magnitude"


def test_an_unknown_hook_is_a_problem_and_the_other_hooks_are_used(builtins_only: Registry) -> None:
    builtins_only.register(plugin(prunners=lambda: [], pruners=lambda: [Middle]), OURS)
    (problem,) = builtins_only.problems
    what = r"ours 1 has an unknown hook `ticketlab_prunners`; did you mean `ticketlab_pruners`\? \(test_registry\.py:\d+\)"
    assert re.fullmatch(what, problem.message)
    assert builtins_only.get("pruner", "middle") is Middle


def test_a_hook_that_is_not_marked_is_a_problem(builtins_only: Registry) -> None:
    forgotten = plugin(pruners=lambda: [Middle])
    forgotten.ticketlab_losses = list  # type: ignore[attr-defined]
    builtins_only.register(forgotten, OURS)
    assert [problem.message for problem in builtins_only.problems] == [
        "`ticketlab_losses` of ours 1 is not called: mark it with @ticketlab.plugin.hookimpl"
    ]
    assert builtins_only.get("pruner", "middle") is Middle


def variant_of(name: str) -> type[Middle]:
    return types.new_class("Mine", (Middle,), exec_body=lambda body: body.update(name=name, __module__=__name__))


def test_a_name_of_two_plugins_is_refused_unless_the_package_is_named(builtins_only: Registry) -> None:
    mine = variant_of("middle")
    builtins_only.register(plugin(pruners=lambda: [Middle]), THEIRS)
    builtins_only.register(plugin(pruners=lambda: [mine]), OURS)
    both = "the pruner `middle` is registered by both theirs 2 and ours 1; write `theirs:middle` or `ours:middle`"
    assert [problem.message.partition(" (")[0] for problem in builtins_only.problems] == [both]
    with pytest.raises(PluginError, match=both):
        builtins_only.get("pruner", "middle")
    assert builtins_only.get("pruner", "theirs:middle") is Middle
    assert builtins_only.get("pruner", "OURS:middle") is mine
    assert {"ours:middle", "theirs:middle"} <= set(builtins_only.names("pruner"))
    assert "middle" not in builtins_only.names("pruner")
    assert builtins_only.get("pruner", "random").name == "random"


def test_a_built_in_component_keeps_its_name_and_a_plugin_with_that_name_is_warned_about(builtins_only: Registry) -> None:
    mine, magnitude = variant_of("magnitude"), builtins_only.get("pruner", "magnitude")
    builtins_only.register(plugin(pruners=lambda: [mine]), OURS)
    assert [problem.message for problem in builtins_only.problems] == [
        "the pruner `magnitude` is registered by both ticketlab and ours 1; `magnitude` is that of ticketlab, write `ours:magnitude` for "
        "the other"
    ]
    assert builtins_only.get("pruner", "magnitude") is builtins_only.get("pruner", "ticketlab:magnitude") is magnitude
    assert builtins_only.get("pruner", "ours:magnitude") is mine


def test_a_package_may_be_named_where_nothing_clashes(builtins_only: Registry) -> None:
    builtins_only.register(plugin(pruners=lambda: [Middle]), OURS)
    assert builtins_only.get("pruner", "ours:middle") is Middle
    assert builtins_only.name_of_class(Middle) == "middle"
    assert builtins_only.find("pruner", "ours:middle") is builtins_only.find("pruner", "middle") is builtins_only.entry("pruner", "middle")
    assert builtins_only.find("pruner", "nobody:middle") is None
    with pytest.raises(SettingError, match=r"ours 1 has no pruner `midle`; did you mean `middle`\?"):
        builtins_only.get("pruner", "ours:midle")
    with pytest.raises(SettingError, match="unknown pruner `nobody`"):
        builtins_only.get("pruner", "nobody:middle")


def test_the_chosen_component_is_recorded_and_built_again(builtins_only: Registry) -> None:
    mine = variant_of("magnitude")
    builtins_only.register(plugin(pruners=lambda: [mine]), OURS)
    for name in ("magnitude", "ours:magnitude"):
        made = build_component("pruner", name, "pruner")
        table = component_table(made)
        assert (table["name"], made.label) == (name, name)
        assert build_component("pruner", table, "pruner") == made
    assert builtins_only.version(build_component("pruner", "ours:magnitude", "")) != "built-in/1"


@frozen
class Chosen(Middle):
    """It has variants."""

    name: ClassVar[str] = "chosen"
    variant: ClassVar[str] = "way"

    way: str = setting("plain", help="which one")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("chosen:fast", ("chosen", "fast"), id="NAME:VALUE"),
        pytest.param("ours:chosen", ("chosen", "plain"), id="PACKAGE:NAME"),
        pytest.param("ours:chosen:fast", ("chosen", "fast"), id="PACKAGE:NAME:VALUE"),
        pytest.param("ours:chosen:ours:x", ("chosen", "ours:x"), id="a value with a colon"),
        pytest.param("middle:middle", ("middle", None), id="a package called like its component"),
    ],
)
def test_a_package_and_a_value_are_told_apart(builtins_only: Registry, name: str, expected: tuple[str, str | None]) -> None:
    builtins_only.register(plugin(pruners=lambda: [Chosen]), OURS)
    builtins_only.register(plugin(pruners=lambda: [Middle]), Source("middle 1", "middle==1"))
    built = build_component("pruner", name, "pruner")
    assert (built.name, getattr(built, "way", None)) == expected


def test_a_package_called_like_a_component_with_variants_is_refused_if_both_may_be_meant(builtins_only: Registry) -> None:
    builtins_only.register(plugin(pruners=lambda: [Chosen]), OURS)
    builtins_only.register(plugin(pruners=lambda: [Middle]), Source("chosen 1", "chosen==1"))
    assert build_component("pruner", "chosen:fast", "").label == "chosen:fast"
    with pytest.raises(SettingError, match="both the pruner `middle` of chosen 1 and a variant of `chosen`: write `ours:chosen:middle`"):
        builtins_only.get("pruner", "chosen:middle")


def test_two_plugins_of_one_name_cannot_be_told_apart(builtins_only: Registry) -> None:
    builtins_only.register(plugin(pruners=lambda: [Middle]), OURS)
    builtins_only.register(plugin(pruners=lambda: [variant_of("middle")]), Source("ours 2", "ours==2"))
    for name in ("middle", "ours:middle"):
        with pytest.raises(PluginError, match="registered by both ours 1 and ours 2; rename one, or the file or package"):
            builtins_only.get("pruner", name)


def test_two_entry_points_of_a_package_may_register_the_same_component(builtins_only: Registry) -> None:
    for _ in range(2):
        builtins_only.register(plugin(pruners=lambda: [Middle]), OURS)
    assert builtins_only.problems == []
    assert builtins_only.get("pruner", "middle") is Middle


def test_a_recipe_of_a_plugin_is_chosen_by_its_package(builtins_only: Registry, tmp_path: Path) -> None:
    file = tmp_path / "pgd.toml"
    file.write_text('extends = "pgd"\n[finetune]\nepochs = 9\n', encoding="utf-8")
    builtins_only.register(plugin(recipes=lambda: {"pgd": str(file), "mine": "mine.toml"}), OURS)
    (problem,) = builtins_only.problems
    assert problem.message.startswith(
        "the recipe `pgd` is registered by both ticketlab and ours 1; `pgd` is that of ticketlab, write `ours:pgd` for the other (test_"
    )
    assert builtins_only.recipe("mine") == Path("mine.toml")
    assert tables.read("ours:pgd")[1]["finetune"]["epochs"] == 9
    assert tables.read("ours:pgd")[1]["finetune"] == tables.read("pgd")[1]["finetune"] | {"epochs": 9}


def test_unregistering_removes_everything(builtins_only: Registry) -> None:
    entries, recipes, sources = dict(builtins_only.registered), dict(builtins_only.recipes), list(builtins_only.sources)
    heard: list[Any] = []
    mine = plugin(
        pruners=lambda: [Middle], recipes=lambda: {"mine": "mine.toml", "pgd": "mine.toml"}, on_log=lambda record: heard.append(record)
    )
    builtins_only.register(mine, OURS)
    builtins_only.unregister(mine, OURS)
    assert (builtins_only.registered, builtins_only.recipes, builtins_only.sources) == (entries, recipes, sources)
    assert builtins_only.problems == []
    builtins_only.notify("ticketlab_on_log", record={})
    assert heard == []


def test_registering_the_same_plugin_again_changes_nothing(builtins_only: Registry) -> None:
    heard: list[Any] = []
    mine = plugin(pruners=lambda: [Middle], on_log=lambda record: heard.append(record))
    builtins_only.register(mine, OURS)
    builtins_only.register(mine, Source("ours 1, another entry point", ""))
    assert builtins_only.problems == []
    builtins_only.notify("ticketlab_on_log", record={"loss": 1})
    assert heard == [{"loss": 1}]


def test_a_tracker_that_raises_is_reported_and_removed_and_others_continue(builtins_only: Registry) -> None:
    calls: list[str] = []

    def raises(record: Mapping[str, Any]) -> None:
        calls.append("raises")
        raise ConnectionError("no\nserver")

    def follows(stage: str, result: Mapping[str, Any]) -> None:
        calls.append(stage)

    builtins_only.register(plugin(on_log=raises), OURS)
    builtins_only.register(plugin(on_log=lambda record: calls.append("hears"), stage_finished=follows), THEIRS)
    for _ in range(2):
        builtins_only.notify("ticketlab_on_log", record={})
    builtins_only.notify("ticketlab_stage_finished", stage="draw", result={})
    assert sorted(calls) == ["draw", "hears", "hears", "raises"]
    assert [problem.message for problem in builtins_only.problems] == ["ticketlab_on_log of ours 1: ConnectionError: no server"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param("nowhere.at_all:Thing", "does not import: ModuleNotFoundError", id="no module"),
        pytest.param("ticketlab.pruners.magnitude:Thing", "does not import: AttributeError", id="no class"),
        pytest.param("ticketlab.pruners.magnitude", "does not import: AttributeError", id="no colon"),
        pytest.param("ticketlab.pruners.magnitude:Magnitude", "is not the pruner `lazy`", id="another name"),
        pytest.param("ticketlab.losses.cross_entropy:CrossEntropy", "is not the pruner `lazy`", id="another kind"),
        pytest.param("json:dumps", "is not the pruner `lazy`", id="a function"),
    ],
)
def test_a_lazy_reference_is_checked_when_used(builtins_only: Registry, target: str, message: str) -> None:
    builtins_only.register(plugin(pruners=lambda: [Lazy("lazy", "late", target)]), OURS)
    assert builtins_only.problems == []
    with pytest.raises(PluginError, match="ours 1") as problem:
        builtins_only.get("pruner", "lazy")
    assert message in str(problem.value)


FILE = """
from typing import ClassVar
from attrs import frozen
from ticketlab.plugin import hookimpl
from ticketlab.pruners.base import Pruner

@frozen
class Mine(Pruner):
    name: ClassVar[str] = "mine"
    summary: ClassVar[str] = "mine"

@hookimpl
def ticketlab_pruners():
    return [Mine]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_the_version_of_a_plugin_file_is_its_hash(file: Path) -> None:
    def version() -> str:
        loaded = registry.load([file], entry_points=False)
        return loaded.version(loaded.get("pruner", "mine")())

    before = version()
    assert before == f"sha256:{hashlib.sha256(FILE.encode()).hexdigest()}/1"
    assert version() == before
    file.write_text(FILE + "# changed\n", encoding="utf-8")
    assert version() != before


def test_the_version_of_a_built_in_component_is_its_own(builtins_only: Registry) -> None:
    assert builtins_only.version(builtins_only.get("pruner", "magnitude")()) == "built-in/1"


def test_the_version_of_an_unregistered_class_is_the_hash_of_its_file(builtins_only: Registry) -> None:
    assert builtins_only.version(Middle()) == f"sha256:{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()}/1"


def test_a_class_with_the_name_of_a_built_in_one_does_not_have_its_version(builtins_only: Registry) -> None:
    assert builtins_only.version(variant_of("magnitude")()) == builtins_only.version(Middle())


def test_the_version_of_a_component_has_that_of_the_plugin_that_it_extends(builtins_only: Registry) -> None:
    builtins_only.register(plugin(pruners=lambda: [Middle]), Source("theirs 2", "sha256:theirs"))
    builtins_only.register(plugin(pruners=lambda: [Chosen]), Source("ours 1", "sha256:ours"))
    assert builtins_only.version(Chosen()) == "sha256:ours sha256:theirs/1"


def test_a_plugin_file_named_twice_is_one_plugin(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    loaded = registry.load([file, "mine.py", "./mine.py"], entry_points=False)
    assert loaded.problems == []
    assert loaded.get("pruner", "mine").name == "mine"


@pytest.mark.parametrize("name", ["missing.py", ".", "notes.txt"])
def test_an_invalid_plugin_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("notes", encoding="utf-8")
    with pytest.raises(UsageError, match=r"--plugin .*: (there is no such file|not a Python file)"):
        registry.load([tmp_path / name], entry_points=False)


def test_the_folder_of_a_project_as_plugin_names_its_package(tmp_path: Path) -> None:
    package = tmp_path / "src" / "mine"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    with pytest.raises(UsageError, match=rf"; did you mean `{re.escape(str(package))}`\?"):
        registry.load([tmp_path], entry_points=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"def", "SyntaxError", id="syntax"),
        pytest.param(b"\0\xff", "SyntaxError", id="binary"),
        pytest.param(b"import nowhere_at_all", "ModuleNotFoundError", id="import"),
        pytest.param(b"raise SystemExit(0)", "SystemExit", id="exit"),
        pytest.param(b"1 / 0", "ZeroDivisionError", id="raises"),
    ],
)
def test_a_plugin_file_that_does_not_load_is_a_problem(file: Path, tmp_path: Path, content: bytes, message: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_bytes(content)
    loaded = registry.load([bad, file], entry_points=False)
    (problem,) = loaded.problems
    assert problem.message.startswith(f"{bad} does not load: {message}")
    assert loaded.get("pruner", "mine").name == "mine"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two installed plugins: the first raises, the second has a pruner."""
    for name, content in {"bad_one": "1 / 0", "good_one": FILE}.items():
        info = tmp_path / "site" / f"{name}-2.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[ticketlab]\nx = {name}\n", encoding="utf-8")
        (tmp_path / "site" / f"{name}.py").write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")


@pytest.mark.usefixtures("installed")
def test_installed_plugins_are_loaded_one_by_one() -> None:
    loaded = registry.load()
    assert [problem.message for problem in loaded.problems] == [
        "bad_one 2.0 does not load: ZeroDivisionError: division by zero (bad_one.py:1)"
    ]
    code = hashlib.sha256(FILE.encode()).hexdigest()
    assert loaded.version(loaded.get("pruner", "mine")()) == f"good_one==2.0 sha256:{code}/1"


@pytest.mark.usefixtures("installed")
def test_installed_plugins_can_be_left_out() -> None:
    loaded = registry.load(entry_points=False)
    assert loaded.problems == []
    assert "mine" not in loaded.names("pruner")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("how", ["argument", "environment"])
def test_one_plugin_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("TICKETLAB_NO_PLUGIN", "bad-one" if how == "environment" else "")
    loaded = registry.load(off=["bad_one"] if how == "argument" else [])
    assert loaded.problems == []
    assert [source.label for source in loaded.off] == ["bad_one 2.0"]
    assert loaded.get("pruner", "mine").name == "mine"
    with pytest.raises(SettingError, match=r"unknown pruner `theirs`.*\(bad_one 2\.0 is switched off\)"):
        loaded.get("pruner", "theirs")


@pytest.mark.usefixtures("installed")
def test_an_unknown_plugin_to_switch_off_is_an_error_and_a_problem_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--no-plugin good_on: no such plugin is installed; did you mean `good_one`"):
        registry.load(off=["good_on"])
    monkeypatch.setenv("TICKETLAB_NO_PLUGIN", "elsewhere, bad_one")
    assert [problem.message.partition(";")[0] for problem in registry.load().problems] == [
        "TICKETLAB_NO_PLUGIN: no plugin `elsewhere` is installed"
    ]


@pytest.mark.usefixtures("installed")
def test_the_selection_of_plugins_is_handed_on_as_arguments(file: Path) -> None:
    loaded = registry.load([file], off=["bad_one"])
    again = registry.load_selection(PluginSelection.from_arguments(loaded.selection.to_arguments()))
    assert again.selection == loaded.selection
    assert [source.label for source in again.sources] == [source.label for source in loaded.sources]
    none = registry.load(entry_points=False).selection
    assert PluginSelection.from_arguments(none.to_arguments()) == none


@pytest.mark.usefixtures("installed")
def test_strict_plugins_covers_installed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICKETLAB_STRICT_PLUGINS", "1")
    with pytest.raises(PluginError, match=r"bad_one 2\.0"):
        registry.load()
    registry.load(entry_points=False)


def test_a_registry_is_in_use_inside_a_with_block(builtins_only: Registry) -> None:
    other = registry.load(entry_points=False)
    with registry.using(other):
        assert registry.current() is other
    assert registry.current() is builtins_only
