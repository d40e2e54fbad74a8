"""``ticketlab new-plugin``: what it prints, and what it refuses."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Generate = Callable[..., Any]
NEXT = ["cd ticketlab-movement", 'pip install -e ".[test]"', "ticketlab plugins", "pytest"]


@pytest.fixture
def generate(own_registry: None, invoke: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generate:
    """Call ``ticketlab new-plugin`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: invoke("new-plugin", *arguments)


def test_it_lists_the_files_and_the_next_commands(generate: Generate) -> None:
    done = generate("Movement", "--kind", "pruner")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == sorted(str(path) for path in Path("ticketlab-movement").rglob("*") if path.is_file())
    assert done.stderr.splitlines() == ["ticketlab-movement: pruner `movement`; next:", *(f"  {step}" for step in NEXT)]


def test_json_has_the_names_the_files_and_the_next_commands(generate: Generate) -> None:
    done = generate("movement", "--kind", "pruner", "--kind", "recipe", "--kind", "Pruner", "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["plugins"] == [
        {"kind": "pruner", "name": "movement", "class": "ticketlab_movement.pruner:MovementPruner"},
        {"kind": "recipe", "name": "movement"},
    ]
    assert (found["package"], found["module"], found["next"]) == ("ticketlab-movement", "ticketlab_movement", NEXT)
    assert all((Path(found["folder"]) / path).is_file() for path in found["files"])


@pytest.mark.parametrize(
    ("author", "table"),
    [
        ("Ada Lovelace <ada@example.org>", {"name": "Ada Lovelace", "email": "ada@example.org"}),
        ('Ada "Countess" Lovelace', {"name": 'Ada "Countess" Lovelace'}),
        ("<ada@example.org>", {"email": "ada@example.org"}),
    ],
)
def test_the_author_is_in_the_project(generate: Generate, author: str, table: dict[str, str]) -> None:
    assert generate("movement", "--kind", "loss", "--author", author).exit_code == 0
    project = tomllib.loads(Path("ticketlab-movement/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"] == [table]


def test_an_empty_folder_is_used(generate: Generate) -> None:
    Path("there").mkdir()
    assert generate("movement", "--kind", "loss", "--folder", "there").exit_code == 0
    assert Path("there/pyproject.toml").is_file()
    assert generate("movement", "--kind", "loss", "--folder", "new/deeper").exit_code == 0
    assert Path("new/deeper/src/ticketlab_movement/movement.py").is_file()
    assert sorted(path.name for path in Path().iterdir()) == ["new", "there"]


def test_the_working_directory_is_used(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("here").mkdir()
    Path("link").symlink_to("here")
    monkeypatch.chdir("link")
    assert generate("movement", "--kind", "loss", "--folder", ".").exit_code == 0
    assert Path("src/ticketlab_movement/movement.py").is_file()
    assert [path.name for path in Path("..").iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "--kind is missing: it says what the package provides, one or several of pruner, adversary, "),
        (["x", "--kind", "prunner"], "--kind prunner: unknown kind; did you mean `pruner`?"),
        (["x", "--kind", "reporter"], "--kind reporter: unknown kind; available: `adversary`, "),
        (["2bit", "--kind", "loss"], "`2bit` is not a name for a plugin"),
        (["freelb", "--kind", "adversary"], "the adversary `freelb` is one of ticketlab itself; choose another name for yours"),
        (["robust-ticket", "--kind", "recipe"], "the recipe `robust-ticket` is one of ticketlab itself"),
        (["search", "--kind", "pruner"], "`search` would be the class `Search`, and its module has something else of that name"),
        (["recall", "--kind", "metric"], "a metric cannot be called `recall`, because results use that name for something else"),
        (["x", "--kind", "loss", "--author", "<ada>"], "--author '<ada>': give a name, an address in angle brackets, or both"),
        (["x", "--kind", "loss", "--folder", "full"], "full: the folder is not empty; choose another one (--folder)"),
        (["x", "--kind", "loss", "--folder", "file"], "file: it is a file; choose another folder (--folder)"),
        (["x", "--kind", "loss", "--folder", ""], "the path is empty"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(generate: Generate, arguments: list[str], message: str) -> None:
    Path("full").mkdir()
    Path("full/note").touch()
    Path("file").touch()
    done = generate(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert sorted(path.name for path in Path().iterdir()) == ["file", "full"]


def test_the_name_of_an_installed_package_or_component_is_refused(
    generate: Generate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert generate("movement", "--kind", "pruner").exit_code == 0
    plugin = tmp_path / "ticketlab-movement" / "src" / "ticketlab_movement"
    done = generate("movement", "--kind", "pruner", "--plugin", plugin, "--folder", "other")
    assert f"the pruner `movement` is one of {plugin}; choose another name for yours" in done.stderr
    site = tmp_path / "site" / "ticketlab_movement-0.3.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: ticketlab-movement\nVersion: 0.3\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    done = generate("movement", "--kind", "loss", "--folder", "other")
    assert "ticketlab-movement 0.3 is installed; choose another name for your package, or uninstall that one" in done.stderr
    assert not Path("other").exists()


def test_adapters_are_for_families_without_one(generate: Generate) -> None:
    flags: list[str] = []
    for name, model_type in (("first", "ernie"), ("second", "megatron-bert")):
        assert generate(name, "--kind", "backbone", *flags).exit_code == 0
        source = Path(f"ticketlab-{name}/src/ticketlab_{name}")
        assert f'= ("{model_type}",)' in (source / f"{name}.py").read_text(encoding="utf-8")
        flags += ["--plugin", str(source)]
    done = generate("third", "--kind", "backbone", *flags)
    assert "adapters are generated for ERNIE and Megatron-BERT, and plugins for both are installed" in done.stderr


def test_a_folder_that_cannot_be_written_is_an_error(generate: Generate) -> None:
    Path("file").touch()
    done = generate("movement", "--kind", "loss", "--folder", "file/new")
    assert (done.exit_code, done.stderr) == (1, "error: file: File exists\n")
