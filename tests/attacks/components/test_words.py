"""Words in every script: combining marks and joiners stay inside of words."""

from __future__ import annotations

import sys
import unicodedata
from typing import ClassVar

import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.words import starts_of, words_of
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

needs_textattack = pytest.mark.skipif(not installed(), reason="textattack is not installed")

ARABIC = "الخِدْمَةُ مُخَيِّبٌ جِدًّا"
HINDI = "यह फ़िल्म बहुत अच्छी है"
VIETNAMESE = unicodedata.normalize("NFD", "tiếng Việt được nói")
WORDS = {
    "vocalised Arabic": (ARABIC, ARABIC.split()),
    "vocalised Hebrew": ("שָׁלוֹם, עוֹלָם!", ["שָׁלוֹם", "עוֹלָם"]),
    "Hindi": (f"{HINDI}।", HINDI.split()),
    "Hindi with a joiner": ("क्\u200dया है", ["क्\u200dया", "है"]),
    "Tamil": ("நல்ல படம்", ["நல்ல", "படம்"]),
    "Thai, which has no spaces": ("ภาษาไทย สวัสดี", ["ภาษาไทย", "สวัสดี"]),
    "decomposed Vietnamese": (VIETNAMESE, VIETNAMESE.split()),
    "decomposed German": ("Gro\u0308ße und U\u0308bermut", ["Gro\u0308ße", "und", "U\u0308bermut"]),
    "composed German": ("Größe-Übermut d'accord", ["Größe-Übermut", "d'accord"]),
    "Persian with a non-joiner": ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),  # noqa: RUF001
    "a soft hyphen": ("Donau\u00addampf", ["Donau\u00addampf"]),
    "marks of direction around words": ("\u200fטוב\u200f \u202efilm\u202c was", ["טוב", "film", "was"]),  # noqa: RUF001
    "a space of no width": ("go\u200bod", ["go", "od"]),
    "emoji joined": ("a 👩\u200d💻 film\u200d 👍🏽❤\ufe0f", ["a", "film"]),
    "a keycap": ("1\ufe0f\u20e3 star", ["1\ufe0f\u20e3", "star"]),
    "a mark on nothing": ("\u0301 a -\u0301b", ["a", "b"]),
    "Japanese in kana": ("カメラはいい、です", ["カメラはいい", "です"]),
    "Korean": ("영화가 좋다", ["영화가", "좋다"]),
    "decomposed Korean": (unicodedata.normalize("NFD", "영화가 좋다"), unicodedata.normalize("NFD", "영화가 좋다").split()),
    "signs and joiners": ("don't 'quote' x*y _z_ a@b.c -- \u00d7", ["don't", "quote", "x*y", "z", "a@b", "c", "\u00d7"]),
}


@pytest.mark.parametrize(("text", "words"), WORDS.values(), ids=WORDS)
def test_marks_and_joiners_stay_inside_a_word(text: str, words: list[str]) -> None:
    assert words_of(text) == words
    assert [text[start : start + len(word)] for word, start in zip(words, starts_of(words, text), strict=True)] == words


def test_every_mark_of_unicode_stays_with_its_letter() -> None:
    marks = [letter for letter in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(letter).startswith("M")]
    assert len(marks) > 2000
    assert words_of(" ".join(f"a{mark}b{mark}" for mark in marks)) == [f"a{mark}b{mark}" for mark in marks]


@pytest.mark.filterwarnings("ignore")  # jieba's own
@needs_textattack
@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet=st.one_of(st.sampled_from("ab -'_\u0301\u200d\u064eب"), st.characters()), max_size=20))
def test_words_are_parts_of_the_text_in_its_order_and_none_is_lost(text: str) -> None:
    words, place = words_of(text), 0
    for word, start in zip(words, starts_of(words, text), strict=True):
        assert start >= place
        assert not any(letter.isalnum() for letter in text[place:start])
        place = start + len(word)
    assert not any(letter.isalnum() for letter in text[place:])


@pytest.mark.filterwarnings("ignore")  # jieba's own
@needs_textattack
def test_chinese_is_segmented_and_adjacent_text_is_not() -> None:
    import_textattack()
    assert words_of("我喜欢这部电影 good") == ["我", "喜欢", "这部", "电影", "good"]
    assert words_of("naïve电影 café don't") == ["naïve", "电影", "café", "don't"]
    assert words_of(f"电影 {ARABIC}") == ["电影", *ARABIC.split()]
    assert words_of("T恤 カメラは良い") == ["T恤", "カメラは", "良", "い"]


@needs_textattack
@pytest.mark.parametrize("text", [ARABIC, HINDI, VIETNAMESE], ids=["Arabic", "Hindi", "Vietnamese"])
def test_attacks_and_counts_use_these_words(victim, text: str) -> None:
    asked = []

    @frozen
    class Watched(Attack):
        name: ClassVar[str] = "watched"
        summary: ClassVar[str] = "watched"

        def build(self, victim, resources):
            built = DeepWordBug().build(victim, resources)
            get = built.get_indices_to_order
            built.search_method.get_indices_to_order = lambda text, **more: asked.append(get(text, **more)[0]) or get(text, **more)
            return built

    number = len(text.split())
    example = Example("1", (text,), int(victim([text]).argmax()))
    (record,) = run_attack(
        Watched(), victim, [example], columns=("text",), label_names=("negative", "positive"), records=RecordFile(None, "c"), seed=0
    )
    assert record.status in ("success", "failed")
    assert asked == [number]
    assert record.words_total == number
    assert record.words_changed <= number
