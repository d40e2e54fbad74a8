"""Silence the warnings and progress bars of transformers, and turn its errors into one-line messages."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from ticketlab.core.errors import TicketlabError, UsageError


@contextlib.contextmanager
def silence_transformers() -> Iterator[None]:
    """Silence transformers inside the block, and restore its verbosity and progress bars afterwards."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextlib.contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Silence transformers while it loads the model ``name``, and turn its exceptions into a one-line ``UsageError``.

    :raises UsageError: transformers raised an exception.
    """
    try:
        with silence_transformers():
            yield
    except (TicketlabError, MemoryError):
        raise
    except Exception as problem:  # tokenizers raises plain exceptions
        advice = "" if Path(name).exists() else "; use the folder of a model, or `demo` for the demo model"
        raise UsageError(f"{name}: cannot be loaded: {_first_sentence(problem)}{advice}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # of Rust, in tokenizers and safetensors
            raise
        raise UsageError(f"{name}: cannot be loaded: {_first_sentence(problem)}") from problem


def _first_sentence(problem: BaseException) -> str:
    message = " ".join(str(problem).split()) or type(problem).__name__
    if "custom code" in message or "trust_remote_code" in message:
        return "it requires custom code, which is never run"
    message = f"{message} is unknown" if isinstance(problem, KeyError) else message
    return re.split(r"(?<=\w\w)\. ", message)[0][:200].rstrip(".")
