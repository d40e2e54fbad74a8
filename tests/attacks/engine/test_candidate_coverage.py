"""Words with candidates, and words that the model sees, are counted: an attack that could change nothing does not show robustness."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import evolve, frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.candidate_coverage import unseen_words
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textattack_recipe import TextAttackRecipe
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

NAMES = ("negative", "positive")
ARABIC = "الخِدْمَةُ مُخَيِّبٌ جِدًّا"


def attack(how: Attack, victim: Victim, *texts: str | tuple[str, ...], columns: tuple[str, ...] = ("text",), **more: Any) -> list[Record]:
    """Attack texts with the labels that the victim predicts."""
    with victim.evaluating():
        labels = [int(victim([text]).argmax()) for text in texts]
    rows = [
        Example(f"row-{number}", (text,) if isinstance(text, str) else text, label)
        for number, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    return run_attack(how, victim, rows, columns=columns, label_names=NAMES, records=RecordFile(None, "c"), seed=1, **more)


def words(record: Record) -> tuple[int | None, int | None, int | None]:
    return record.words_tried, record.words_replaceable, record.words_allowed


@pytest.fixture
def stubborn(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> Victim:
    """A victim that never changes its mind, so that every word is tried."""
    import torch

    monkeypatch.setattr(type(victim), "__call__", lambda self, texts: torch.tensor([[3.0, 1.0]] * len(texts)))
    return victim


@pytest.fixture
def textfooler(vector_file: str, tiny_encoder_folder: str) -> TextFooler:
    return TextFooler(word_vectors=vector_file, encoder=tiny_encoder_folder, tagger="none", min_similarity=0.0, min_cosine=0.9)


def test_words_without_a_vector_have_no_candidate(stubborn: Victim, textfooler: TextFooler) -> None:
    arabic, english, stop = attack(textfooler, stubborn, ARABIC, "good film, dull plot", "the and of")
    assert words(arabic) == (3, 0, 0)
    assert words(english) == (4, 2, 2)
    assert words(stop) == (0, 0, 0)
    assert [record.message for record in (arabic, english, stop)] == ["no candidate for any word", "", "no candidate for any word"]


def test_candidates_rejected_by_constraints_are_counted_separately(stubborn: Victim, textfooler: TextFooler) -> None:
    (record,) = attack(evolve(textfooler, min_cosine=1.0), stubborn, "good film, dull plot")
    assert words(record) == (4, 2, 0)


def test_character_edits_are_candidates_for_words_of_two_letters(stubborn: Victim) -> None:
    assert words(attack(DeepWordBug(), stubborn, "film a x z good")[0]) == (4, 2, 2)  # `a` is a stop word
    assert words(attack(DeepWordBug(), stubborn, ARABIC)[0]) == (3, 3, 3)


@pytest.mark.parametrize("recipe", ["pruthi", "input-reduction", "textbugger", "iga"])
def test_textattack_recipes_are_counted_in_the_same_way(victim: Victim, textfooler: TextFooler, recipe: str) -> None:
    resources = {"word_vectors": textfooler.word_vectors, "encoder": textfooler.encoder}
    (record,) = attack(TextAttackRecipe(recipe=recipe, query_budget=60, **resources), victim, "good film with great music")
    assert record.status in ("success", "failed")
    assert record.words_tried
    assert record.words_replaceable
    assert record.words_replaceable <= record.words_tried <= 5


def test_every_attack_counts_words_with_candidates(every_attack: Attack, victim: Victim) -> None:
    found = attack(evolve(every_attack, query_budget=80), victim, "the film was good and the acting great", "great music, great song")
    assert all(record.words_tried is not None for record in found)
    assert any(record.words_replaceable for record in found)


def test_an_inserted_word_does_not_change_the_indices_of_original_words(stubborn: Victim) -> None:
    """A space in `film` makes two words of one: then `good` is the third word, and once it has a space too its end is the fourth."""

    @frozen
    class Spaces(Attack):
        name: ClassVar[str] = "spaces"
        summary: ClassVar[str] = "a space after the first letter"

        def build(self, victim: Any, resources: Any) -> Any:
            textattack = import_textattack()

            class Space(textattack.transformations.WordSwap):  # type: ignore[misc, name-defined]
                def _get_replacement_words(self, word: str) -> list[str]:
                    return [f"{word[0]} {word[1:]}"] if len(word) > 1 else []

            class Both(textattack.search_methods.SearchMethod):  # type: ignore[misc, name-defined]
                def perform_search(self, initial_result: Any) -> Any:
                    text = initial_result.attacked_text
                    for index in (0, 2, 3):
                        made = self.get_transformations(text, original_text=initial_result.attacked_text, indices_to_modify=[index])
                        text = made[0] if made else text
                    return self.get_goal_results([text])[0][0]

                is_black_box = True

            return textattack.Attack(self.goal(victim), [], Space(), Both())

    (record,) = attack(Spaces(), stubborn, "film good music")
    assert record.perturbed == ("f ilm g o od music",)
    assert words(record) == (2, 2, 2)


def test_counts_are_unknown_for_attacks_not_built_with_textattack(victim: Victim) -> None:
    @frozen
    class Other(Attack):
        name: ClassVar[str] = "other"
        summary: ClassVar[str] = "other"

        def build(self, victim: Any, resources: Any) -> Any:
            class Built:
                def attack(self, text: Any, label: int) -> Any:
                    return DeepWordBug().build(victim, resources).attack(text, label)

            return Built()

    assert words(attack(Other(), victim, "good film")[0]) == (None, None, None)


def test_skipped_examples_have_no_counts(victim: Victim) -> None:
    with victim.evaluating():
        wrong = 1 - int(victim(["good film"]).argmax())
    row = Example("1", ("good film",), wrong)
    (record,) = run_attack(DeepWordBug(), victim, [row], columns=("text",), label_names=NAMES, records=RecordFile(None, "c"), seed=1)
    assert (record.status, words(record)) == ("skipped", (None, None, None))


def test_a_shared_attack_object_is_restored(victim: Victim) -> None:
    textattack = import_textattack()
    built = DeepWordBug().build(victim, DeepWordBug().prepare())
    before = dict(vars(built)), list(built.pre_transformation_constraints), dict(vars(built.transformation))

    @frozen
    class Shared(Attack):
        name: ClassVar[str] = "shared"
        summary: ClassVar[str] = "shared"

        def build(self, victim: Any, resources: Any) -> Any:
            return built

    first, second = attack(Shared(), victim, "good film, dull plot", "good film, dull plot " * 40, in_flight=1)
    assert second.truncated
    assert first.words_tried
    assert (dict(vars(built)), list(built.pre_transformation_constraints), dict(vars(built.transformation))) == before
    assert type(built) is textattack.Attack


# words that the model does not see


def test_truncated_words_are_not_attacked(stubborn: Victim) -> None:
    text = "good film and dull music "
    (cut,) = attack(DeepWordBug(), stubborn, (text * 30).strip())
    seen = 62  # tokens without the two special ones, each a word
    assert (cut.truncated, cut.words_total, cut.words_unseen) == (True, 150, 150 - seen)
    (whole,) = attack(DeepWordBug(), stubborn, " ".join((text * 30).split()[:seen]))
    assert (whole.truncated, whole.words_unseen) == (False, 0)
    assert cut.queries == whole.queries
    assert cut.words_tried == whole.words_tried == len([word for word in (text * 30).split()[:seen] if word != "and"])
    assert cut.perturbed[0].split()[seen:] == (text * 30).split()[seen:]


@pytest.mark.parametrize(
    ("pair", "unseen"),
    [
        pytest.param(("good film " * 40, "dull plot"), set(range(59, 80)), id="the first is longer"),
        pytest.param(("dull plot", "good film " * 40), set(range(2 + 59, 82)), id="the second is longer"),
        pytest.param(("good film " * 40, "dull plot " * 40), {*range(30, 80), *range(80 + 31, 160)}, id="both are long"),
        pytest.param(("good film", "dull plot"), set(), id="none is cut"),
    ],
)
def test_the_longer_text_of_a_pair_is_truncated_first(victim: Victim, pair: tuple[str, str], unseen: set[int]) -> None:
    seen = victim.seen(pair)
    assert seen is not None
    assert unseen_words(pair, seen) == unseen
    (row,) = victim.encode([pair])
    kept = victim.tokenizer.convert_ids_to_tokens(row["input_ids"])
    words_seen = [word for number, word in enumerate(" ".join(pair).split()) if number not in unseen]
    assert [token for token in kept if not token.startswith("[")] == words_seen


def test_pairs_are_attacked_where_the_model_sees_them(stubborn: Victim) -> None:
    pair = ("good film " * 40, "dull plot " * 40)
    (record,) = attack(DeepWordBug(), stubborn, pair, columns=("first", "second"))
    assert (record.words_total, record.words_unseen, record.words_tried) == (160, 99, 61)
    assert [text.split()[kept:] for text, kept in zip(record.perturbed, (30, 31), strict=True)] == [
        ["good", "film"] * 25,
        ["plot", *["dull", "plot"] * 24],
    ]


def test_a_tokenizer_that_truncates_on_the_left_leaves_the_end(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(victim.tokenizer, "truncation_side", "left")
    text = "good film " * 40
    seen = victim.seen(text)
    assert seen is not None
    assert unseen_words((text,), seen) == set(range(80 - 62))


def test_a_word_of_which_a_piece_is_seen_counts_as_seen(victim: Victim) -> None:
    text = " ".join(["good"] * 60 + ["film" + "x" * 20, "plot"])
    seen = victim.seen(text)
    assert seen is not None
    assert unseen_words((text,), seen) == {61}


def test_unseen_words_are_unknown_without_a_fast_tokenizer(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(victim), "seen", lambda self, text: None)
    long, short = attack(DeepWordBug(query_budget=20), victim, "good film " * 40, "good film")
    assert (long.words_unseen, short.words_unseen) == (None, 0)


def test_inserted_words_do_not_move_the_truncation_of_the_others(victim: Victim) -> None:
    from ticketlab.attacks.components.attacked_text import attacked_text
    from ticketlab.attacks.engine.candidate_coverage import _seen_words

    constraint = _seen_words()({2, 3})
    text = attacked_text({"text": "a b c d e"})
    assert constraint(text, None) == {0, 1, 4}
    longer = text.insert_text_before_word_index(1, "x y")
    assert longer.text == "a x y b c d e"
    assert constraint(longer, None) == {0, 1, 2, 3, 6}
    shorter = longer.delete_word_at_index(4)
    assert shorter.text == "a x y b d e"
    assert np.array_equal(sorted(constraint(shorter, None)), [0, 1, 2, 3, 5])
