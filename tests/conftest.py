import gc
import os
from collections.abc import Iterator
from pathlib import Path

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
