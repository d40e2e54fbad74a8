from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from click.testing import Result

    from ticketlab.core.registry import Registry

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

gc.disable()  # until all is imported, of which nothing is garbage

import signal  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402

for interruption, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(interruption) is signal.SIG_IGN:  # as in a job of a shell's background, or under nohup
        signal.signal(interruption, handler)

hypothesis.settings.register_profile("suite", deadline=None)  # a test may take long on a busy machine
hypothesis.settings.load_profile("suite")

pytest_plugins = ("support.attack_fixtures", "support.run_fixtures", "support.text_fixtures")
SHARED = Path(__file__).parents[2] / "shared" / "data"


def freeze() -> None:
    """Let the garbage collector look at new objects alone: the millions of the libraries took it a fifth of the time."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    freeze()
    gc.enable()


@pytest.fixture
def only_new_objects() -> None:
    """For tests that collect garbage or count objects."""
    freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"the real data sets are not at {SHARED}")
    return SHARED


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny models are slower on more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny checkpoints of the supported families, by name."""
    from ticketlab.testing.tiny import tiny_model

    root = tmp_path_factory.mktemp("tiny")
    made = {family: tiny_model(family, root / family) for family in ("bert", "roberta", "electra", "distilbert", "deberta-v2")}
    freeze()  # what that imported
    return made


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load plugins anew in this test, and read no setting of the environment."""
    from ticketlab.core import registry

    monkeypatch.setattr(registry, "_current", None)
    for name in ("TICKETLAB_STRICT_PLUGINS", "TICKETLAB_DEBUG", "TICKETLAB_LAB"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def builtins_only(own_registry: None, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of the built-ins alone, whatever is installed beside them."""
    from ticketlab.core import registry

    current = registry.load(entry_points=False)
    monkeypatch.setattr(registry, "_current", current)
    return current


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Call the command line in this process."""
    from click.testing import CliRunner

    from ticketlab.cli.main import cli

    return lambda *arguments: CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")
