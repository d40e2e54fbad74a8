from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from ticketlab.cli.main import cli
from ticketlab.core import registry

Generate = Callable[..., Path]


@pytest.fixture(scope="module")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generate]:
    """Write a package with ``ticketlab new-plugin``, and return its folder. Packages of one test module are beside each other."""
    place = tmp_path_factory.mktemp("packages")

    def write(name: str, *kinds: str) -> Path:
        folder = place / f"ticketlab-{name}"
        options = [part for kind in kinds for part in ("--kind", kind)]
        done = CliRunner().invoke(cli, ["new-plugin", "--no-plugins", name, *options, "--folder", str(folder)], prog_name="ticketlab")
        assert done.exit_code == 0, done.stderr
        return folder

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_current", None)
        patch.delenv("TICKETLAB_STRICT_PLUGINS", raising=False)
        yield write
