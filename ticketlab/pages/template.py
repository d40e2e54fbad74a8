"""The templates of pages: every value is escaped and made printable, and scripts are named by their hash in the page's policy."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ticketlab.core.formatting import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PACKAGE = "ticketlab.pages"
FOLDER = "templates"


def render(name: str, **values: Any) -> str:
    """Return a template filled with values. Undefined values are errors."""
    return _environment().get_template(name).render(**values)


def asset(name: str) -> str:
    """Return the text of a style sheet or a script in the folder of templates."""
    return (files(PACKAGE) / FOLDER / name).read_text(encoding="utf-8")


def policy_hash(script: str) -> str:
    """Return the source expression that allows exactly this inline script in a Content-Security-Policy."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def readable(value: Any) -> Any:
        """Return a value with the characters escaped that are invisible or reorder text; what a template inserts passes through here."""
        return value if isinstance(value, Markup) else printable(value)

    environment = Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=readable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["lines"] = _lines
    return environment


def _lines(text: object) -> Markup:
    """Escape a text of several lines, whose line breaks are kept."""
    from markupsafe import escape

    return escape(printable(str(text).replace("\t", "    "), lines=True))
