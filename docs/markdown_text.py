"""Markdown of the generated pages: tables, paragraphs, and docstrings without the roles of Sphinx."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def paragraph(text: str) -> str:
    """Return an indented text as one line."""
    return " ".join(text.split())


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: Sphinx roles and double backquotes become code, and links links."""
    text = textwrap.dedent(inspect.cleandoc(docstring))
    text = re.sub(r"`([^`<]+) <([^`>]+)>`_", r"[\1](\2)", text)
    text = re.sub(r":(?:class|meth|func|data|attr|mod):`~?\.?([^`]+)`", lambda match: f"`{match[1].rpartition('.')[2]}`", text)
    text = re.sub(r":raises (\w+):", r"Raises `\1`:", text)
    text = re.sub(r":param (\w+):", r"`\1`:", text).replace(":returns:", "Returns:")
    return text.replace("``", "`")


def linked(paper: str) -> str:
    """Return a citation with its URL as a link."""
    before, scheme, address = paper.partition("https://")
    return f"{before}<{scheme}{address}>" if scheme else paper
