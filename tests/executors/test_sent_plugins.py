"""Plugins that are sent to other machines: the same files in the same places, so that keys are the same."""

import shutil

import pytest
from support.small_study import NOISE

from ticketlab.core import registry
from ticketlab.core.errors import UsageError
from ticketlab.executors import sent_plugins


def versions(*files):
    return [source.version for source in registry.load(files, entry_points=False).sources if not source.is_built_in]


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


HELPED = f"import helper\nfrom tools.deep import value\n{NOISE}"
FILE = {"noise.py": NOISE, "unrelated.py": "1 / 0"}
BESIDE = {"noise.py": HELPED, "helper.py": "", "tools/__init__.py": "", "tools/deep.py": "value = 1\n", "unrelated.py": "1 / 0"}
FOLDER = {"noise/__init__.py": f"from . import inner\n{NOISE}", "noise/inner.py": "", "noise/words.txt": "a\nb\n", "other.py": ""}


@pytest.mark.parametrize(
    ("files", "place", "sent"),
    [
        (FILE, "noise.py", {"noise.py"}),
        (BESIDE, "noise.py", {"noise.py", "helper.py", "tools/__init__.py", "tools/deep.py"}),
        (FOLDER, "noise", {"noise/__init__.py", "noise/inner.py", "noise/words.txt"}),
        (FOLDER, "noise/__init__.py", {"noise/__init__.py", "noise/inner.py", "noise/words.txt"}),
    ],
    ids=["a file", "a file and what it imports", "a folder", "the file of a folder"],
)
def test_a_plugin_arrives_with_its_files_and_its_key(tmp_path, files, place, sent):
    write(tmp_path / "here", files)
    before = versions(tmp_path / "here" / place)
    packed = sent_plugins.pack([str(tmp_path / "here" / place)])
    shutil.rmtree(tmp_path / "here")
    (arrived,) = sent_plugins.unpack(packed, tmp_path / "there")
    (folder,) = (tmp_path / "there").iterdir()
    assert {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} == sent
    assert versions(arrived) == before


def test_each_state_of_a_plugin_has_its_own_folder(tmp_path):
    """A process that has loaded the earlier state keeps it."""
    place = tmp_path / "noise.py"
    arrived = []
    for text in (NOISE, f"{NOISE}\n# changed\n", NOISE):
        place.write_text(text)
        arrived += sent_plugins.unpack(sent_plugins.pack([str(place)]), tmp_path / "there")
    assert arrived[0] == arrived[2] != arrived[1]
    assert len(list((tmp_path / "there").iterdir())) == 2


def test_a_file_that_was_deleted_on_the_other_machine_is_written_again(tmp_path):
    write(tmp_path / "here", BESIDE)
    packed = sent_plugins.pack([str(tmp_path / "here" / "noise.py")])
    (arrived,) = sent_plugins.unpack(packed, tmp_path / "there")
    before = versions(arrived)
    next((tmp_path / "there").rglob("helper.py")).unlink()
    assert sent_plugins.unpack(packed, tmp_path / "there") == (arrived,)
    assert versions(arrived) == before
    assert len(list((tmp_path / "there").iterdir())) == 1


def test_too_large_plugins_are_refused(tmp_path, monkeypatch):
    (tmp_path / "noise.py").write_text(NOISE)
    monkeypatch.setattr(sent_plugins, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match="install them there as packages"):
        sent_plugins.pack([str(tmp_path / "noise.py")])
