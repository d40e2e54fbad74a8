"""Signatures as the reference shows them: with the annotations of the source, without ``self``, broken into lines if they are long."""

from __future__ import annotations

import inspect
from typing import Any

import attrs

WIDTH = 100


def call(name: str, function: Any) -> str:
    """Return a signature after a name: on one line, or where that is too long with each parameter on its own line."""
    found = bare_signature(function)
    line = f"{name}{found}"
    if len(line) <= WIDTH:
        return line
    parameters = [str(parameter) for parameter in found.parameters.values()]
    kinds = [parameter.kind for parameter in found.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returned = str(found.replace(parameters=[])).removeprefix("()")
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){returned}"


def bare(function: Any) -> str:
    """Return a signature on one line; see :func:`bare_signature`."""
    return str(bare_signature(function))


def bare_signature(function: Any) -> inspect.Signature:
    """Return a signature, its annotations without quotation marks, without ``self`` and ``-> None``.

    A field of an attrs class has its declared type, not that of what its converter accepts.
    """
    found = inspect.signature(function)
    fields = {field.alias: field for field in attrs.fields(function)} if inspect.isclass(function) and attrs.has(function) else {}
    parameters = []
    for name, parameter in found.parameters.items():
        if name in ("self", "cls"):
            continue
        annotation = fields[name].type if name in fields else parameter.annotation
        default = parameter.default
        if name in fields and isinstance(fields[name].default, attrs.Factory):  # type: ignore[arg-type]
            default = _Bare("...")
        elif inspect.isfunction(default):
            default = _Bare(default.__name__)
        parameters.append(parameter.replace(annotation=_bare(annotation), default=default))
    returned = inspect.Signature.empty if inspect.isclass(function) else _bare(found.return_annotation)
    return found.replace(parameters=parameters, return_annotation=returned)


class _Bare(str):
    """A string whose ``repr`` is the string itself."""

    def __repr__(self) -> str:
        return str(self)


def _bare(annotation: Any) -> Any:
    return _Bare(annotation) if isinstance(annotation, str) else annotation
