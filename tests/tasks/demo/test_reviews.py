import subprocess
import sys
from collections import Counter

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from ticketlab.tasks.base import TaskData
from ticketlab.tasks.demo.reviews import DemoTask


@pytest.fixture(scope="module")
def data() -> TaskData:
    return DemoTask().load()


def test_the_classes_are_balanced(data):
    assert {split: Counter(example.label for example in examples) for split, examples in data.splits.items()} == {
        "train": {0: 1500, 1: 1500},
        "dev": {0: 150, 1: 150},
        "test": {0: 200, 1: 200},
    }


def test_texts_are_distinct_and_have_8_to_30_words(data):
    texts = [example.texts[0] for examples in data.splits.values() for example in examples]
    assert len(set(texts)) == len(texts)
    assert all(8 <= len(text.split()) <= 30 for text in texts)
    assert all(text[0].isupper() and text.endswith(".") for text in texts)


def test_single_words_do_not_reveal_the_label(data):
    texts = {split: [example.texts[0] for example in examples] for split, examples in data.splits.items()}
    labels = {split: [example.label for example in examples] for split, examples in data.splits.items()}
    words = CountVectorizer().fit(texts["train"])
    model = LogisticRegression(max_iter=1000).fit(words.transform(texts["train"]), labels["train"])
    assert 0.6 < model.score(words.transform(texts["test"]), labels["test"]) < 0.85


def test_every_process_generates_the_same_reviews(data):
    code = "from ticketlab.tasks.demo.reviews import DemoTask; print(DemoTask().load().fingerprint)"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {data.fingerprint}


def test_test_and_dev_do_not_depend_on_the_number_of_training_rows(data):
    small = DemoTask(rows=100).load()
    assert small.splits["train"] == data.splits["train"][:100]
    assert (small.splits["dev"], small.splits["test"]) == (data.splits["dev"], data.splits["test"])
    assert len(DemoTask(train_rows=50).load().splits["train"]) == 50


def test_another_seed_generates_other_reviews(data):
    assert DemoTask(seed=1).load().fingerprint != data.fingerprint
