"""A listener that tries to change everything that it gets, and everything that it can reach."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from collections.abc import MutableMapping
from typing import Any

import numpy as np
import torch

from ticketlab.plugin import hookimpl


def spoil(value: Any) -> None:
    """Change all numbers and add keys, in place, at any depth."""
    if isinstance(value, MutableMapping):
        for key, inner in list(value.items()):
            spoil(inner)
            value[key] = 0.0 if isinstance(inner, (int, float)) else inner
        value["vandal"] = "was here"
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("vandal")


def spoil_all(**arguments: Any) -> None:
    for name, value in arguments.items():
        spoil(value.settings if name == "run" else value)
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    torch.randn(7)
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(torch.get_num_threads() + 1)
    np.seterr(all="raise")
    warnings.simplefilter("error")
    os.chdir(tempfile.gettempdir())


@hookimpl
def ticketlab_run_started(run: Any) -> None:
    spoil_all(run=run)


@hookimpl
def ticketlab_stage_started(run: Any, settings: Any) -> None:
    spoil_all(run=run, settings=settings)


@hookimpl
def ticketlab_on_log(run: Any, record: Any) -> None:
    spoil_all(run=run, record=record)


@hookimpl
def ticketlab_stage_finished(run: Any, settings: Any, result: Any) -> None:
    spoil_all(run=run, settings=settings, result=result)


@hookimpl
def ticketlab_run_finished(run: Any, results: Any) -> None:
    spoil_all(run=run, results=results)
    raise RuntimeError("and it fails")
