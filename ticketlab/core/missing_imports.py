"""What to install when a plugin imports something that is missing."""

from __future__ import annotations

import importlib.metadata
import re
import sys

from ticketlab.core.errors import did_you_mean
from ticketlab.core.plugin_source import Source, canonical

_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[[^]]*\])?\s*\(?(?P<versions>[^;)]*)\)?\s*(?:;(?P<marker>.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def advice(problem: BaseException, source: Source | None) -> str:
    """Return what to do about an import that failed, beginning with ``": "`` or ``"; "``; an empty string for every other error."""
    if not isinstance(problem, ImportError):
        return ""
    wrong = re.match(r"cannot import name '(\w+)' from 'ticketlab\.plugin'", str(problem))
    if wrong is not None:
        return did_you_mean(wrong[1], sys.modules["ticketlab.plugin"].__all__)
    missing = (problem.name or "").partition(".")[0]
    own = {module.partition(".")[0] for module in source.code.modules} if source is not None else set()
    if not isinstance(problem, ModuleNotFoundError) or not missing or missing == "ticketlab" or missing in own:
        return ""
    return f": {_what_to_install(missing, source)}"


def _what_to_install(missing: str, source: Source | None) -> str:
    distribution = source.code.distribution if source is not None else None
    required = [
        found for line in (distribution.requires if distribution is not None else None) or () if (found := _REQUIREMENT.match(line))
    ]
    for requirement in required:
        extra = _EXTRA.search(requirement["marker"] or "")
        if extra is not None and canonical(requirement["name"]) == canonical(missing) and source is not None:
            return f"pip install '{source.name}[{extra[1]}]'"
    absent = [found for found in required if "extra" not in (found["marker"] or "") and not _is_installed(found["name"])]
    named = [found for found in absent if canonical(found["name"]) == canonical(missing)] or absent
    if named:
        return "pip install " + " ".join(f"'{found['name']}{found['versions'].strip()}'" for found in named)
    return f"install the package that has the module `{missing}`"


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
