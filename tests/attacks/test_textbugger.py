from __future__ import annotations

import pytest

from ticketlab.attacks.components.word_swaps import swap_homoglyphs
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textbugger import TextBugger
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
TEXTS = ["the film was good and the music great", "The movie is bad, but the song is not bad!", "good", "a good film with a good tune"]
VECTORS = {"film", "movie", "movies", "good", "great", "fine", "bad", "music", "song", "tune"}

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")


@pytest.fixture
def textbugger(vector_file, tiny_encoder_folder):
    return TextBugger(word_vectors=vector_file, encoder=tiny_encoder_folder, min_similarity=0.0)


def examples(victim, texts):
    return [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]


def attack(how, victim, rows, columns=("text",)):
    return run_attack(how, victim, rows, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=0)


def test_components_are_those_of_textattacks_recipe(textbugger, victim):
    import_textattack()
    built = TextBugger(word_vectors=textbugger.word_vectors, encoder=textbugger.encoder).build(victim, textbugger.prepare())
    insertion, deletion, swap, look_alike, neighbour = built.transformation.transformations
    assert [insertion.letters_to_insert, neighbour.max_candidates, look_alike.random_one] == [" ", 5, False]
    assert all(bug.random_one and bug.skip_first_char and bug.skip_last_char for bug in (insertion, deletion, swap))
    assert built.search_method.wir_method == "delete"
    assert {type(constraint).__name__ for constraint in built.pre_transformation_constraints} == {
        "RepeatModification",
        "StopwordModification",
    }
    (similarity,) = built.constraints
    assert (similarity.threshold, similarity.metric, similarity.window_size) == (0.8, "angular", float("inf"))
    assert similarity.compare_against_original


def is_a_bug(old: str, new: str, swap) -> bool:
    return (
        new.replace(" ", "", 1) == old
        or any(new == old[:place] + old[place + 1 :] for place in range(len(old)))
        or any(new == old[:place] + old[place + 1] + old[place] + old[place + 2 :] for place in range(len(old) - 1))
        or new in swap._get_replacement_words(old)
        or {old, new} <= VECTORS
    )


def test_every_candidate_is_one_of_the_five_bugs_of_one_word(textbugger, victim):
    text = import_textattack().shared.AttackedText("the film was good and the music great")
    candidates = textbugger.build(victim, textbugger.prepare()).transformation(text)
    swap, kinds = swap_homoglyphs(), set()
    for candidate in candidates:
        place = min(candidate.attack_attrs["newly_modified_indices"])  # a space makes two words of one
        old = text.words[place]
        rest = " ".join(text.words[place + 1 :])
        new = candidate.text.removeprefix(" ".join(text.words[:place])).removesuffix(rest).strip()
        assert is_a_bug(old, new, swap), (old, new)
        kinds.add(type(candidate.attack_attrs["last_transformation"]).__name__)
    assert len(kinds) == 5


def test_the_similarity_threshold_limits_the_changes(textbugger, victim):
    strict = TextBugger(word_vectors=textbugger.word_vectors, encoder=textbugger.encoder, min_similarity=1.0)
    rows = examples(victim, TEXTS)
    assert any(record.words_changed for record in attack(textbugger, victim, rows))
    assert not any(record.words_changed for record in attack(strict, victim, rows))


def test_different_seeds_and_neighbours_give_different_attacks(textbugger, victim):
    rows = examples(victim, TEXTS)
    renamed = [Example(f"other {row.id}", row.texts, row.label) for row in rows]
    texts = [[record.perturbed for record in attack(textbugger, victim, some)] for some in (rows, renamed)]
    assert texts[0] != texts[1]


def test_a_letter_is_replaced_by_a_homoglyph():
    import_textattack()
    assert swap_homoglyphs()._get_replacement_words("a-0") == ["\N{LATIN SMALL LETTER ALPHA}-0", "a\N{MODIFIER LETTER MINUS SIGN}0", "a-O"]


@pytest.mark.parametrize("text", ["thanks", "a", "", "...", "\U0001f600", "שלום עולם", "good good good", "-- 'n' --", "in `` good '' film"])
def test_odd_texts_get_a_status(textbugger, victim, text):
    record = attack(textbugger, victim, examples(victim, [text]))[0]
    assert record.status in ("success", "failed"), record.message


def test_both_texts_of_a_pair_are_attacked(textbugger, victim):
    pairs = [("good film", "it was bad"), ("great music", "a song"), ("the movie was good", "the tune was good")]
    rows = [Example(str(number), pair, int(victim([pair]).argmax())) for number, pair in enumerate(pairs)]
    records = attack(textbugger, victim, rows, ("premise", "hypothesis"))
    assert not [record.message for record in records if record.status == "error"]
    assert any(record.original[0] != record.perturbed[0] for record in records)
