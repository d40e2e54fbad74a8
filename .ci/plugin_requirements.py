"""Prints what the packages in plugins/ and their extras require, other than ticketlab: the tests load the packages from their sources."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

found: set[str] = set()
for path in (Path(__file__).parents[1] / "plugins").glob("*/pyproject.toml"):
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    for requirements in (project["dependencies"], *project.get("optional-dependencies", {}).values()):
        found.update(requirement for requirement in requirements if not re.match(r"ticketlab\b", requirement))
print(*sorted(found), sep="\n")
