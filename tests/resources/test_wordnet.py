from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.small_wordnet import write_wordnet

from ticketlab.core.errors import ResourceError
from ticketlab.resources import wordnet
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed

pytestmark = pytest.mark.skipif(importlib.util.find_spec("nltk") is None, reason="nltk is not installed")
REAL = Resources().where("wordnet") if importlib.util.find_spec("nltk") else None
needs_wordnet = pytest.mark.skipif(REAL is None, reason="WordNet is neither in Debian's place nor on NLTK's data path")


@pytest.fixture
def small(tmp_path):
    return str(write_wordnet(tmp_path / "wordnet"))


@pytest.mark.parametrize(
    ("word", "synonyms"),
    [
        ("film", ("cinema", "movie", "picture", "shoot", "take")),
        ("movie", ("film", "picture")),
        ("films", ("cinema", "film", "movie", "picture", "shoot", "take")),
        ("Movie", ("film", "movie", "picture")),
        ("geese", ("goose",)),
        ("goose", ()),
        ("motion_picture", ("film", "movie", "picture")),
        ("xyzzy", ()),
        ("", ()),
        ("\U0001f600", ()),
    ],
)
def test_synonyms_are_the_other_words_of_every_sense_and_no_phrases(small, word, synonyms):
    assert Resources(wordnet=small).load_wordnet().synonyms(word) == synonyms


def test_wordnet_is_read_from_nltks_zip_file(small, tmp_path):
    place = tmp_path / "data" / "corpora" / "wordnet.zip"
    place.parent.mkdir(parents=True)
    with zipfile.ZipFile(place, "w") as archive:
        for file in Path(small).iterdir():
            archive.write(file, f"wordnet/{file.name}")
    resources = Resources(wordnet=str(tmp_path / "data"))
    assert resources.where("wordnet") == str(place)
    assert resources.load_wordnet().synonyms("movie") == ("film", "picture")
    assert resources.identity(["wordnet"]) == Resources(wordnet=small).identity(["wordnet"])


@pytest.mark.parametrize("inside", ["", "usr/share/wordnet", "corpora/wordnet"])
def test_wordnet_is_found_in_a_packages_folder_and_on_a_data_path(tmp_path, inside):
    place = write_wordnet(tmp_path / "here" / inside)
    assert Resources(wordnet=str(tmp_path / "here")).where("wordnet") == str(place)


def test_wordnet_is_found_on_nltks_data_path(tmp_path, monkeypatch):
    monkeypatch.setattr(wordnet, "DEBIAN", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    place = write_wordnet(tmp_path / "corpora" / "wordnet")
    assert Resources().where("wordnet") == str(place)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("", "the folder has neither data.noun, corpora/wordnet/data.noun, usr/share/wordnet/data.noun nor corpora/wordnet.zip"),
        ("nowhere", "there is no such folder"),
        ("other.zip", "it is not a zip file that contains other/data.noun"),
    ],
)
def test_a_folder_without_wordnet_is_reported_with_the_searched_files(tmp_path, asked, reason):
    (tmp_path / "other.zip").touch()
    with pytest.raises(ResourceError) as problem:
        Resources(wordnet=str(tmp_path / asked)).load_wordnet()
    assert str(problem.value) == f"WordNet `{tmp_path / asked}` not found: {reason}"


def test_wordnet_requires_nltk(small, monkeypatch):
    monkeypatch.setattr("ticketlab.core.packages.folder", lambda package, inside="": None if package == "nltk" else f"/here/{package}")
    with pytest.raises(ResourceError, match=r"^WordNet `.*` not found: nltk, which reads it, is not installed: pip install"):
        Resources(wordnet=small).check(["wordnet"])


@pytest.mark.parametrize("name", ["data.verb", "index.noun", "adv.exc"])
def test_a_missing_or_damaged_file_is_reported_in_one_line(small, name):
    Path(small, name).unlink()
    with pytest.raises(ResourceError, match=rf"^WordNet .*: does not load \(.*{name}") as problem:
        wordnet.load.__wrapped__(small)
    assert "\n" not in str(problem.value)


def test_a_damaged_index_is_reported_in_one_line(small):
    with Path(small, "index.noun").open("a") as file:
        file.write("zebra n one 0 1 0 00000000\n")
    with pytest.raises(ResourceError, match=r"does not load \(file index.noun, line 8"):
        wordnet.load.__wrapped__(small)


@pytest.mark.parametrize("asked", ["", "/", ".", "nowhere", "~nobody-of-this-name/x"])
def test_an_invalid_path_is_not_found(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Resources(wordnet=asked).where("wordnet") in (None, wordnet.DEBIAN)


def test_a_file_that_is_not_a_zip_file_is_ignored(tmp_path):
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "wordnet.zip").write_text("no")
    assert Resources(wordnet=str(tmp_path)).where("wordnet") is None


def test_different_content_has_a_different_identity(small, tmp_path):
    other = write_wordnet(tmp_path / "other")
    before = Resources(wordnet=small).identity(["wordnet"])
    assert Resources(wordnet=str(other)).identity(["wordnet"]) == before
    (other / "noun.exc").write_text("mice mouse\n")
    assert Resources(wordnet=str(other)).identity(["wordnet"]) != before


def test_the_lexicographers_files_are_numbered_as_in_wordnets_manual():
    lines = wordnet._lexnames().decode().splitlines()
    assert len(lines) == 45
    numbered = {0: "00\tadj.all\t3", 2: "02\tadv.all\t4", 3: "03\tnoun.Tops\t1", 28: "28\tnoun.time\t1", 29: "29\tverb.body\t2"}
    assert {number: lines[number] for number in numbered} == numbered
    assert lines[43:] == ["43\tverb.weather\t2", "44\tadj.ppl\t3"]


def test_nothing_is_downloaded_and_nltks_data_path_is_not_needed(small):
    code = f"""
import socket
def refuse(*_, **__): raise AssertionError("the network was touched")
socket.socket.connect = socket.getaddrinfo = refuse
import nltk
nltk.data.path[:] = []
nltk.download = refuse
from ticketlab.resources.resources import Resources
print(Resources(wordnet={small!r}).load_wordnet().synonyms("movie"))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("('film', 'picture')\n", "")


@needs_wordnet
def test_the_real_wordnet_gives_its_synonyms():
    found = Resources().load_wordnet()
    assert found.synonyms("movies") == ("film", "flick", "movie", "pic", "picture")
    assert "better" not in found.synonyms("better")
    assert "good" in found.synonyms("better")
    assert found.reader.synset("dog.n.01").lexname() == "noun.animal"


@needs_wordnet
@pytest.mark.skipif(not installed(), reason="textattack is not installed")
def test_the_swap_offers_the_same_words_as_textattacks(monkeypatch):
    from ticketlab.attacks.components.word_swaps import swap_synonyms

    textattack = import_textattack()
    found = Resources().load_wordnet()
    monkeypatch.setattr("nltk.download", lambda *_, **__: True)
    module = importlib.import_module("textattack.transformations.word_swaps.word_swap_wordnet")
    monkeypatch.setattr(module, "wordnet", found.reader)
    stock, ours = textattack.transformations.WordSwapWordNet(), swap_synonyms(found)
    words = [
        "The",
        "good",
        "movies",
        "are",
        "not",
        "well-made",
        "Running",
        "better",
        "than",
        "n't",
        "films",
        "'",
        "1990s",
        "U.S.",
        "o'clock",
    ]
    for word in words:
        assert sorted(stock._get_replacement_words(word)) == ours._get_replacement_words(word)
    assert any(ours._get_replacement_words(word) for word in words)
