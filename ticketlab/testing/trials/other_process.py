"""What a component computes in another process, where the hashes of texts, and so the orders of sets, are others.

This module is also the program of that process: ``python -m ticketlab.testing.trials.other_process``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from ticketlab.core.component import Component
from ticketlab.core.settings import from_table, to_table
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.registration import registered

MODULE = "ticketlab.testing.trials.other_process"
SEEDS = ("1", "2")
"""Values of ``PYTHONHASHSEED``; the other process gets one that this process does not have."""


def require_same_elsewhere(
    compute: Callable[..., Any], what: str, components: Sequence[Component], uses: Iterable[type[Component]] = (), *arguments: Any
) -> None:
    """Require that ``compute(component, *arguments)`` is the same JSON here and in another process, for all ``components`` of a class.

    ``compute`` is a function of a module, and ``what`` names its result. ``uses`` are further classes that settings name, and
    ``arguments`` can be written as JSON. The test is skipped if the class is defined in a function, or in a script.
    """
    cls = type(components[0])
    if "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
        pytest.skip(f"{cls.__qualname__} is defined in a function or a script, so another process cannot import it")
    classes = [[one.__module__, inspect.getsourcefile(one), one.__qualname__] for one in (cls, *uses)]
    request = json.dumps([classes, [to_table(one) for one in components], [compute.__module__, compute.__qualname__], arguments])
    seed = next(seed for seed in SEEDS if seed != os.environ.get("PYTHONHASHSEED"))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-m", MODULE], input=request, env=environment, capture_output=True, text=True, check=False)
    last = (done.stderr.strip().splitlines() or [""])[-1]
    require(done.returncode == 0, f"the component cannot be used in another process: {last}")
    elsewhere = done.stdout.strip().splitlines()[-1]
    here = json.dumps([compute(one, *arguments) for one in components])
    require(here == elsewhere, f"{what} in another process: do not use the order of a set, or `hash` of a text")


def main() -> None:
    """Compute what the request on stdin names, and print it."""
    classes, tables, (module, name), arguments = json.load(sys.stdin)
    found = [_class_at(*place) for place in classes]
    compute = getattr(importlib.import_module(module), name)
    with registered(*found):
        results = [compute(from_table(found[0], table), *arguments) for table in tables]
    print(json.dumps(results))


def _class_at(module: str, file: str, name: str) -> Any:
    """Return a class. Its module may be one that only pytest can import by its name, such as a file of tests."""
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError:
        spec = importlib.util.spec_from_file_location(module, file)
        assert spec is not None
        assert spec.loader is not None
        found = sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    for part in name.split("."):
        found = getattr(found, part)
    return found


if __name__ == "__main__":
    main()
