"""Reads the fenced blocks of a page and runs them, with small models and data in place of the large ones that the page names."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen
from click.testing import CliRunner
from support.inner_pytest import run_in_folder

from ticketlab.cli.main import cli
from ticketlab.core import registry
from ticketlab.resources import textattack_import

ROOT = Path(__file__).parents[2]
GENERATED = "<!-- Written by docs/generate.py. -->"
SHELL = ("bash", "console", "sh")
FENCE = re.compile(r"^```(?P<language>[\w{}-]*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# (?P<name>[\w/-]+\.(?:py|toml|csv))\n")
"""The first line of a block that is a file: a comment with its name, ``# NAME.py``."""


@frozen
class Block:
    """A fenced block, and the line that it begins on."""

    language: str
    body: str
    line: int


def pages() -> list[Path]:
    """Return every page that is not generated."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "plugins").glob("*/README.md"))]
    return [page for page in found if not page.read_text(encoding="utf-8").startswith(GENERATED)]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [Block(match["language"], match["body"], text.count("\n", 0, match.start()) + 1) for match in FENCE.finditer(text)]


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the commands of a shell block as words. In a ``console`` block, lines with ``$`` are commands and the rest is output."""
    text = block.body.replace("\\\n", " ")
    for line in text.splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield words[:end]
            words = words[end + 1 :]


def installs(words: Sequence[str]) -> None:
    """Check an installation command without running it: the project has its files, extras and packages.

    The project is the one in the working directory, if a page has made one there.
    """
    root = Path.cwd() if Path("pyproject.toml").is_file() else ROOT
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()}
    arguments = list(words[2:])
    while arguments:
        word = arguments.pop(0)
        if word in ("-c", "-r"):
            assert (ROOT / arguments.pop(0)).is_file(), words
        elif word in ("--extra-index-url", "--index-url"):
            assert arguments.pop(0).startswith("https://"), words
        elif not word.startswith("-"):
            name, _, extras = word.partition("[")
            folder = ROOT / name if (ROOT / name / "pyproject.toml").is_file() else root
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert not (unknown := set(extras.removesuffix("]").split(",")) - {"", *project.get("optional-dependencies", ())}), unknown
            plain = re.split(r"[=<>]", name)[0].lower()
            assert plain in {".", "ticketlab", "torch", *pinned} or (ROOT / plain / "pyproject.toml").is_file(), words


STAND_INS = {"--model": "models", "--task": "tasks", "--ood": "tasks", "--encoder": "models", "--text": "texts"}
QUICK = [f"{stage}.epochs=1" for stage in ("finetune", "search", "retrain")]


@frozen
class Reader:
    """Follows a page in ``folder``. ``models``, ``tasks`` and ``texts`` have the replacement for each name that pages use."""

    folder: Path
    models: Mapping[str, str]
    tasks: Mapping[str, str]
    texts: Mapping[str, str]
    plugins: Sequence[str] = ()
    names: dict[str, Any] = field(factory=lambda: {"__name__": "page"})
    """The namespace that all Python blocks of a page share."""

    def do(self, page: Path) -> None:
        """Run the blocks of a page in their order."""
        for block in blocks(page):
            with _place(page, block):
                self.do_block(block)

    def do_block(self, block: Block) -> None:
        """Write a file, run commands or execute Python; ignore a block of another kind."""
        if named := FILE.match(block.body):
            path = Path.cwd() / named["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language in SHELL:
            for words in commands(block):
                self.run(words)
        elif block.language == "python":
            registry.use(registry.load(self.plugins, entry_points=False))
            exec(compile(self._quoted(block.body), "<page>", "exec"), self.names)

    def run(self, words: list[str]) -> None:
        """Run a command, or only check it if it would change the machine. A command without a rule fails."""
        match words:
            case ["pip", "install", *_]:
                installs(words)
            case ["python", "-m", "pytest", *_]:
                assert shlex.join(words) in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
            case ["cd", folder]:
                os.chdir(folder)
            case ["pytest", *files]:
                assert all((Path.cwd() / file).is_file() for file in files), words
                status, output = run_in_folder(files, Path.cwd())
                assert status == 0, output
            case ["python", "-m", "build"]:
                _python("-m", "build", "--no-isolation")
            case ["twine", "upload", pattern]:
                assert {path.suffix for path in map(Path, _expanded(pattern))} == {".whl", ".gz"}
            case ["git", "tag", tag]:
                project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
                assert tag == f"v{project['version']}"
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                os.environ[name] = value
            case ["cp", source, target]:
                (found,) = _expanded(source)
                shutil.copyfile(found, self.folder / target)
            case ["ray", command, *arguments]:
                scripts = pytest.importorskip("ray.scripts.scripts", reason="ray is not installed")
                scripts.cli.commands[command].make_context(command, arguments)  # refuses unknown options
            case ["ticketlab", *arguments]:
                self.ticketlab(arguments)
            case _:
                pytest.fail(f"no rule for `{shlex.join(words)}`")

    def ticketlab(self, arguments: list[str]) -> None:
        """Run ``ticketlab`` with the replacements."""
        target = None
        if ">" in arguments:
            place = arguments.index(">")
            target, arguments = self.folder / arguments[place + 1], arguments[:place]
        arguments = [name for word in arguments for name in (_expanded(word) if "*" in word else [word])]
        arguments = self._small(arguments)
        if self._attacks(arguments) and not textattack_import.installed():
            pytest.skip("textattack is not installed")
        if "tune" in arguments[:1] and not importlib.util.find_spec("optuna"):
            pytest.skip("optuna is not installed")
        if {"onnx", "benchmark"} & set(arguments) and not importlib.util.find_spec("onnxruntime"):
            pytest.skip("onnxruntime is not installed")
        if "ray" in arguments:
            pytest.importorskip("ray", reason="ray is not installed")
            arguments = [*arguments, "--dry-run"]  # there is no cluster
        for plugin in self.plugins:
            arguments = ["--plugin", plugin, *arguments]
        result = CliRunner().invoke(cli, arguments, prog_name="ticketlab")
        assert result.exit_code == 0, f"ticketlab {shlex.join(arguments)}: {result.stderr}"
        assert result.stdout or "--out" in arguments
        if target is not None:
            target.write_text(result.stdout, encoding="utf-8")

    @staticmethod
    def _attacks(arguments: Sequence[str]) -> bool:
        command = next((word for word in arguments if not word.startswith("-")), "")
        return (
            command in ("run", "demo", "attack", "tune", "ablate", *(("ticket",) if "benchmark" in arguments else ()))
            and not {"--dry-run", "none", "--help", "unbiased"} & set(arguments)
            and not (any(word.startswith("srnet") for word in arguments) and "--attack" not in arguments)
        )

    def _small(self, arguments: list[str]) -> list[str]:
        """Replace models and data by small ones, and shorten the training."""
        found = list(arguments)
        for index, word in enumerate(found):
            if word in STAND_INS:
                found[index + 1] = self._stand_in(getattr(self, STAND_INS[word]), found[index + 1])
            elif word == "--seeds":
                found[index + 1] = "2"
            elif word == "--trials":
                found[index + 1] = "1"
        if found[:2] == ["ticket", "apply"]:
            found[3] = self._stand_in(self.models, found[3])
        if found[:2] == ["ticket", "benchmark"]:
            found[found.index("--n") + 1] = "4"
            found += ["--repeats", "2", "--length", "16"]
        if "demo" in found[:1]:
            own = ["finetune.epochs=1", "search.epochs=1"] if "unbiased" in found else ["attack.examples=4", *QUICK]
            small = [f"model={self.models['demo']}", "train_rows=48", *own]
            found += [part for assignment in small for part in ("--set", assignment)]
        if {"textfooler", "textbugger"} & set(found) and "show" not in found:
            found += [] if "--word-vectors" in found else ["--word-vectors", "vectors.txt"]
            found += [] if "--encoder" in found else ["--encoder", self.models["demo"]]
        if found[:1] in (["tune"], ["ablate"]):
            few = ("attack.examples=4",) if self._attacks(found) else ()
            found += [part for assignment in (*few, *QUICK) for part in ("--set", assignment)]
        if found[:2] == ["run", "fine-tune"]:  # a small model learns nothing at the learning rate of a large one, and then no text fools it
            learns = ("finetune.lr=0.003", "finetune.batch_size=4", "finetune.epochs=8")
            found += [part for assignment in learns for part in ("--set", assignment)]
        return found

    def _stand_in(self, known: Mapping[str, str], name: str) -> str:
        if name in known:
            return known[name]
        assert (self.folder / name).exists(), f"no replacement for `{name}`"
        return name

    def _quoted(self, code: str) -> str:
        for name, stand_in in {**self.models, **self.tasks, **self.texts}.items():
            code = code.replace(f'"{name}"', repr(stand_in))
        return code


def _python(*arguments: str) -> None:
    """Run Python in the working directory."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), "src"))}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def _expanded(pattern: str) -> list[str]:
    """Return the paths that match a pattern, as a shell does."""
    return sorted(glob.glob(pattern))  # noqa: PTH207


@contextlib.contextmanager
def _place(page: Path, block: Block) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        problem.add_note(f"in the block at {page.relative_to(ROOT)}:{block.line}")
        raise
