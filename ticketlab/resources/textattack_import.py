"""The only module that imports textattack: offline, silently, and without side effects on the process.

Otherwise its import would download six NLTK packages and mark that as done, disable all loggers of the process, change
``os.environ``, and load flair, which it needs only for taggers that no attack here uses.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import logging
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from ticketlab.core import temporary
from ticketlab.core.errors import ResourceError
from ticketlab.resources import stop_words

HOW_TO_GET = 'pip install "ticketlab[attacks]"'
_ITS_CACHE = "~/.cache/textattack"
_ITS_MARKER = "post_install_check_3"


def installed() -> bool:
    """Return whether textattack is installed, without importing it."""
    return importlib.util.find_spec("textattack") is not None


def import_textattack() -> Any:
    """Import textattack and return it; the first call takes several seconds.

    :raises ResourceError: it is not installed, or cannot be imported.
    """
    if sys.modules.get("textattack") is not None:
        return sys.modules["textattack"]
    if not installed():
        raise ResourceError(f"textattack is not installed: {HOW_TO_GET}")
    from ticketlab.inference.random_state import preserved

    try:
        with (
            preserved(),
            _stub_flair(),
            _restored_loggers(),
            _restored_environment(),
            _fake_cache(),
            _nltk_offline(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            textattack = importlib.import_module("textattack")
    except Exception as problem:
        _forget("textattack")
        message = next((line.strip() for line in str(problem).splitlines() if line.strip(" *")), "")
        raise ResourceError(f"textattack cannot be imported ({type(problem).__name__}: {message}): {HOW_TO_GET}") from problem
    textattack.shared.utils.install.TEXTATTACK_CACHE_DIR = os.environ.get("TA_CACHE_DIR", os.path.expanduser(_ITS_CACHE))  # noqa: PTH111
    textattack.shared.utils.logger.setLevel(logging.ERROR)
    logging.getLogger("jieba").setLevel(logging.ERROR)
    return textattack


def with_names(function: Any, names: dict[str, Any]) -> Any:
    """Return a copy of a function with other values for some global names; its module is unchanged."""
    return types.FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__)


def _forget(package: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


@contextlib.contextmanager
def _stub_flair() -> Iterator[None]:
    """Provide empty stubs of three flair modules to textattack, unless flair is loaded already.

    They are removed afterwards, so that ``import flair`` elsewhere finds the real package or fails as usual.
    """
    if "flair" in sys.modules:
        yield
        return
    modules: dict[str, Any] = {name: types.ModuleType(name) for name in ("flair", "flair.data", "flair.models")}
    for name, module in modules.items():
        module.__spec__ = ModuleSpec(name, loader=None, is_package=name == "flair")
        module.__path__ = []
    modules["flair"].data, modules["flair"].models = modules["flair.data"], modules["flair.models"]
    for module, missing in (("flair.data", "Sentence"), ("flair.data", "Tokenizer"), ("flair.models", "SequenceTagger")):
        setattr(modules[module], missing, type(missing, (), {}))
    sys.modules.update(modules)
    try:
        yield
    finally:
        _forget("flair")


@contextlib.contextmanager
def _restored_loggers() -> Iterator[None]:
    known = {name: logger.disabled for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger)}
    try:
        yield
    finally:
        for name, disabled in known.items():
            logging.getLogger(name).disabled = disabled


@contextlib.contextmanager
def _restored_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def _fake_cache() -> Iterator[None]:
    """Give textattack a cache folder in which its downloads are marked as done, so that it downloads nothing."""
    expand = os.path.expanduser
    with tempfile.TemporaryDirectory(prefix=f"ticketlab-{temporary.mark()}") as folder:
        (Path(folder) / _ITS_MARKER).touch()
        os.path.expanduser = lambda path: folder if path == _ITS_CACHE else expand(path)  # type: ignore[assignment]
        try:
            yield
        finally:
            os.path.expanduser = expand


@functools.cache
def _stop_word_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder with our stop words in NLTK's layout, which exists until the process ends.

    It is private: NLTK refuses data that other users could write to, as the folder of an installed package may be.
    """
    temporary.sweep_temporary_folders(Path(tempfile.gettempdir()))
    folder = tempfile.TemporaryDirectory(prefix=f"ticketlab-nltk-{temporary.mark()}")
    place = Path(folder.name)
    for part in ("corpora", "stopwords"):
        place = place / part
        place.mkdir(mode=0o700)
        place.chmod(0o700)
    file = place / "english"
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(stop_words.ENGLISH.read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@contextlib.contextmanager
def _nltk_offline() -> Iterator[None]:
    import nltk

    if _stop_word_folder().name not in nltk.data.path:
        nltk.data.path.append(_stop_word_folder().name)
    download = nltk.download
    nltk.download = lambda *_, **__: False
    try:
        yield
    finally:
        nltk.download = download
