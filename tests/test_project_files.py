"""The files of the project agree with one another."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_workflow_runs_ci_with_every_supported_python() -> None:
    workflow: Any = yaml.safe_load(text(".github/workflows/ci.yml"))
    job = workflow["jobs"]["checks"]
    prefix = "Programming Language :: Python :: "
    supported = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"] if line.startswith(f"{prefix}3.")]
    assert job["strategy"]["matrix"]["python"] == supported
    (step,) = [step for step in job["steps"] if "run" in step]
    assert step["run"] == ".ci/run"
    assert step["env"]["PYTHON"] == "python${{ matrix.python }}"
    assert "python=${PYTHON:-python3}" in text(".ci/run")


def test_pre_commit_runs_the_checks_of_ci() -> None:
    hooks = [hook["id"] for repository in yaml.safe_load(text(".pre-commit-config.yaml"))["repos"] for hook in repository["hooks"]]
    assert {"ruff", "ruff-format", "mypy"} <= set(hooks)


def test_contributing_lists_the_sessions_of_nox() -> None:
    functions = [node for node in ast.parse(text("noxfile.py")).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    assert [function.name for function in functions] == re.findall(r"`nox -s (\w+)`", text("CONTRIBUTING.md"))


def test_contributing_names_files_that_exist() -> None:
    named = re.findall(r"`((?:ticketlab|tests|docs|core|cli)/[\w./]+\.(?:py|md))`", text("CONTRIBUTING.md"))
    named = [name if (ROOT / name.partition("/")[0]).is_dir() else f"ticketlab/{name}" for name in named if "NAME" not in name]
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_markers_select_the_tests() -> None:
    options = PROJECT["tool"]["pytest"]["ini_options"]
    assert [marker.partition(":")[0] for marker in options["markers"]] == ["slow", "system"]
    assert "-m 'not system'" in options["addopts"]
    assert "python -m pytest -n 2 --dist loadgroup -m system --no-skips\n" in text(".ci/run")


@pytest.mark.parametrize(("browser", "installs"), [(None, True), ("google-chrome", False), ("chromium", False)])
def test_ci_installs_chromium_unless_there_is_a_browser(tmp_path: Path, browser: str | None, installs: bool) -> None:
    (function,) = re.findall(r"^install_chromium\(\) \{.*?^\}", text(".ci/run"), flags=re.MULTILINE | re.DOTALL)
    for name, code in {
        "id": "echo 0",
        "apt-get": f"echo apt-get >>log; case $* in *chromium) echo '#!/bin/sh' >{tmp_path}/chromium; chmod +x {tmp_path}/chromium;; esac",
        **({browser: ""} if browser else {}),
    }.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{code}\n", encoding="utf-8")
        program.chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    script = f"set -euo pipefail\n{function}\ninstall_chromium"
    subprocess.run([bash, "-c", script], env={"PATH": str(tmp_path)}, cwd=tmp_path, check=True)
    assert (tmp_path / "log").exists() == installs


def test_every_package_in_plugins_is_checked_and_can_be_imported_by_tests() -> None:
    packages = [path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml")]
    assert set(PROJECT["tool"]["pytest"]["ini_options"]["pythonpath"]) == {"tests", *(f"plugins/{name}/src" for name in packages)}
    for name in packages:
        assert list((ROOT / "plugins" / name / "tests").glob("test_*.py")), name
        assert (ROOT / "plugins" / name / "src" / name.replace("-", "_") / "py.typed").is_file(), name
    assert "pytest -n 2 plugins\n" in text(".ci/run")
    assert ".ci/types\n" in text(".ci/run")


def test_directories_and_files_of_slow_tests_exist() -> None:
    (slow,) = [
        ast.literal_eval(node.value)
        for node in ast.parse(text("tests/conftest.py")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SLOW"
    ]
    assert [name for name in slow if not (ROOT / "tests" / name).exists()] == []


def test_accelerate_is_a_dependency_that_nothing_imports() -> None:
    """If this fails, the comment next to the dependency is wrong."""
    assert any(name.startswith("accelerate") for name in PROJECT["project"]["dependencies"])
    assert [
        path for path in (ROOT / "ticketlab").rglob("*.py") if re.search(r"^\s*(import|from) accelerate", path.read_text("utf-8"), re.M)
    ] == []


def test_the_first_release_changes_nothing() -> None:
    changelog = text("CHANGELOG.md")
    assert "\n## [0.1.0]" in changelog
    assert not re.search(r"^### (Changed|Removed|Deprecated|Fixed)$", changelog.partition("## [0.1.0]")[2], re.MULTILINE)
