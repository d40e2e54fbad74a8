"""The registry: a broken plugin, or one with a duplicate name, never breaks anything else."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from ticketlab.core import registry
from ticketlab.core.errors import PluginError, SettingError, UsageError
from ticketlab.core.hookspecs import Lazy, hookimpl
from ticketlab.core.plugin_loading import Source
from ticketlab.core.registry import Registry
from ticketlab.pruners.base import Pruner


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
    entries, recipes, sources = dict(builtins_only.entries), dict(builtins_only.recipes), list(builtins_only.sources)
    builtins_only.register(broken, OURS)
    assert (builtins_only.entries, builtins_only.recipes, builtins_only.sources) == (entries, recipes, sources)
    (problem,) = builtins_only.problems
    assert problem.message.startswith("ours 1 does not load: ")
    assert message in problem.message
    assert "\n" not in problem.message
    assert not builtins_only.manager.is_registered(broken)


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
    assert problem.message == "ours 1 has an unknown hook `ticketlab_prunners`; did you mean `ticketlab_pruners`?"
    assert builtins_only.get("pruner", "middle") is Middle


def test_a_hook_that_is_not_marked_is_a_problem(builtins_only: Registry) -> None:
    forgotten = plugin(pruners=lambda: [Middle])
    forgotten.ticketlab_losses = list  # type: ignore[attr-defined]
    builtins_only.register(forgotten, OURS)
    assert [problem.message for problem in builtins_only.problems] == [
        "`ticketlab_losses` of ours 1 is not called: mark it with @ticketlab.plugin.hookimpl"
    ]
    assert builtins_only.get("pruner", "middle") is Middle


@pytest.mark.parametrize("name", ["magnitude", "middle"])
def test_a_duplicate_name_is_an_error_only_when_used_and_names_both_plugins(builtins_only: Registry, name: str) -> None:
    mine = types.new_class("Mine", (Middle,), exec_body=lambda body: body.update(name=name))
    if name == "middle":
        builtins_only.register(plugin(pruners=lambda: [Middle]), THEIRS)
    builtins_only.register(plugin(pruners=lambda: [mine]), OURS)
    both = f"the pruner `{name}` is registered by both {'theirs 2' if name == 'middle' else 'ticketlab'} and ours 1"
    assert [problem.message for problem in builtins_only.problems] == [both]
    assert builtins_only.get("pruner", "random").name == "random"
    with pytest.raises(PluginError, match=both):
        builtins_only.get("pruner", name)


def test_a_duplicate_recipe_is_an_error_only_when_used(builtins_only: Registry) -> None:
    from ticketlab.recipes import tables

    builtins_only.register(plugin(recipes=lambda: {"pgd": "mine.toml", "mine": "mine.toml"}), OURS)
    both = "the recipe `pgd` is registered by both ticketlab and ours 1"
    assert [problem.message for problem in builtins_only.problems] == [both]
    assert tables.read("freelb")[0] == "freelb"
    assert builtins_only.recipe("mine") == Path("mine.toml")
    with pytest.raises(PluginError, match=both):
        tables.read("pgd")


def test_unregistering_removes_everything(builtins_only: Registry) -> None:
    entries, recipes, sources = dict(builtins_only.entries), dict(builtins_only.recipes), list(builtins_only.sources)
    heard: list[Any] = []
    mine = plugin(
        pruners=lambda: [Middle], recipes=lambda: {"mine": "mine.toml", "pgd": "mine.toml"}, on_log=lambda record: heard.append(record)
    )
    builtins_only.register(mine, OURS)
    builtins_only.unregister(mine, OURS)
    assert (builtins_only.entries, builtins_only.recipes, builtins_only.sources) == (entries, recipes, sources)
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
    assert builtins_only.version(Middle()) == "/1"


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
    assert [problem.message for problem in loaded.problems] == ["bad_one 2.0 does not load: ZeroDivisionError: division by zero"]
    assert loaded.version(loaded.get("pruner", "mine")()) == "good_one==2.0/1"


@pytest.mark.usefixtures("installed")
def test_installed_plugins_can_be_left_out() -> None:
    loaded = registry.load(entry_points=False)
    assert loaded.problems == []
    assert "mine" not in loaded.names("pruner")


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
