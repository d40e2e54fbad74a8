"""Compares our attacked text with textattack's, using our words, on random texts and changes."""

from __future__ import annotations

import sys
import unicodedata
from collections import OrderedDict

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ticketlab.attacks.components.attacked_text import attacked_text
from ticketlab.attacks.components.words import has_chinese, words_of
from ticketlab.resources.textattack_import import import_textattack, installed

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

ENGLISH = "I a I'm SPLIT PLI S T IT < > <SPLIT the there them's film filming don't co-op _x_ 'quoted' @me a@b.c x*y and/or e.g. --"
SIGNS = "... !? ( ) « “ ” \u2019s ` \u00d7 \u02d7 b\u00d7c \u24d0 \u24b6 0 \x00 \ufeff \u200b \u200f ze\u200bro \U0001f600 👩\u200d💻"
LETTERS = "é cafe\u0301 naïve क्\u200dया مُخَيِّبٌ İstanbul \u039fΔ\u039fΣ Σ ß \u0149 \ufb01n \U0001d7d5 שלום עולם مرحبا カメラ"
CHINESE = "電影 我喜欢这部电影 电"
PIECES = [*ENGLISH.split(), *SIGNS.split(), *LETTERS.split(), *CHINESE.split()]
SPACES = ["", " ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\x1c", ", ", ". ", "-", "'"]
OLD = "previous_attacked_text"
NONE = ("Cn", "Co", "Cs")
"""Categories of code points that are not characters: unassigned, private use, surrogates."""


def texts(pieces=PIECES, longest=14):
    return st.lists(st.tuples(st.sampled_from(pieces), st.sampled_from(SPACES)), max_size=longest).map(
        lambda pairs: "".join(piece + space for piece, space in pairs)
    )


any_texts = st.one_of(texts(ENGLISH.split()), texts([*ENGLISH.split(), *SIGNS.split(), *LETTERS.split()]), texts(), st.text(max_size=12))
SPLIT_TRAPS = [("a <SPLIT> b I",), ("I<SPLIT>I", "I T"), ("", "I am"), ("a", "", "I b"), ("...", "S P L I T"), ("I", "..", "--", "IT I")]
columns = st.one_of(
    st.tuples(any_texts), st.tuples(any_texts, any_texts), st.tuples(any_texts, any_texts, any_texts), st.sampled_from(SPLIT_TRAPS)
)
new_words = st.one_of(
    st.just(""), st.sampled_from(PIECES), st.tuples(st.sampled_from(PIECES), st.sampled_from(PIECES)).map(" ".join), st.text(max_size=4),
    st.sampled_from(["<SPLIT>", "x <SPLIT> y", " ", "  a  ", "...", "'s", "one two three", "[UNK]", "don't do-it", "\n"]),
)  # fmt: skip
changes = st.lists(
    st.tuples(
        st.sampled_from(["replace", "replace", "delete", "before", "after", "several", "all", "other list"]),
        st.integers(0, 40),
        st.lists(new_words, min_size=1, max_size=4),
    ),
    max_size=4,
)


def both(parts):
    labelled = OrderedDict((f"column{number}", part) for number, part in enumerate(parts))
    return import_textattack().shared.AttackedText(OrderedDict(labelled)), attacked_text(labelled)


def outcome(call):
    try:
        return call()
    except Exception as problem:
        return type(problem)


def change(text, kind, where, words):
    length = len(text.words)
    index = where % length if length else 0
    match kind:
        case "replace":
            return text.replace_word_at_index(index, words[0])
        case "delete":
            return text.delete_word_at_index(index)
        case "before":
            return text.insert_text_before_word_index(index, words[0])
        case "after":
            return text.insert_text_after_word_index(index, words[0])
        case "several":
            return text.replace_words_at_indices([(where + 3 * step) % max(length, 1) for step in range(len(words))], words)
        case "all":
            old = text.words
            return text.generate_new_attacked_text([words[at % len(words)] if (at + where) % 3 else old[at] for at in range(length)])
    return text.generate_new_attacked_text((words * 10)[: where % 12])


def everything(text, first, depth=0):
    """Return all that an attack can see of a text, as plain values."""
    attributes = text.attack_attrs
    seen = {
        "text": text.text,
        "input": text.tokenizer_input,
        "labels": text.column_labels,
        "words": text.words,
        "columns of words": text.words_per_input,
        "number": text.num_words,
        "keys": list(attributes),
        "newly": sorted(attributes.get("newly_modified_indices", ())),
        "modified, in the set's order": list(attributes["modified_indices"]),
        "originals": (attributes["original_index_map"].tolist(), str(attributes["original_index_map"].dtype)),
        "deleted": text.get_deletion_indices().tolist(),
        "starts": [outcome(lambda at=at: text._text_index_of_word_index(at)) for at in range(-1, text.num_words + 1)],
        "windows": [
            outcome(lambda at=at, size=size: text.text_window_around_index(at, size))
            for at in range(text.num_words + 1)
            for size in (1, 4, 15, float("inf"))
        ],
        "before": [text.text_until_word_index(at) for at in range(text.num_words)],
        "differs": (list(text.all_words_diff(first)), list(first.all_words_diff(text)), text.first_word_diff_index(first)),
        "hash": hash(text),
        "repr": repr(text),
        "printed": text.printable_text(),
    }
    if OLD in attributes and depth < 2:
        seen["previous"] = everything(attributes[OLD], first, depth + 1)
    return seen


@pytest.fixture
def our_words(monkeypatch):
    """Make textattack split texts into the same words as we do, so that only what follows is compared."""
    monkeypatch.setattr(f"{import_textattack().__name__}.shared.attacked_text.words_from_text", words_of)


@pytest.mark.usefixtures("our_words")
@settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(columns, changes)
@example(("a b c",), [("delete", 1, [""]), ("before", 0, ["one two"]), ("delete", 2, [""])])
@example(("x/y z", "I am"), [("replace", 1, [""]), ("replace", 2, ["it"]), ("after", 0, ["I"])])
@example(("I İ ΟΔΟΣ it",), [("replace", 1, ["Σ"]), ("delete", 0, [""])])
@example(("don't go there",), [("replace", 1, ["电"]), ("replace", 0, ["x"])])
@example(("film 电影 is good",), [("replace", 0, ["a b"]), ("replace", 2, ["我喜欢"])])
def test_every_change_gives_the_same_text_as_textattack(parts, steps):
    stock, ours = both(parts)
    first, our_first = stock, ours
    assert everything(ours, our_first) == everything(stock, first)
    for kind, where, words in steps:
        made, our_made = outcome(lambda: change(stock, kind, where, words)), outcome(lambda: change(ours, kind, where, words))  # noqa: B023
        if isinstance(made, type):
            assert our_made is made
            continue
        assert type(our_made) is type(our_first)
        assert everything(our_made, our_first) == everything(made, first)
        assert our_made == made
        stock, ours = made, our_made


def is_plain(text):
    """Return whether textattack splits words where we do: no marks or format characters, and no letters but ASCII next to Chinese."""
    kinds = {unicodedata.category(letter) for letter in text}
    others = [letter for letter in text if letter.isalnum() and not (letter.isascii() or has_chinese(letter))]
    return not kinds & {"Mn", "Mc", "Me", "Cf"} and not (has_chinese(text) and (others or set("'-_*@") & set(text)))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(any_texts.filter(is_plain))
@example("'-_*@'")
@example("x'-_y_-'")
@example("我喜欢这部电影 a+b T恤C++")
def test_words_equal_textattacks(text):
    assert words_of(text) == import_textattack().shared.utils.words_from_text(text)


@pytest.fixture(scope="module")
def characters():
    """Every character that Unicode has assigned, and one in 256 of the others, which are all alike."""
    return [letter for letter in map(chr, range(sys.maxunicode + 1)) if ord(letter) % 256 == 0 or unicodedata.category(letter) not in NONE]


def test_every_character_is_classified_as_in_textattack(characters):
    words_from_text = import_textattack().shared.utils.words_from_text
    everyone = [letter for letter in characters if not has_chinese(letter) and is_plain(letter)]
    for start in range(0, len(everyone), 4096):
        text = " ".join(f"a{letter}b" for letter in everyone[start : start + 4096])
        assert words_of(text) == words_from_text(text), hex(start)


def test_lower_casing_turns_no_sign_into_a_letter_and_changes_the_length_of_one_letter_only(characters):
    """The offsets of words are computed under these assumptions."""
    letters = {letter for letter in characters if words_of(f"a{letter}b") == [f"a{letter}b"]} - set("'-_*@")
    beginnings = {letter.lower()[0] for letter in letters}
    assert not [letter for letter in characters if letter not in letters and letter.lower()[0] in beginnings]
    assert [letter for letter in characters if len(letter.lower()) != 1] == ["İ"]


@pytest.mark.parametrize(
    ("indices", "words", "error"),
    [([0, 1], ["x"], ValueError), ([-1], ["x"], ValueError), ([9], ["x"], ValueError), ([2], ["x"], IndexError), ([0], [None], TypeError)],
)
def test_invalid_replacements_raise_as_in_textattack(indices, words, error):
    for text in both(("two words",)):
        with pytest.raises(error):
            text.replace_words_at_indices(indices, words)


def test_only_label_names_are_passed_on_to_new_texts():
    for text in both(("two words",)):
        text.attack_attrs["label_names"] = ["a", "b"]
        text.attack_attrs["similarity_score"] = 1.0
        made = text.replace_word_at_index(0, "x")
        assert list(made.attack_attrs) == [
            "label_names", "newly_modified_indices", OLD, "modified_indices", "original_index_map",
        ]  # fmt: skip


def test_a_candidate_of_a_long_text_does_not_segment_it_again(monkeypatch):
    from ticketlab.attacks.components import attacked_text as module

    text = both((" ".join(f"word{number}" for number in range(5000)),))[1]
    text.replace_word_at_index(0, "x")
    seen = []
    monkeypatch.setattr(module, "words_of", lambda text: seen.append(len(text)) or words_of(text))
    made = text.replace_word_at_index(2500, "another")
    assert made.words[2499:2502] == ["word2499", "another", "word2501"]
    assert made.text_window_around_index(2500, 3) == "word2499 another word2501"
    assert sum(seen) < 60
