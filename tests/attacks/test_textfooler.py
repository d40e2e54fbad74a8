from __future__ import annotations

import pytest
import torch

from ticketlab.attacks.components.constraints import similar_sentence
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
TEXTS = ["the film was good and the music great", "The movie is bad, but the song is not bad!", "good", "a good film with a good tune"]

pytestmark = [
    pytest.mark.skipif(not installed(), reason="textattack is not installed"),
    pytest.mark.skipif(Resources(tagger="textblob").where("tagger") is None, reason="textblob is not installed"),
]


@pytest.fixture
def textfooler(vector_file, tiny_encoder_folder):
    return TextFooler(word_vectors=vector_file, encoder=tiny_encoder_folder, min_similarity=0.5)


def examples(victim, texts):
    return [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]


def attack(how, victim, rows, columns=("text",)):
    return run_attack(how, victim, rows, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=0)


def test_components_and_thresholds_are_those_of_the_paper(victim):
    import_textattack()
    how = TextFooler()
    try:
        resources = how.prepare()
    except ValueError as missing:
        pytest.skip(str(missing))
    built = how.build(victim, resources)
    assert built.transformation.max_candidates == 50
    assert built.search_method.wir_method == "delete"
    before = {type(constraint).__name__ for constraint in built.pre_transformation_constraints}
    assert before == {"RepeatModification", "StopwordModification", "InputColumnModification"}
    distance, speech, similarity = built.constraints
    assert distance.min_cos_sim == 0.5
    assert speech.allow_verb_noun_swap
    assert (similarity.threshold, similarity.metric, similarity.window_size) == (0.840845057, "angular", 15)
    assert similarity.skip_text_shorter_than_window
    assert not similarity.compare_against_original


def test_words_are_replaced_only_by_neighbours(textfooler, victim):
    near = [{"film", "movie", "movies"}, {"good", "great", "fine", "bad"}, {"music", "song", "tune"}]
    records = attack(textfooler, victim, examples(victim, TEXTS))
    assert {record.status for record in records} <= {"success", "failed"}
    assert any(record.words_changed for record in records)
    for record in records:
        for old, new in zip(record.original[0].lower().split(), record.perturbed[0].lower().split(), strict=True):
            old, new = old.strip(",!"), new.strip(",!")
            assert old == new or any({old, new} <= group for group in near)


def test_a_record_depends_on_its_example_alone(textfooler, victim):
    rows = examples(victim, TEXTS)
    assert (
        attack(textfooler, victim, rows)
        == attack(textfooler, victim, rows[::-1])[::-1]
        == [attack(textfooler, victim, [row])[0] for row in rows]
    )


@pytest.mark.parametrize(("columns", "kept"), [(("premise", "hypothesis"), True), (("question1", "question2"), False)])
def test_the_premise_is_not_changed(textfooler, victim, columns, kept):
    pairs = [
        ("good film", "it was bad"),
        ("great music", "a song"),
        ("the movie was good", "the tune was good"),
        ("bad song", "good movie"),
    ]
    rows = [Example(str(number), pair, int(victim([pair]).argmax())) for number, pair in enumerate(pairs)]
    records = attack(textfooler, victim, rows, columns)
    assert not [record.message for record in records if record.status == "error"]
    assert all(record.original[0] == record.perturbed[0] for record in records) is kept


@pytest.mark.parametrize("text", ["thanks", "a", "", "...", "\U0001f600", "שלום עולם", "good good good", "-- 'n' --"])
def test_odd_texts_get_a_status(textfooler, victim, text):
    record = attack(textfooler, victim, examples(victim, [text]))[0]
    assert record.status in ("success", "failed"), record.message


class Counting:
    """Embeds a text as its length and a constant; counts the embedded texts."""

    def __init__(self):
        self.asked = 0

    def encode(self, sentences):
        self.asked += len(set(sentences))
        return torch.tensor([[20.0, float(len(sentence))] for sentence in sentences])


def changed(text, index, word):
    return text.replace_word_at_index(index, word)


def test_similarity_compares_windows_and_accepts_short_texts():
    attacked_text = import_textattack().shared.AttackedText
    encoder = Counting()
    constraint = similar_sentence(encoder, threshold=0.95, metric="angular", window=5, skip_short=True, compare_against_original=False)
    short = attacked_text("good film")
    assert len(constraint._check_constraint_many([changed(short, 0, "x")], short)) == 1
    assert encoder.asked == 0
    long = attacked_text("one two three four five six seven")
    near, far = changed(long, 3, "fours"), changed(long, 3, "x" * 90)
    assert constraint._check_constraint_many([near, far], long) == [near]
    assert encoder.asked == 3
    assert 0.95 < near.attack_attrs["similarity_score"] <= 1


def test_a_candidate_that_changes_nothing_is_dropped():
    attacked_text = import_textattack().shared.AttackedText
    constraint = similar_sentence(Counting(), threshold=0.5, metric="angular", window=3)
    text = attacked_text("one two three four")
    assert constraint._check_constraint_many([changed(text, 1, "two")], text) == []
