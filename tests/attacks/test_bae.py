from __future__ import annotations

import json
from collections import OrderedDict

import pytest
import torch
from attrs import evolve

from ticketlab.attacks.bae import BAE
from ticketlab.attacks.components.masked_swaps import swap_by_masking
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.resources.masked_lm import MaskedLanguageModel
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

pytestmark = [
    pytest.mark.skipif(not installed(), reason="textattack is not installed"),
    pytest.mark.skipif(Resources(tagger="textblob").where("tagger") is None, reason="textblob is not installed"),
]

NAMES = ("negative", "positive")
KINDS = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}


@pytest.fixture
def how(tiny_mlm_folder, tiny_encoder_folder):
    return BAE(mlm=tiny_mlm_folder, encoder=tiny_encoder_folder, candidates=20, min_similarity=0.3)


@pytest.fixture(scope="session")
def demo_mlm(demo_mlm_folder):
    return MaskedLanguageModel.load(demo_mlm_folder)


def text_of(text):
    return import_textattack().shared.AttackedText(text)


def texts_of(swap, text, indices):
    return [found.text for found in swap._get_transformations(text, set(indices))]


def attack(how, victim, examples, *, columns=("text",), **more):
    return run_attack(how, victim, examples, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=0, **more)


def seen_whole(victim, text):
    """Return whether the victim sees every word; stock textattack also attacks words that it does not see."""
    return len(victim.tokenizer(text)["input_ids"]) <= victim.max_length


def examples_of(victim, texts):
    """Return examples that the victim classifies correctly, except for the last two."""
    rows = [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]
    return [*rows[:-2], *(evolve(row, label=1 - row.label) for row in rows[-2:])]


def stock_swap(mlm, candidates=50, min_confidence=0.0):
    import_textattack()
    from textattack.transformations import WordSwapMaskedLM

    return WordSwapMaskedLM(
        method="bae",
        masked_language_model=mlm.model,
        tokenizer=mlm.tokenizer,
        max_length=48,
        max_candidates=candidates,
        min_confidence=min_confidence,
    )


def swap_of(mlm, candidates=50, min_confidence=0.0, whole_words=False):
    return swap_by_masking(mlm, candidates=candidates, min_confidence=min_confidence, whole_words=whole_words)


def stock_attack(victim, mlm, encoder, tag, min_similarity):
    """Return textattack's recipe with its own classes and our resources."""
    textattack = import_textattack()
    from textattack.constraints.grammaticality import PartOfSpeech
    from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder
    from textattack.goal_functions import UntargetedClassification
    from textattack.search_methods import GreedyWordSwapWIR

    class Tagged(PartOfSpeech):
        def _get_pos(self, before_ctx, word, after_ctx):
            words = [*before_ctx, word, *after_ctx]
            return tag(words)[words.index(word)]

    similarity = SentenceEncoder(
        threshold=min_similarity, metric="cosine", compare_against_original=True, window_size=15, skip_text_shorter_than_window=True
    )
    similarity.model, similarity.encode = encoder, encoder.encode
    constraints = [RepeatModification(), StopwordModification(), Tagged(tagger_type="nltk", allow_verb_noun_swap=True), similarity]
    goal = UntargetedClassification(victim, model_batch_size=1 << 20)
    return textattack.Attack(goal, constraints, stock_swap(mlm), GreedyWordSwapWIR(wir_method="delete"))


def test_components_and_thresholds_are_those_of_the_paper(victim, how):
    import_textattack()
    built = BAE(mlm=how.mlm, encoder=how.encoder).build(victim, how.resources())
    assert (built.transformation.max_candidates, built.transformation.min_confidence) == (50, 0)
    assert built.search_method.wir_method == "delete"
    assert {type(constraint).__name__ for constraint in built.pre_transformation_constraints} == {
        "RepeatModification",
        "StopwordModification",
    }
    speech, similarity = built.constraints
    assert speech.allow_verb_noun_swap
    assert (similarity.threshold, similarity.metric, similarity.window_size) == (0.936338023, "cosine", 15)
    assert similarity.compare_against_original
    assert similarity.skip_text_shorter_than_window
    without = evolve(how, tagger="none")
    assert len(without.build(victim, without.resources()).constraints) == 1


def test_results_on_real_reviews_equal_textattacks(real_data, victim, demo_mlm, demo_mlm_folder, tiny_encoder_folder):
    lines = (real_data / "sst2" / "validation.jsonl").read_text(encoding="utf-8").splitlines()
    some = [
        text for text in (json.loads(line)["sentence"] for line in lines) if 15 <= len(text.split()) <= 16 and seen_whole(victim, text)
    ][:8]
    how = BAE(mlm=demo_mlm_folder, encoder=tiny_encoder_folder, min_similarity=0.998)
    examples = examples_of(victim, some)
    records = attack(how, victim, examples)
    resources = how.resources()
    stock = stock_attack(victim, demo_mlm, resources.load_encoder(), resources.load_tagger(), 0.998)
    for example, record in zip(examples, records, strict=True):
        expected = stock.attack(OrderedDict(text=example.texts[0]), example.label)
        after = expected.perturbed_result
        assert (record.status, record.perturbed, record.queries) == (
            KINDS[type(expected).__name__],
            (after.attacked_text.text,),
            expected.num_queries,
        )
    found = [record.status for record in records]
    assert found.count("skipped") == 2
    assert min(found.count("success"), found.count("failed")) >= 2


@pytest.mark.parametrize(
    "text", ["the unwatchableness of it", "Moviegoers' tragicomedy!", "it's a £5 film", 'naïve "café" talk', "a b", "go\u200bod film"]
)
def test_candidates_for_a_word_equal_textattacks(demo_mlm, text):
    current = text_of(text)
    indices = range(len(current.words))
    expected = texts_of(stock_swap(demo_mlm), current, indices)
    assert texts_of(swap_of(demo_mlm), current, indices) == expected
    assert [found for index in indices for found in texts_of(swap_of(demo_mlm), current, [index])] == expected


def test_min_confidence_limits_the_candidates(demo_mlm):
    current = text_of("a good film")
    sure = texts_of(swap_of(demo_mlm, min_confidence=1e-3), current, [1])
    assert sure == texts_of(stock_swap(demo_mlm, min_confidence=1e-3), current, [1])
    assert 0 < len(sure) < len(texts_of(swap_of(demo_mlm), current, [1]))
    assert texts_of(swap_of(demo_mlm, min_confidence=1.0), current, [1]) == []


def test_whole_words_excludes_pieces_of_words(demo_mlm):
    current = text_of("a very film")
    every = texts_of(swap_of(demo_mlm, candidates=1000), current, [1])
    whole = texts_of(swap_of(demo_mlm, candidates=1000, whole_words=True), current, [1])
    vocabulary = demo_mlm.tokenizer.get_vocab()
    assert all(text.split()[1] in vocabulary for text in whole)
    assert not all(text.split()[1] in vocabulary for text in every)
    assert len(whole) > 500


@pytest.fixture
def mlm_of_specials(tiny_mlm_folder):
    """A masked language model that predicts special tokens everywhere."""
    mlm = MaskedLanguageModel.load(tiny_mlm_folder)
    with torch.no_grad():
        mlm.model.cls.predictions.bias[:5] += 20
    return mlm


def test_special_tokens_are_never_written_into_a_text(mlm_of_specials):
    current = text_of("a good film")
    stock = texts_of(stock_swap(mlm_of_specials, 20), current, [1])
    assert sum("[" in text for text in stock) == 5
    found = texts_of(swap_of(mlm_of_specials, 20), current, [1])
    assert not any("[" in text for text in found)
    assert found[: len(stock) - 5] == [text for text in stock if "[" not in text]


def test_a_mask_token_in_the_text_is_not_confused_with_the_masked_word(demo_mlm):
    current = text_of("[MASK] is a good film")
    found = texts_of(swap_of(demo_mlm, 5), current, [3])
    assert found
    assert all(text.startswith("[MASK] is a ") and text.endswith(" film") for text in found)
    assert found != [text.replace("[MASK]", "the") for text in texts_of(swap_of(demo_mlm, 5), text_of("the is a good film"), [0])]


def test_a_word_beyond_the_models_maximum_length_is_not_changed(how):
    swap = swap_of(how.resources().load_mlm(), 4)
    current = text_of("good film " * 100)
    assert texts_of(swap, current, [125])
    assert texts_of(swap, current, [126, 199]) == []


def test_records_do_not_depend_on_the_number_in_flight(how, victim):
    texts = ["the film was good and the music great", "The movie is bad, but the song is not bad!", "good", "a tune of moods", "", "..."]
    examples = examples_of(victim, texts)
    alone = [attack(how, victim, [example], in_flight=1)[0] for example in examples]
    assert attack(how, victim, examples, in_flight=64) == alone
    assert any(record.words_changed for record in alone)


def test_missing_resources_are_reported_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"masked language model not found: .*`hf download NAME`"):
        BAE().prepare()
