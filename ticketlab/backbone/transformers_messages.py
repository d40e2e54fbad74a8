"""transformers without its warnings, progress bars and many kinds of errors: we say for ourselves what matters, in one line."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from ticketlab.core.errors import TicketlabError, UsageError


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers inside the block; its verbosity and progress bars are then as they were."""
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
def transformers_problems(name: str) -> Iterator[None]:
    """Keep transformers quiet while it reads the model ``name``, and turn what it raises into one line.

    :raises UsageError: it raised something.
    """
    try:
        with quiet():
            yield
    except (TicketlabError, MemoryError):
        raise
    except Exception as problem:  # tokenizers raises nothing more specific
        advice = "" if Path(name).exists() else "; give the folder of a model, or `demo` for the embedded one"
        raise UsageError(f"{name}: cannot be loaded: {_first_sentence(problem)}{advice}") from problem
    except BaseException as problem:
        if type(problem).__name__ != "PanicException":  # of Rust, in tokenizers and safetensors
            raise
        raise UsageError(f"{name}: cannot be loaded: {_first_sentence(problem)}") from problem


def _first_sentence(problem: BaseException) -> str:
    words = " ".join(str(problem).split()) or type(problem).__name__
    if "custom code" in words or "trust_remote_code" in words:
        return "it brings code of its own, which is never run"
    words = f"{words} is unknown" if isinstance(problem, KeyError) else words
    return re.split(r"(?<=\w\w)\. ", words)[0][:200].rstrip(".")
