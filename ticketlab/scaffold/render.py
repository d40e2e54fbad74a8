"""Fills in the templates of generated packages."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "templates"
SUFFIX = ".jinja"


def render(template: str, /, **values: Any) -> str:
    """Return a template, named without its suffix, filled with values. Undefined values are errors."""
    return _environment().get_template(f"{template}{SUFFIX}").render(values)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quoted"] = functools.partial(json.dumps, ensure_ascii=False)
    return environment
