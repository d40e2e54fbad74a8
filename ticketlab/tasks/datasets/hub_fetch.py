"""Data sets of the hub, or of the cache of the ``datasets`` library; what went wrong in one line, with what to do."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError, Unavailable, did_you_mean

_CONFIGS = re.compile(r"(?:available configs(?: in the cache)?|Available): \[([^\]]*)\]", re.IGNORECASE)
_CACHED_CONFIGS = re.compile(r"configurations in the cache: ([^\n]+)")
_SCRIPT = re.compile(r"scripts are no longer supported|trust_remote_code|contains custom code|dataset script")


def fetch(dataset: str, config: str | None, split: str | None, *, who: str, instead: str, revision: str | None = None) -> Any:
    """Return a split of a data set of the hub, or of the cache of the ``datasets`` library; all splits by name where ``split`` is None.

    ``who`` wants it and ``instead`` is what to pass if it fails, for messages. No script is run.

    :raises Unavailable: it is neither in the cache nor reachable.
    :raises DataError: it has no such configuration, or several; or it needs a script.
    """
    datasets: Any = importlib.import_module("datasets")
    place = "/".join(part for part in (dataset, config) if part)
    if Path(dataset).is_dir():
        raise DataError(f"{who}: a folder `{dataset}` is here, which the datasets library would read in place of the hub; rename it")
    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # older releases would ask at a terminal whether to run a script
    more = {} if revision is None else {"revision": revision}
    try:
        return datasets.load_dataset(dataset, config, split=split, **more)
    except Exception as problem:  # the hub's client fails in as many ways as it has releases
        wrong = _mistake(str(problem), dataset, config)
        kind, reason = (DataError, wrong) if wrong else (Unavailable, _absence(problem, dataset))
        raise kind(
            f"{who}: cannot read {place} from the hub: {reason}; pass {instead} (a file, or a folder with train and validation files)"
        ) from problem


def is_offline() -> bool:
    """Say whether the environment keeps the ``datasets`` library from the network."""
    datasets: Any = importlib.import_module("datasets")
    return bool(datasets.config.HF_HUB_OFFLINE)


def _mistake(text: str, dataset: str, config: str | None) -> str:
    """Return what is wrong with a name where the data set is there, by what the client says; empty if that is not the problem."""
    listed = _CONFIGS.search(text) or _CACHED_CONFIGS.search(text)
    configs = [name for part in listed[1].split(",") if (name := part.strip(" '\""))] if listed else []
    if configs and config is None:
        shown = ", ".join(configs[:12]) + (f" and {len(configs) - 12} more" if len(configs) > 12 else "")
        return f"it has several configurations ({shown}); name one, such as {dataset}:{configs[0]}"
    if configs and config is not None and "in the cache" not in text:
        return f"there is no configuration `{config}`{did_you_mean(config, configs)}"
    if _SCRIPT.search(text):
        return f"it is made by a script, which is not run; its files may be there as {dataset}@refs/convert/parquet"
    return ""


def _absence(problem: Exception, dataset: str) -> str:
    """Return why a data set cannot be had."""
    text, kind = " ".join(str(problem).split()), type(problem).__name__
    if "Available configs in the cache" in text:
        return f"{text[:200]}, and nothing is downloaded where HF_HUB_OFFLINE is set or in a dry run"
    if is_offline() and (isinstance(problem, (ConnectionError, FileNotFoundError)) or "NotFound" in kind or "ffline" in text):
        return "it is not in the cache, and nothing is downloaded where HF_HUB_OFFLINE is set or in a dry run"
    if "gated" in text:
        return f"its owner grants access on request: ask at https://huggingface.co/datasets/{dataset} and log in with `hf auth login`"
    return f"{kind}: {text[:200]}"
