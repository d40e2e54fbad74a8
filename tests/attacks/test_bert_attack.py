from __future__ import annotations

import itertools
import json
from collections import OrderedDict

import pytest
import torch
from attrs import evolve

from ticketlab.attacks.bert_attack import BertAttack
from ticketlab.attacks.components.masked_swaps import span, swap_by_pieces
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.resources.masked_lm import MaskedLanguageModel
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

NAMES = ("negative", "positive")
KINDS = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}
LONG = [
    "the unwatchableness of it",
    "Moviegoers' tragicomedy!",
    "a hippopotamically well-made film",
    "so tragicomically good",
    "over-the-top",
]


@pytest.fixture
def how(tiny_mlm_folder, tiny_encoder_folder):
    return BertAttack(mlm=tiny_mlm_folder, encoder=tiny_encoder_folder, candidates=8, min_similarity=-1)


@pytest.fixture(scope="session")
def demo_mlm(demo_mlm_folder):
    return MaskedLanguageModel.load(demo_mlm_folder)


def text_of(text):
    return import_textattack().shared.AttackedText(text)


def attack(how, victim, examples, *, columns=("text",), **more):
    return run_attack(how, victim, examples, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=0, **more)


def seen_whole(victim, text):
    """Return whether the victim sees every word; stock textattack also attacks words that it does not see."""
    return len(victim.tokenizer(text)["input_ids"]) <= victim.max_length


def examples_of(victim, texts):
    """Return examples that the victim classifies correctly, except for the last two."""
    rows = [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]
    return [*rows[:-2], *(evolve(row, label=1 - row.label) for row in rows[-2:])]


def stock_swap(mlm, candidates):
    import_textattack()
    from textattack.transformations import WordSwapMaskedLM

    return WordSwapMaskedLM(
        method="bert-attack", masked_language_model=mlm.model, tokenizer=mlm.tokenizer, max_length=48, max_candidates=candidates
    )


def stock_attack(victim, mlm, encoder):
    """Return textattack's recipe with its own classes and our resources."""
    textattack = import_textattack()
    from textattack.constraints.overlap import MaxWordsPerturbed
    from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
    from textattack.constraints.semantics.sentence_encoders import SentenceEncoder
    from textattack.goal_functions import UntargetedClassification
    from textattack.search_methods import GreedyWordSwapWIR

    similarity = SentenceEncoder(threshold=0.2, metric="cosine", compare_against_original=True, window_size=None)
    similarity.model, similarity.encode = encoder, encoder.encode
    constraints = [RepeatModification(), StopwordModification(), MaxWordsPerturbed(max_percent=0.4), similarity]
    goal = UntargetedClassification(victim, model_batch_size=1 << 20)
    return textattack.Attack(goal, constraints, stock_swap(mlm, 8), GreedyWordSwapWIR(wir_method="unk"))


def test_components_and_thresholds_are_those_of_the_paper(victim, how):
    import_textattack()
    built = evolve(BertAttack(), mlm=how.mlm, encoder=how.encoder).build(victim, how.resources())
    assert (built.transformation.max_candidates, built.transformation.order) == (48, "perplexity")
    assert built.search_method.wir_method == "unk"
    assert {type(constraint).__name__ for constraint in built.pre_transformation_constraints} == {
        "RepeatModification",
        "StopwordModification",
    }
    perturbed, similarity = built.constraints
    assert perturbed.max_percent == 0.4
    assert (similarity.threshold, similarity.metric, similarity.window_size) == (0.2, "cosine", float("inf"))
    assert similarity.compare_against_original
    assert not similarity.skip_text_shorter_than_window


def test_results_on_real_reviews_equal_textattacks(real_data, victim, demo_mlm, demo_mlm_folder, tiny_encoder_folder):
    lines = (real_data / "sst2" / "validation.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["sentence"] for line in lines]

    def pieces(text):
        return max(len(demo_mlm.tokenizer.tokenize(word)) for word in text_of(text).words)

    some = [text for text in texts if 5 <= len(text.split()) <= 10 and pieces(text) <= 3 and seen_whole(victim, text)][:17]
    how = BertAttack(mlm=demo_mlm_folder, encoder=tiny_encoder_folder, candidates=8, long_words="first")
    examples = examples_of(victim, some)
    records = attack(how, victim, examples)
    stock = stock_attack(victim, demo_mlm, how.resources().load_encoder())
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
    assert sum(pieces(text) > 1 for text in some) >= 5


@pytest.mark.parametrize("text", [*LONG, "it's a $5 film", 'naïve "café" talk', "a b"])
@pytest.mark.parametrize("candidates", [1, 3])
def test_candidates_for_a_word_equal_textattacks(demo_mlm, text, candidates):
    stock = stock_swap(demo_mlm, candidates)
    swap = swap_by_pieces(demo_mlm, candidates=candidates, order="first", combinations=10_000)
    current = text_of(text)
    every = set(range(len(current.words)))
    expected = [found.text for found in stock._get_transformations(current, every)]
    assert [found.text for found in swap._get_transformations(current, every)] == expected
    assert expected == [found.text for index in every for found in swap._get_transformations(current, {index})]


@pytest.mark.parametrize("text", LONG)
def test_the_combinations_of_lowest_perplexity_are_found(demo_mlm, text):
    current = text_of(text)
    candidates = 4
    swap = swap_by_pieces(demo_mlm, candidates=candidates, order="perplexity", combinations=10_000)
    index = max(range(len(current.words)), key=lambda index: len(current.words[index]))
    tokens = demo_mlm.tokens(text)
    places = tokens.at(*span(current, index))
    assert len(places) > 2
    with torch.no_grad():
        logits = demo_mlm.model(**{name: torch.tensor([values]) for name, values in tokens.inputs.items()}).logits[0, places]
    log_probs = logits.log_softmax(-1)
    ranked = []
    for ids in itertools.product(*logits.topk(candidates).indices.tolist()):
        word = "".join(demo_mlm.tokenizer.convert_ids_to_tokens(ids)).replace("##", "")
        perplexity = -sum(float(log_probs[place, chosen]) for place, chosen in enumerate(ids)) / len(places)
        if len(text_of(word).words) == 1:
            ranked.append((perplexity, word))
    expected = [current.replace_word_at_index(index, word).text for _, word in sorted(ranked)[:candidates] if word != current.words[index]]
    assert [found.text for found in swap._get_transformations(current, {index})] == expected
    assert expected


def test_the_search_for_combinations_ends_at_the_limit_and_is_reported(mlm_of_punctuation, capsys):
    current = text_of("a zzzzzzzz film")
    for candidates, said in ((2, False), (6, True)):
        swap = swap_by_pieces(mlm_of_punctuation, candidates=candidates, order="first", combinations=300)
        assert swap._get_transformations(current, {1}) == []
        assert ("only the first 300 combinations of pieces were examined for `zzzzzzzz`" in capsys.readouterr().err) is said
    swap_by_pieces(mlm_of_punctuation, candidates=6, order="first", combinations=300)._get_transformations(current, {1})
    assert capsys.readouterr().err == ""


@pytest.fixture
def mlm_of_punctuation(tiny_mlm_folder):
    """A masked language model that predicts punctuation everywhere, which is not a word."""
    mlm = MaskedLanguageModel.load(tiny_mlm_folder)
    with torch.no_grad():
        for mark in ".,!?'-":
            mlm.model.cls.predictions.bias[mlm.tokenizer.convert_tokens_to_ids(mark)] += 1000
    return mlm


@pytest.fixture
def mlm_of_specials(tiny_mlm_folder):
    """A masked language model that predicts special tokens everywhere."""
    mlm = MaskedLanguageModel.load(tiny_mlm_folder)
    with torch.no_grad():
        mlm.model.cls.predictions.bias[:5] += 1000
    return mlm


@pytest.mark.parametrize("order", ["first", "perplexity"])
def test_special_tokens_are_never_written_into_a_text(mlm_of_specials, order):
    current = text_of("a good films")
    stock = [found.text for found in stock_swap(mlm_of_specials, 8)._get_transformations(current, {1, 2})]
    assert any("[SEP]" in text for text in stock)
    found = [
        found.text
        for found in swap_by_pieces(mlm_of_specials, candidates=8, order=order, combinations=10_000)._get_transformations(current, {1, 2})
    ]
    assert len(found) > 5
    assert not any("[" in text for text in found)
    if order == "first":
        assert [text for text in stock if "[" not in text and text.endswith("films")] == [text for text in found if text.endswith("films")]


def test_a_word_beyond_the_models_maximum_length_is_not_changed(how, victim):
    mlm = how.resources().load_mlm()
    current = text_of("good film " * 100)
    swap = swap_by_pieces(mlm, candidates=4, order="first", combinations=100)
    assert swap._get_transformations(current, {125})
    assert swap._get_transformations(current, {126, 199}) == []


def test_records_do_not_depend_on_the_number_in_flight(how, victim):
    texts = ["the film was good and the music great", "The movie is bad, but the song is not bad!", "good", "a tune of moods", "", "..."]
    examples = examples_of(victim, texts)
    alone = [attack(how, victim, [example], in_flight=1)[0] for example in examples]
    assert attack(how, victim, examples, in_flight=64) == alone
    assert any(record.words_changed for record in alone)


def test_at_most_the_maximum_fraction_of_words_is_changed(how, victim):
    texts = ["the film was good and the music great and the plot very dull", "a good movie of bad songs and bad tunes and great cast"] * 2
    for record in attack(evolve(how, max_words_perturbed=0.1), victim, examples_of(victim, [*texts, "", ""])):
        assert record.words_changed <= -(-record.words_total // 10)


def test_both_texts_of_a_pair_may_change(how, victim):
    pairs = [("good film", "it was bad"), ("great music", "a song"), ("the movie was good", "the tune was good")]
    rows = [Example(str(number), pair, int(victim([pair]).argmax())) for number, pair in enumerate(pairs)]
    records = attack(how, victim, rows, columns=("premise", "hypothesis"))
    assert not [record.message for record in records if record.status == "error"]
    assert any(record.original[0] != record.perturbed[0] for record in records)


def test_missing_resources_are_reported_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match=r"masked language model not found: .*`hf download NAME`"):
        BertAttack().prepare()
    with pytest.raises(ValueError, match=r"masked language model `nowhere` not found"):
        BertAttack(mlm="nowhere").prepare()
    assert Resources(mlm="nowhere").found(["mlm"]) == {}
