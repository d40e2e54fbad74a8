"""Plugins that do not load: one line that says what, where and what to do, and everything else works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ticketlab.core import registry
from ticketlab.core.errors import SettingError

ADVERSARY = '''
from typing import ClassVar

from attrs import frozen

from ticketlab.plugin import Adversary, Lazy, hookimpl, plain_step, setting


{decorator}
class Mine(Adversary):
    """An adversary."""

    name: ClassVar[str] = "{name}"
    summary: ClassVar[str] = "an adversary"

    strength: float = setting(1.0, above=0, help="not used")


@hookimpl
def ticketlab_adversaries():
    return [{what}]
'''
FORGOTTEN = "Mine has the settings `strength` and no decorator: write @frozen above the class (stating/entry.py:10)"
NO_MODULE = "ModuleNotFoundError: No module named '{}' (stating/entry.py:1): {}"
CASES = [
    pytest.param("import os\nraise ValueError('a\\nbad day')", "ValueError: a bad day (stating/entry.py:2)", id="an error"),
    pytest.param("import sys\nsys.exit(3)", "SystemExit: 3 (stating/entry.py:2)", id="an exit"),
    pytest.param("class E(BaseException): ...\nraise E('x')", "E: x (stating/entry.py:2)", id="what pytest.skip raises"),
    pytest.param("def f(): f()\nf()", "RecursionError: maximum recursion depth exceeded (stating/entry.py:1, in f)", id="a recursion"),
    pytest.param("x = (\n", "SyntaxError: '(' was never closed (entry.py, line 1)", id="invalid syntax"),
    pytest.param(b"x = '\xff'", "SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff", id="invalid text"),
    pytest.param("x = 1\n\0", "SyntaxError: source code string cannot contain null bytes (", id="null bytes"),
    pytest.param("import nowhere", NO_MODULE.format("nowhere", "pip install 'nowhere>=0.5,<2'"), id="a requirement"),
    pytest.param("import sknowhere", NO_MODULE.format("sknowhere", "pip install 'nowhere>=0.5,<2'"), id="a requirement of another name"),
    pytest.param("import some_where.deep", NO_MODULE.format("some_where", "pip install 'stating[more]'"), id="a requirement of an extra"),
    pytest.param(
        "from ticketlab.plugin import Prunner",
        "ImportError: cannot import name 'Prunner' from 'ticketlab.plugin' ({plugin}) (stating/entry.py:1); did you mean `Pruner`?",
        id="a misspelt name of ours",
    ),
    pytest.param("from stating import helper", "ImportError: cannot import name 'helper' from 'stating' ({site})", id="a part of itself"),
    pytest.param(
        "import stating.helper", "ModuleNotFoundError: No module named 'stating.helper' (stating/entry.py:1)", id="its own module"
    ),
    pytest.param(ADVERSARY.format(decorator="", name="mine", what="Mine"), f"TypeError: {FORGOTTEN}", id="a forgotten @frozen"),
]


def message(loaded: registry.Registry) -> str:
    (problem,) = (problem for problem in loaded.problems if problem.source == "stating 2.0")
    return problem.message


@pytest.mark.parametrize(("text", "what"), CASES)
def test_a_plugin_that_does_not_load_says_where_and_what_to_do(install: Any, text: str | bytes, what: str, tmp_path: Path) -> None:
    import ticketlab.plugin

    requires = ["click>=8", 'nowhere>=0.5,<2; python_version > "3"', 'some-where>=1; extra == "more"']
    install(text, requires=requires)
    loaded = registry.load()
    told = message(loaded)
    expected = what.replace("{plugin}", str(ticketlab.plugin.__file__)).replace("{site}", str(tmp_path / "site/stating/__init__.py"))
    assert told.startswith(f"stating 2.0 does not load: {expected}")
    assert told.count(expected) == 1
    assert "\n" not in told
    assert loaded.get("adversary", "freelb").name == "freelb"


def test_a_taken_name_tells_the_line_of_the_class(install: Any) -> None:
    install(ADVERSARY.format(decorator="@frozen", name="freelb", what="Mine"))
    loaded = registry.load()
    assert message(loaded) == (
        "the adversary `freelb` is registered by both ticketlab and stating 2.0; `freelb` is that of ticketlab, write `stating:freelb` "
        "for the other (stating/entry.py:9)"
    )
    assert loaded.get("adversary", "stating:freelb").__module__ == "stating.entry"


def test_a_taken_name_tells_the_line_of_the_hook_that_returns_a_reference(install: Any) -> None:
    install(ADVERSARY.format(decorator="@frozen", name="freelb", what='Lazy("freelb", "an adversary", "stating.entry:Mine")'))
    assert message(registry.load()).endswith("for the other (stating/entry.py:19)")


def test_a_forgotten_decorator_behind_a_reference_is_told_once_with_its_line(install: Any, invoke: Any) -> None:
    install(ADVERSARY.format(decorator="", name="mine", what='Lazy("mine", "an adversary", "stating.entry:Mine")'))
    done = invoke("show", "adversary", "mine")
    assert done.stderr == f"error: adversary `mine` of stating 2.0 cannot be used: {FORGOTTEN}\n"


def test_why_a_plugin_did_not_load_is_printed_once(install: Any, invoke: Any) -> None:
    install("raise ValueError('bad day')")
    warning, error = invoke("show", "adversary", "mine").stderr.splitlines()
    assert warning == "warning: stating 2.0 does not load: ValueError: bad day (stating/entry.py:1)"
    assert error.startswith("error: unknown adversary `mine`")
    assert error.endswith("(see the warnings about stating 2.0)")
    with pytest.raises(SettingError, match=r"\(stating 2\.0 does not load: ValueError: bad day \(stating/entry\.py:1\)\)$"):
        registry.load().get("adversary", "mine")  # in Python, nothing has been printed
