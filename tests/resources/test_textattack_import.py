from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ticketlab.core.errors import ResourceError
from ticketlab.resources.textattack_import import import_textattack, installed

SCRIPT = """
import importlib.abc, logging, os, pathlib, random, socket, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "flair":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
def refuse(*_, **__):
    raise AssertionError("the network was touched")
socket.socket.connect = socket.getaddrinfo = refuse

import nltk
import numpy as np
import torch
mine = logging.getLogger("mine")
download = nltk.download
def state():
    draws = random.getstate(), str(np.random.get_state()), torch.random.get_rng_state().tolist()
    return dict(os.environ), *draws, torch.get_num_threads(), torch.get_default_dtype(), torch.get_default_device()

before = state()

from ticketlab.resources.textattack_import import import_textattack, installed
textattack = import_textattack()
assert import_textattack() is textattack

assert state() == before
assert not mine.disabled
assert nltk.download is download
assert "flair" not in sys.modules
assert not (pathlib.Path.home() / ".cache" / "textattack").exists()
assert len(textattack.constraints.pre_transformation.StopwordModification().stopwords) > 150
print("fine")
"""


@pytest.mark.system
@pytest.mark.skipif(not installed(), reason="textattack is not installed")
def test_the_import_is_offline_and_silent_without_side_effects(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TA_CACHE_DIR"}
    environment |= {"HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert (result.stdout, result.stderr, result.returncode) == ("fine\n", "", 0)


def test_the_message_on_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "textattack", None)
    with pytest.raises(ResourceError, match=r'^textattack is not installed: pip install "ticketlab\[attacks\]"$'):
        import_textattack()


@pytest.mark.skipif(not installed(), reason="textattack is not installed")
def test_a_failed_import_is_reported_in_one_line(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "textattack"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "textattack.py").write_text("raise RuntimeError('two\\nlines')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ResourceError, match=r"^textattack cannot be imported \(RuntimeError: two\): pip install"):
        import_textattack()
    assert "textattack" not in sys.modules
