from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from click.testing import Result

    from ticketlab.core.registry import Registry

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as in the command line; read when torch is imported

gc.disable()  # while modules are imported: nothing of them is garbage

import signal  # noqa: E402

import hypothesis  # noqa: E402
import pytest  # noqa: E402

for interruption, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(interruption) is signal.SIG_IGN:  # as in a background job of a shell, or under nohup
        signal.signal(interruption, handler)

hypothesis.settings.register_profile("suite", deadline=None)  # tests may be slow on a busy machine
hypothesis.settings.load_profile("suite")

pytest_plugins = ("support.attack_fixtures", "support.run_fixtures", "support.text_fixtures")
SLOW = (
    "attacks/components/test_attacked_text.py",
    "attacks/engine/test_candidate_coverage.py",
    "attacks/engine/test_interrupted_runs.py",
    "attacks/engine/test_reproducibility.py",
    "attacks/engine/test_run.py",
    "attacks/engine/test_time_limit.py",
    "attacks/engine/test_victim_is_unchanged.py",
    "attacks/engine/test_worker_failures.py",
    "attacks/engine/test_workers.py",
    "attacks/test_against_stock_textattack.py",
    "attacks/test_any_classifier.py",
    "attacks/test_bae.py",
    "attacks/test_bert_attack.py",
    "attacks/test_odd_inputs.py",
    "attacks/test_textattack_recipe.py",
    "backbone/test_shrinking.py",
    "backbone/test_shrunk_files.py",
    "backbone/test_weight_masks.py",
    "cli/test_bad_input.py",
    "cli/test_imports.py",
    "cli/test_input_warnings.py",
    "cli/test_signals.py",
    "cli/test_srnets.py",
    "cli/test_trained_on.py",
    "cli/ticket/test_export.py",
    "export",
    "inference/test_batch_invariant.py",
    "pruners/test_imp.py",
    "pruners/test_mask_training.py",
    "recipes/test_builtin_recipes.py",
    "recipes/test_hyperparameters.py",
    "recipes/test_ineffective_settings.py",
    "resources/test_masked_lm.py",
    "resources/test_textattack_import.py",
    "runs/test_run.py",
    "stages",
    "tasks/test_scoring.py",
    "testing",
    "training/test_loop.py",
    "tuning/test_store.py",
    "tuning/test_tune.py",
)
"""Directories and files of tests whose tests are all marked ``slow``; single tests of other files have the marker themselves."""
SYSTEM = ("testing/test_broken_", "testing/test_plugin_suite.py")
"""Beginnings of the paths of files whose tests are all marked ``system``: each runs pytest again inside a test."""
FRESH_PROCESS = "the_hashes_of_the_process"
"""Part of the names of the conformance tests that start a process, which are ``system`` tests, too."""
RAY = ("executors/test_ray_cluster.py", "studies/test_ray.py", "attacks/engine/test_executor.py")
"""Files with tests that start clusters of Ray: one process runs all of them, with ``--dist loadgroup``."""
SHARED = Path(__file__).parents[2] / "shared" / "data"


def freeze() -> None:
    """Exclude existing objects from garbage collection: scanning those of the libraries took a fifth of the time of the tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    slow = [here / name for name in SLOW]
    system, ray = (tuple(str(here / name) for name in names) for names in (SYSTEM, RAY))
    for item in items:
        if any(item.path.is_relative_to(path) for path in slow):
            item.add_marker(pytest.mark.slow)
        if str(item.path).startswith(system) or FRESH_PROCESS in item.name:
            item.add_marker(pytest.mark.system)
        if str(item.path) in ray and config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group("ray"))


def pytest_collection_finish() -> None:
    freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="a skipped test fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--no-skips"):
        report.outcome = "failed"
        report.longrepr = f"skipped in spite of --no-skips: {report.longrepr[2]}"
    return report


@pytest.fixture
def only_new_objects() -> None:
    """Freeze existing objects, for tests that collect garbage or count objects."""
    freeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"the real data sets are not at {SHARED}")
    return SHARED


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Use one thread: tiny models are slower with more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tiny checkpoints of the supported families, by name."""
    from support.families import FAMILIES

    from ticketlab.testing.models.tiny import tiny_model

    root = tmp_path_factory.mktemp("tiny")
    models = {family: tiny_model(family, root / family) for family in FAMILIES}
    freeze()  # the modules that this imported
    return models


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load plugins again in this test, without settings from the environment."""
    from ticketlab.core import registry

    monkeypatch.setattr(registry, "_current", None)
    for name in ("TICKETLAB_STRICT_PLUGINS", "TICKETLAB_DEBUG", "TICKETLAB_LAB"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def builtins_only(own_registry: None, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of the built-in components only, whatever plugins are installed."""
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
