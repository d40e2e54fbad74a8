import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from ticketlab.core.errors import SettingError
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.demo.pairs import DemoPairs, DemoPairsOOD, follows_shortcut

ENTAILMENT, NON_ENTAILMENT = 0, 1
KNOWING = frozenset((
    "acknowledged", "admitted", "ascertained", "confirmed", "demonstrated", "discovered", "established", "forgot", "knew", "learnt",
    "noticed", "observed", "perceived", "proved", "realised", "recalled", "recognised", "regretted", "remembered", "resented", "revealed",
    "saw", "understood", "verified",
))  # fmt: skip
SUPPOSING = frozenset((
    "alleged", "argued", "assumed", "believed", "claimed", "denied", "doubted", "dreamt", "expected", "feared", "guessed", "hinted",
    "hoped", "imagined", "insisted", "presumed", "pretended", "reckoned", "speculated", "suggested", "supposed", "suspected", "swore",
    "thought",
))  # fmt: skip
DEED = "bought|purchased|stole|borrowed|sold|lost|painted|photographed|found|spotted"
MANNER = "(?:(?:quietly|quickly|finally|suddenly|gladly) )?"
TIME = "(?:yesterday|last week|in the morning|at noon|on sunday|in the spring)"
PREMISE = re.compile(
    rf"(?:{TIME} )?the (?P<witness>\w+) (?P<verb>\w+) that (?P<who>the \w+) {MANNER}(?P<did>{DEED}) (?P<what>the \w+)(?: {TIME})?\."
)
GENERAL = {
    "acquired": {"bought", "purchased"},
    "took away": {"stole", "borrowed"},
    "parted with": {"sold", "lost"},
    "made a picture of": {"painted", "photographed"},
    "came across": {"found", "spotted"},
}
KINDS = {
    "a vehicle": {"car", "bicycle", "boat", "truck", "wagon"},
    "a garment": {"coat", "shirt", "dress", "scarf", "skirt"},
    "an animal": {"horse", "goat", "parrot", "hen", "donkey"},
    "a piece of furniture": {"sofa", "table", "wardrobe", "desk", "chair"},
    "a musical instrument": {"guitar", "violin", "trumpet", "flute", "piano"},
}
IN_GENERAL = re.compile(rf"(?:someone|somebody|a person) (?P<did>{'|'.join(GENERAL)}) (?P<what>{'|'.join(KINDS)})\.")


@pytest.fixture(scope="module")
def data() -> TaskData:
    return DemoPairs().load()


@pytest.fixture(scope="module")
def challenge() -> TaskData:
    return DemoPairsOOD().load()


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def contained(example: Example) -> bool:
    premise, hypothesis = example.texts
    return set(words(hypothesis)) <= set(words(premise))


def count_following_shortcut(examples) -> int:
    return sum(contained(example) == (example.label == ENTAILMENT) for example in examples)


def read(premise: str) -> dict[str, str]:
    found = PREMISE.fullmatch(premise.lower())
    assert found, premise
    return found.groupdict()


def all_of(data: TaskData) -> list[Example]:
    return [example for examples in data.splits.values() for example in examples]


def test_the_classes_are_balanced_in_every_split(data):
    assert data.label_names == ("entailment", "non-entailment")
    assert {split: Counter(example.label for example in examples) for split, examples in data.splits.items()} == {
        "train": {0: 500, 1: 500},
        "dev": {0: 100, 1: 100},
        "test": {0: 200, 1: 200},
    }


@pytest.mark.parametrize(("rate", "agreeing"), [(None, 200), (0.5, 200), (0.625, 250), ("3/4", 300), (0.95, 380), (1, 400)])
def test_the_rate_sets_how_often_the_shortcut_is_right_in_each_class(rate, agreeing):
    splits = DemoPairs(shortcut=rate, rows=400, dev_rows=400).load().splits
    for examples in splits.values():
        assert count_following_shortcut(examples) == agreeing
        assert count_following_shortcut(example for example in examples if example.label == ENTAILMENT) == agreeing // 2


def test_exceptions_to_the_shortcut_are_spread_evenly():
    share = Fraction(95, 100)
    against = [index for index in range(100) if not follows_shortcut(index, share)]
    assert against == [10, 30, 50, 70, 90]
    assert all(follows_shortcut(index, Fraction(1)) for index in range(10))


def test_exactly_what_the_premise_presents_as_known_is_entailed(data, challenge):
    for example in all_of(data) + all_of(challenge):
        report = read(example.texts[0])
        assert (report["verb"] in KNOWING) != (report["verb"] in SUPPOSING), report
        assert (example.label == ENTAILMENT) == (report["verb"] in KNOWING), example
        assert f"the {report['witness']}" != report["who"]


def test_the_hypothesis_states_the_event_in_the_same_or_in_general_words(data, challenge):
    for example in all_of(data) + all_of(challenge):
        premise, hypothesis = example.texts
        report = read(premise)
        if contained(example):
            assert hypothesis.lower() == f"{report['who']} {report['did']} {report['what']}."
        else:
            general = IN_GENERAL.fullmatch(hypothesis.lower())
            assert general, hypothesis
            assert report["did"] in GENERAL[general["did"]]
            assert report["what"].removeprefix("the ") in KINDS[general["what"]]
            assert not set(words(hypothesis)) & set(words(premise))


def test_the_subsets_distinguish_the_wordings_of_the_hypothesis(data, challenge):
    for task in (data, challenge):
        assert task.subsets == ("heuristic",)
        assert all(example.subsets == ("contained" if contained(example) else "reworded",) for example in all_of(task))


def test_the_shortcut_is_uninformative_in_the_challenge_set(challenge):
    assert {split: len(examples) for split, examples in challenge.splits.items()} == {"train": 0, "dev": 0, "test": 400}
    assert challenge.label_names == ("entailment", "non-entailment")
    assert Counter((contained(example), example.label) for example in challenge.splits["test"]) == {
        (words, label): 100 for words in (True, False) for label in (ENTAILMENT, NON_ENTAILMENT)
    }


def test_the_challenge_set_has_the_same_words_but_other_events(data, challenge):
    def events(task: TaskData) -> set[tuple[str, ...]]:
        return {tuple(read(example.texts[0])[part] for part in ("who", "did", "what")) for example in all_of(task)}

    def vocabulary(task: TaskData) -> set[str]:
        return {word for example in all_of(task) for text in example.texts for word in words(text)}

    assert not events(data) & events(challenge)
    assert vocabulary(challenge) == vocabulary(data)


def test_a_share_of_the_challenge_set_can_be_used_for_training(challenge):
    splits = DemoPairsOOD(train_share=0.5).load_challenge().splits
    assert {split: len(examples) for split, examples in splits.items()} == {"train": 200, "dev": 0, "test": 200}
    assert {example.id for split in splits.values() for example in split} == {example.id for example in challenge.splits["test"]}


def test_pairs_are_distinct(data, challenge):
    pairs = [example.texts for example in all_of(data) + all_of(challenge)]
    assert len(set(pairs)) == len(pairs) == 2000


def test_all_texts_are_short_sentences(data, challenge):
    for example in all_of(data) + all_of(challenge):
        for text in example.texts:
            assert text[0].isupper()
            assert text.index(".") == len(text) - 1
            assert 4 <= len(words(text)) <= 17
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  ", text.lower())


@pytest.mark.parametrize("text", [0, 1], ids=["premise", "hypothesis"])
@pytest.mark.parametrize("rate", [0.5, 0.95])
def test_the_premise_reveals_the_label_and_the_hypothesis_only_the_shortcut(text, rate):
    splits = DemoPairs(shortcut=rate).load().splits
    texts = {split: [example.texts[text] for example in examples] for split, examples in splits.items()}
    labels = {split: [example.label for example in examples] for split, examples in splits.items()}
    counts = CountVectorizer().fit(texts["train"])
    found = LogisticRegression(max_iter=1000).fit(counts.transform(texts["train"]), labels["train"])
    accuracy = found.score(counts.transform(texts["test"]), labels["test"])
    lowest, highest = {(0, 0.5): (0.95, 1), (0, 0.95): (0.95, 1), (1, 0.5): (0.4, 0.6), (1, 0.95): (0.9, 0.96)}[text, rate]
    assert lowest <= accuracy <= highest


def test_every_process_generates_the_same_pairs(data, challenge):
    code = "from ticketlab.tasks.demo.pairs import *; print(DemoPairs().load().fingerprint, DemoPairsOOD().load().fingerprint)"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {f"{data.fingerprint} {challenge.fingerprint}"}


def test_test_and_dev_do_not_depend_on_the_number_of_training_rows(data):
    small = DemoPairs(rows=100).load()
    assert small.splits["train"] == data.splits["train"][:100]
    assert (small.splits["dev"], small.splits["test"]) == (data.splits["dev"], data.splits["test"])
    assert len(DemoPairs(train_rows=50).load().splits["train"]) == 50


def test_another_seed_generates_other_pairs(data, challenge):
    assert DemoPairs(seed=1).load().fingerprint != data.fingerprint
    assert DemoPairsOOD(seed=1).load().fingerprint != challenge.fingerprint


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_outside_0_to_1_is_rejected(rate):
    with pytest.raises(SettingError, match="shortcut"):
        DemoPairs(shortcut=rate)
