"""The overlap features of short pairs, computed by hand."""

import numpy as np
import pytest

from ticketlab.bias_models.overlap import WordOverlap
from ticketlab.bias_models.text_only import ClaimOnly, HypothesisOnly
from ticketlab.bias_models.words import WordVectorSource, split
from ticketlab.tasks.base import Example

VECTORS = {"cat": (1, 0), "cats": (3, 4), "dog": (0, 2), "runs": (1, 0), "sleeps": (-1, 0), "the": (0, 0)}


class TrainingContext(WordVectorSource):
    """Vectors in two dimensions; records the words that were looked up."""

    width = 2

    def __init__(self, vectors):
        super().__init__()
        self.vectors = {word: np.array(vector, dtype=np.float32) for word, vector in vectors.items()}
        self.asked = []

    def find(self, words):
        self.asked += words
        return [self.vectors.get(word) for word in words]


def pair(premise, hypothesis, id="a"):
    return Example(id, (premise, hypothesis), 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, it sleeps.", ["the", "cat", "it", "sleeps"]),
        ("Don\u2019t `` stop '' -- well-known !", ["don't", "stop", "well-known"]),
        ("  ... ! ", []),
        ("É\tà\nla", ["é", "à", "la"]),
    ],
)
def test_words_are_in_lower_case_and_without_the_punctuation_around_them(text, words):
    assert split(text) == words


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        pytest.param("The dog runs .", "the dog runs", (1, 1, 1, 1, 1), id="the same"),
        pytest.param("a dog sleeps , cat runs", "Dog sleeps!", (1, 1, 1, 1, 1), id="a part in one piece"),
        pytest.param("dog cat runs", "runs dog", (1, 0, 1, 1, 1), id="another order"),
        pytest.param("dog cat runs", "dog runs", (1, 0, 1, 1, 1), id="with a gap"),
        pytest.param("cats", "cat", (0, 0, 0, 0.6, 0.6), id="cosine 3/5"),
        pytest.param("cats", "dog", (0, 0, 0, 0.8, 0.8), id="cosine 4/5"),
        pytest.param("cat dog", "cats dog", (0, 0, 0.5, 0.9, 0.8), id="the nearest counts"),
        pytest.param("runs", "sleeps", (0, 0, 0, -1, -1), id="opposites"),
        pytest.param("cat runs", "zebra", (0, 0, 0, 0, 0), id="unknown and absent"),
        pytest.param("zebra runs", "zebra", (1, 1, 1, 1, 1), id="unknown and there"),
        pytest.param("zebra", "sleeps", (0, 0, 0, 0, 0), id="known beside an unknown one"),
        pytest.param("dog", "dog dog cats", (0, 0, 0.5, 0.9, 0.8), id="twice counts once"),
        pytest.param("dogma", "dog", (0, 0, 0, 0, 0), id="the beginning of a word is no word"),
        pytest.param("cat", "the", (0, 0, 0, 0, 0), id="a vector of zeros"),
        pytest.param("cat", "...", (1, 1, 1, 1, 1), id="no hypothesis"),
        pytest.param("...", "cat", (0, 0, 0, 0, 0), id="no premise"),
    ],
)
def test_the_five_features(premise, hypothesis, expected):
    (row,) = WordOverlap().features([pair(premise, hypothesis)], TrainingContext(VECTORS))
    assert row.dtype == np.float64
    assert row == pytest.approx(expected, abs=1e-6)


def test_the_second_text_is_the_hypothesis():
    longer, shorter = "dog runs cat", "dog runs"
    forth, back = WordOverlap().features([pair(longer, shorter), pair(shorter, longer)], TrainingContext(VECTORS))
    assert forth[:3] == pytest.approx((1, 1, 1))
    assert back[:3] == pytest.approx((0, 0, 2 / 3))


def test_each_word_is_looked_up_once():
    words = TrainingContext(VECTORS)
    WordOverlap().features([pair("cat dog cat", "dog zebra"), pair("zebra cat", "dog")], words)
    WordOverlap().features([pair("cat runs", "dog")], words)
    assert sorted(words.asked) == ["cat", "dog", "runs", "zebra"]
    assert words.counts() == {"distinct": 4, "without_vector": 1}
    assert words["zebra"] is None


def test_a_row_depends_on_its_pair_alone():
    pairs = [pair("cat dog runs", "cats dog"), pair("zebra the", "cats sleeps"), pair("runs dog", "cat")]
    together = WordOverlap().features(pairs, TrainingContext(VECTORS))
    apart = [WordOverlap().features([one], TrainingContext(VECTORS))[0] for one in reversed(pairs)]
    assert np.array_equal(together, apart[::-1])


@pytest.mark.parametrize(("model", "column"), [(ClaimOnly(), 0), (HypothesisOnly(), 1)], ids=["claim-only", "hypothesis-only"])
def test_text_only_features_are_the_greatest_values_over_the_words_of_one_text(model, column):
    texts = ["Cats dog, zebra sleeps", "..."]
    examples = [
        Example("a", tuple(texts if column == 0 else texts[::-1]), 0),
        Example("b", tuple(texts[::-1] if column == 0 else texts), 0),
    ]
    assert model.features(examples, TrainingContext(VECTORS)).tolist() == [[3, 4], [0, 0]]
    negative = [Example("a", ("sleeps", "sleeps"), 0)]
    assert model.features(negative, TrainingContext(VECTORS)).tolist() == [[-1, 0]]
    assert model.sees(examples[0]) == ("Cats dog, zebra sleeps",)


def test_claim_only_takes_single_texts():
    assert ClaimOnly().features([Example("a", ("cat cats",), 0)], TrainingContext(VECTORS)).tolist() == [[3, 4]]
    assert (ClaimOnly.columns, HypothesisOnly.columns, WordOverlap.columns) == (1, 2, 2)
