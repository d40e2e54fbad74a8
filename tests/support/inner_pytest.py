"""Running pytest inside a test, in this process: a process of its own would import torch and transformers again."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import registry

WITHOUT = ("cacheprovider", "faulthandler", "junitxml", "logging", "unraisableexception", "threadexception")
"""Parts of pytest that only take time here; ``unraisableexception`` collects garbage at the end of each session."""


def run_pytest(*arguments: str, basetemp: Path, without: Sequence[str] = WITHOUT, plugins: Sequence[Any] = ()) -> int:
    """Run pytest with its own plugins alone. Return the exit status."""
    options = [option for name in without for option in ("-p", f"no:{name}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return int(pytest.main([*options, "--basetemp", str(basetemp), "--assert=plain", *arguments], plugins=list(plugins)))


def run_in_folder(files: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run the tests of the working directory, with its modules and those in ``src``, as a new process would. Return status and output."""
    _forget_modules(folder)
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        patch.setattr(sys, "path", [str(folder / "src"), *sys.path])
        patch.setattr(registry, "_current", None)
        patch.setattr(sys, "dont_write_bytecode", True)  # a file may be written twice within the resolution of its time
        status = run_pytest("-q", *files, basetemp=folder / "pytest-files")
    _forget_modules(folder)
    return status, output.getvalue()


def _forget_modules(folder: Path) -> None:
    """Forget the modules that were imported from a folder."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve().is_relative_to(folder.resolve()):
            del sys.modules[name]
