from __future__ import annotations

import numpy as np
import pytest
from support.small_wordnet import write_wordnet

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.pwws import PWWS
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
SENSES = [{"film", "movie", "picture", "cinema", "shoot", "take"}]

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")


@pytest.fixture
def pwws(tmp_path):
    return PWWS(wordnet=str(write_wordnet(tmp_path / "wordnet")))


def examples(victim, texts):
    return [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]


def attack(how, victim, rows, columns=("text",)):
    return run_attack(how, victim, rows, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=0)


def test_components_are_those_of_textattacks_recipe(pwws, victim):
    import_textattack()
    built = pwws.build(victim, pwws.prepare())
    assert built.search_method.wir_method == "weighted-saliency"
    assert built.constraints == []
    assert {type(constraint).__name__ for constraint in built.pre_transformation_constraints} == {
        "RepeatModification",
        "StopwordModification",
    }


def test_words_are_replaced_only_by_synonyms(pwws, victim):
    texts = ["the film was good and the movie great", "a movie, a picture and a song", "music", "Film it"]
    records = attack(pwws, victim, examples(victim, texts))
    assert {record.status for record in records} <= {"success", "failed"}
    assert any(record.words_changed for record in records)
    for record in records:
        for old, new in zip(record.original[0].lower().split(), record.perturbed[0].lower().split(), strict=True):
            assert old == new or any({old.strip(","), new.strip(",")} <= sense for sense in SENSES)


def test_words_are_ordered_by_saliency_times_the_effect_of_their_best_synonym(pwws, victim):
    """Computed from the victim's probabilities alone: softmax of what masking does, times the change by the best synonym."""
    words = ["take", "the", "film", "and", "the", "movie"]
    label = int(victim([" ".join(words)]).argmax())
    found = pwws.prepare().load_wordnet()

    def away(place, *others):
        texts = [" ".join([*words[:place], other, *words[place + 1 :]]) for other in others]
        return (1 - victim(texts).double().softmax(1)[:, label]).max().item()

    places = [0, 2, 5]
    saliency = np.exp([away(place, "[UNK]") for place in places])
    best = [away(place, *found.synonyms(words[place])) for place in places]
    expected = [places[rank] for rank in np.argsort(-saliency / saliency.sum() * best)]
    built = pwws.build(victim, pwws.prepare())
    built.goal_function.init_attack_example(import_textattack().shared.AttackedText(" ".join(words)), label)
    order, over = built.search_method._get_index_order(built.goal_function.initial_attacked_text)
    assert [place for place in order if place in places] == expected
    assert not over


@pytest.mark.parametrize("text", ["thanks", "a", "", "...", "\U0001f600", "שלום עולם", "film film film", "-- 'n' --"])
def test_odd_texts_get_a_status(pwws, victim, text):
    record = attack(pwws, victim, examples(victim, [text]))[0]
    assert record.status in ("success", "failed"), record.message


def test_the_message_on_missing_resources_says_how_to_get_them(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"WordNet `.*nowhere` not found: there is no such folder$"):
        PWWS(wordnet=str(tmp_path / "nowhere")).prepare()
    monkeypatch.setattr("ticketlab.resources.wordnet.find", lambda _: None)
    with pytest.raises(
        ValueError, match=r"^--attack pwws: WordNet not found: apt-get install wordnet-base .*`--set attack\.attacks\.pwws\.wordnet=FOLDER`"
    ):
        PWWS().prepare()
