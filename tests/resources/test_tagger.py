from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import stat

import pytest

from ticketlab.attacks.textfooler import TextFooler
from ticketlab.core.errors import ResourceError, SettingError
from ticketlab.resources import tagger
from ticketlab.resources.resources import Resources

needs_textblob = pytest.mark.skipif(Resources(tagger="textblob").where("tagger") is None, reason="textblob is not installed")
needs_nltk = pytest.mark.skipif(importlib.util.find_spec("nltk") is None, reason="nltk is not installed")
SENTENCES = [
    [("the", "DT"), ("old", "JJ"), ("film", "NN"), ("was", "VBD"), ("good", "JJ")],
    [("they", "PRP"), ("film", "VBP"), ("the", "DT"), ("dog", "NN"), ("slowly", "RB")],
    [("he", "PRP"), ("will", "MD"), ("film", "VB"), ("it", "PRP")],
] * 3


@pytest.fixture(scope="module")
def perceptron():
    """NLTK's tagger, taught three sentences."""
    taught = importlib.import_module("nltk.tag.perceptron").PerceptronTagger(load=False)
    taught.train(SENTENCES)
    return taught


@pytest.fixture
def data(perceptron, tmp_path):
    """Its data, as NLTK's downloader would leave them."""
    folder = tmp_path / "taggers" / "averaged_perceptron_tagger_eng"
    folder.mkdir(parents=True)
    parts = {"weights": perceptron.model.weights, "tagdict": perceptron.tagdict, "classes": sorted(perceptron.classes)}
    for name, value in parts.items():
        (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(value))
    return folder


@needs_textblob
def test_words_are_tagged_in_context_with_universal_tags():
    assert tagger.tags(["the", "old", "film", "was", "truly", "great"]) == ["DET", "ADJ", "NOUN", "VERB", "ADV", "ADJ"]
    assert len(tagger.tags(["and/or", "don't", "\U0001f600", ".", "o'clock"])) == 5
    assert tagger.tags([]) == []
    assert Resources().load_tagger() is tagger.tags


@pytest.mark.parametrize(
    ("penn", "tag"), [("NNP-PERS", "NOUN"), ("VBZ", "VERB"), ("PRP$", "PRON"), ("-LRB-", "X"), ("FW", "X"), (".", ".")]
)
def test_penn_tags_become_universal(penn, tag):
    assert tagger.universal(penn) == tag


@needs_nltk
@pytest.mark.parametrize(
    "words", [["they", "film", "the", "old", "film"], ["he", "will", "film", "slowly"], ["1990", "-", "\U0001f600"], []]
)
def test_nltks_perceptron_gives_the_same_tags_as_nltk(perceptron, data, words):
    tag = Resources(tagger=f"nltk:{data}").load_tagger()
    assert tag(words) == [tagger.universal(penn) for _, penn in perceptron.tag(words)]
    assert tag(words) == tag(tuple(words))


@needs_nltk
def test_the_same_word_is_a_noun_here_and_a_verb_there(data):
    tag = Resources(tagger=f"nltk:{data}").load_tagger()
    assert tag(["the", "old", "film"])[2] == "NOUN"
    assert tag(["they", "film"])[1] == "VERB"


@needs_nltk
def test_its_data_are_found_on_nltks_data_path_in_a_folder_above_and_in_a_zip_file(data, tmp_path, monkeypatch):
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    assert Resources(tagger="nltk").where("tagger") == str(data)
    assert Resources(tagger=f"nltk:{tmp_path}").where("tagger") == str(data)
    before = Resources(tagger="nltk").identity(["tagger"])
    shutil.make_archive(str(data), "zip", data.parent, data.name)
    shutil.rmtree(data)
    zipped = Resources(tagger="nltk")
    assert zipped.where("tagger") == f"{data}.zip"
    assert zipped.load_tagger()(["they", "film"])[1] == "VERB"
    assert zipped.identity(["tagger"]) == before


@needs_nltk
def test_data_that_other_users_can_write_to_are_read_too(data):
    data.chmod(data.stat().st_mode | stat.S_IWOTH)
    assert Resources(tagger=f"nltk:{data}").load_tagger()(["they", "film"])[1] == "VERB"


@needs_nltk
@pytest.mark.parametrize("content", ["[", "3", '[["a"]]', "[" * 100_000])
@pytest.mark.parametrize("part", ["weights", "classes"])
def test_damaged_data_are_reported_in_one_line(data, content, part):
    (data / f"averaged_perceptron_tagger_eng.{part}.json").write_text(content)
    with pytest.raises(ResourceError, match=r"not the data of NLTK's averaged_perceptron_tagger_eng") as problem:
        tagger.load.__wrapped__(str(data))
    assert "\n" not in str(problem.value)


def test_the_message_on_missing_data_says_how_to_get_them(tmp_path):
    with pytest.raises(
        ResourceError, match=r"part-of-speech tagger `nltk:.*` not found: pip install textblob, or python -m nltk.downloader"
    ):
        Resources(tagger=f"nltk:{tmp_path}").load_tagger()


@pytest.mark.parametrize("name", ["flair", "nltk:", "textblob:here", "none:x", ""])
def test_a_tagger_must_be_known(name):
    with pytest.raises(SettingError, match=r"is not a tagger: write textblob, nltk, nltk:FOLDER or none"):
        TextFooler(tagger=name)


def test_none_is_a_valid_tagger():
    assert Resources(tagger="none").found(["tagger"]) == {"tagger": "not used"}


def test_results_are_cached_and_cannot_be_changed_by_the_caller():
    asked = []

    def tag(words):
        asked.append(words)
        return ["NOUN"] * len(words)

    cached = tagger.cached(tag)
    cached(["a", "b"]).append("spoilt")
    assert cached(("a", "b")) == ["NOUN", "NOUN"]
    assert asked == [("a", "b")]
