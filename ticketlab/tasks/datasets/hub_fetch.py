"""Loads data sets from the hub or the cache of the ``datasets`` library. Errors are one line that says what to do."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from ticketlab.core.errors import DataError, Unavailable, did_you_mean

_CONFIGS = re.compile(r"(?:available configs(?: in the cache)?|Available): \[([^\]]*)\]", re.IGNORECASE)
_CACHED_CONFIGS = re.compile(r"configurations in the cache: ([^\n]+)")
_SCRIPT = re.compile(r"scripts are no longer supported|trust_remote_code|contains custom code|dataset script")


def fetch(dataset: str, config: str | None, split: str | None, *, source: str, alternative: str, revision: str | None = None) -> Any:
    """Load a split of a data set from the hub, or from the cache of the ``datasets`` library; all splits by name if ``split`` is None.

    In messages, ``source`` is what requested the data, and ``alternative`` what to pass instead. Scripts of data sets are never run.

    :raises Unavailable: the data set is neither in the cache nor reachable.
    :raises DataError: there is no such configuration, or a configuration must be chosen, or the data set needs a script.
    """
    datasets: Any = importlib.import_module("datasets")
    place = "/".join(part for part in (dataset, config) if part)
    if Path(dataset).is_dir():
        raise DataError(f"{source}: there is a folder `{dataset}`, which the datasets library would read instead of the hub; rename it")
    datasets.config.HF_DATASETS_TRUST_REMOTE_CODE = False  # older releases ask on the terminal whether to run a script
    more = {} if revision is None else {"revision": revision}
    try:
        return datasets.load_dataset(dataset, config, split=split, **more)
    except Exception as problem:  # exceptions differ between releases of the hub's client
        wrong = _wrong_name(str(problem), dataset, config)
        kind, reason = (DataError, wrong) if wrong else (Unavailable, _why_unavailable(problem, dataset))
        raise kind(
            f"{source}: cannot read {place} from the hub: {reason}; pass {alternative} (a file, or a folder with train and "
            "validation files)"
        ) from problem


def is_offline() -> bool:
    """Return whether the environment sets the ``datasets`` library to offline mode."""
    datasets: Any = importlib.import_module("datasets")
    return bool(datasets.config.HF_HUB_OFFLINE)


def _wrong_name(text: str, dataset: str, config: str | None) -> str:
    """Return the problem with a configuration or script according to the client's message; empty if there is another problem."""
    listed = _CONFIGS.search(text) or _CACHED_CONFIGS.search(text)
    configs = [name for part in listed[1].split(",") if (name := part.strip(" '\""))] if listed else []
    if configs and config is None:
        shown = ", ".join(configs[:12]) + (f" and {len(configs) - 12} more" if len(configs) > 12 else "")
        return f"it has several configurations ({shown}); name one, such as {dataset}:{configs[0]}"
    if configs and config is not None and "in the cache" not in text:
        return f"there is no configuration `{config}`{did_you_mean(config, configs)}"
    if _SCRIPT.search(text):
        return f"it needs a script, and scripts are not run; its files may be available as {dataset}@refs/convert/parquet"
    return ""


def _why_unavailable(problem: Exception, dataset: str) -> str:
    """Return why a data set is unavailable."""
    text, kind = " ".join(str(problem).split()), type(problem).__name__
    if "Available configs in the cache" in text:
        return f"{text[:200]}, and nothing is downloaded if HF_HUB_OFFLINE is set or in a dry run"
    if is_offline() and (isinstance(problem, (ConnectionError, FileNotFoundError)) or "NotFound" in kind or "ffline" in text):
        return "it is not in the cache, and nothing is downloaded if HF_HUB_OFFLINE is set or in a dry run"
    if "gated" in text:
        return f"its owner grants access on request: ask at https://huggingface.co/datasets/{dataset} and log in with `hf auth login`"
    return f"{kind}: {text[:200]}"
