"""Compares our goal function and edit distance limit with textattack's."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from ticketlab.attacks.components.attacked_text import attacked_text
from ticketlab.attacks.components.edit_distance import few_edits
from ticketlab.attacks.components.goal_function import another_label, probabilities, read_as_logits
from ticketlab.resources.textattack_import import import_textattack, installed

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")


class Table:
    """A victim whose outputs depend on the text alone; many are equal. No row sums to 1, as textattack would take it for probabilities."""

    model = torch.nn.Identity()

    def __init__(self, labels=3):
        self.labels = labels
        self.asked: list[str] = []

    def __call__(self, texts):
        self.asked += texts
        rows = [[random.Random(f"{text}/{label}").choice([0.0, 0.75, 1.5, -2.5, 7.125]) for label in range(self.labels)] for text in texts]
        return torch.tensor(rows)


def seen(result):
    """Return everything that a search can see of a result, with the types of numbers."""
    plain = (result.output, result.goal_status, result.score, result.num_queries, result.ground_truth_output)
    return (result.attacked_text.text, result.raw_output.tolist(), result.raw_output.dtype, *((value, type(value)) for value in plain))


@pytest.mark.parametrize("budget", [float("inf"), 7, 8])
@pytest.mark.parametrize("right", [0, 2])
def test_results_equal_textattacks(budget, right):
    stock_goal = import_textattack().goal_functions.UntargetedClassification
    stock, ours = stock_goal(Table(), query_budget=budget, model_batch_size=1 << 20), another_label(Table(), budget)
    first = attacked_text({"text": "one two three four five"})
    candidates = [first.replace_word_at_index(at % 5, f"w{at % 7}") for at in range(12)]
    for texts in ([], candidates[:4], candidates, candidates[::-1]):
        for check_skip in (True, False):
            for goal in (stock, ours):
                goal.clear_cache()
            begun = [goal.init_attack_example(first, right) for goal in (stock, ours)]
            assert seen(begun[0][0]) == seen(begun[1][0])
            (theirs, over), (mine, also_over) = (goal.get_results(texts, check_skip=check_skip) for goal in (stock, ours))
            assert list(map(seen, mine)) == list(map(seen, theirs))
            assert also_over == over
            assert ours.num_queries == stock.num_queries
    assert ours.get_output(first) == stock.get_output(first)


def test_a_text_is_queried_once_per_attack():
    victim = Table()
    goal = another_label(victim)
    first = attacked_text({"premise": "one two", "hypothesis": "three"})
    goal.init_attack_example(first, 0)
    same = [first.replace_word_at_index(0, "x") for _ in range(3)]
    results, _ = goal.get_results([*same, first])
    assert victim.asked == [("one two", "three"), ("x two", "three")]
    assert goal.num_queries == 5
    assert results[0].score == results[2].score
    goal.clear_cache()
    goal.get_results(same)
    assert len(victim.asked) == 3


def test_ties_are_resolved_as_in_textattack():
    stock_goal = import_textattack().goal_functions.UntargetedClassification
    first = attacked_text({"text": "tie"})

    def tied(texts):
        return torch.zeros(len(texts), 5)

    tied.model = torch.nn.Identity()
    results = [goal.init_attack_example(first, 1)[0] for goal in (stock_goal(tied), another_label(tied))]
    assert seen(results[0]) == seen(results[1])


@pytest.mark.parametrize(
    "logits",
    [
        pytest.param([[0.9, 0.1]], id="a row that sums to 1"),
        pytest.param([[1.5, -0.5], [0.25, 0.75]], id="rows that all sum to 1"),
        pytest.param([[-3.0, -4.0], [-0.5, -200.0]], id="negative"),
        pytest.param([[2.0, float("-inf"), 1.0]], id="a label ruled out"),
        pytest.param([[(number % 97) / 9 for number in range(9000)]], id="9000 labels"),  # whose float32 sum is not 1 within 1e-6
    ],
)
def test_model_outputs_are_treated_as_logits(logits):
    textattack = import_textattack()
    answers = torch.tensor(logits)
    expected = torch.softmax(answers.double(), dim=1)

    def says(texts):
        return answers[[int(text[1:]) for text in texts]]

    says.model = torch.nn.Identity()
    goals = textattack.goal_functions
    attacks = [type("Attack", (), {"goal_function": made})() for made in (goals.UntargetedClassification(says), goals.InputReduction(says))]
    for attack in attacks:
        read_as_logits(attack)
    texts = [attacked_text({"text": f"a{number}"}) for number in range(len(logits))]
    for goal in (another_label(says), *(attack.goal_function for attack in attacks)):
        goal.init_attack_example(texts[0], int(expected[0].argmax()))
        results, _ = goal.get_results(texts)
        found = torch.stack([torch.as_tensor(result.raw_output) for result in results])
        torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("row", [[float("nan"), 1.0], [float("inf"), 1.0], [float("-inf")] * 2])
def test_logits_without_a_softmax_raise(row):
    with pytest.raises(ValueError, match=rf"logits of a text are \[{row[0]}, {row[1]}\]"):
        probabilities(torch.tensor([[1.0, 2.0], row]))


@pytest.mark.parametrize("most", [0, 1, 3, 30])
def test_the_edit_distance_limit_equals_textattacks(most):
    stock = import_textattack().constraints.overlap.LevenshteinEditDistance(most)
    ours = few_edits(most)
    assert str(ours).replace("FewEdits", "LevenshteinEditDistance") == str(stock)
    generator = random.Random(most)
    kept = 0
    for _ in range(400):
        letters = generator.choices("ab é\U0001f600ש", k=generator.randrange(1, 40 + 6 * most))
        changed = letters[:]
        for _ in range(generator.randrange(0, most * 2 + 2)):
            place = generator.randrange(len(changed) + 1)
            changed[place : place + generator.randrange(2)] = generator.choices("abc", k=generator.randrange(2))
        before, after = (attacked_text({"text": "".join(text)}) for text in (letters, changed))
        after.attack_attrs["last_transformation"] = None
        passed = stock.call_many([after], before)
        assert ours.call_many([after], before) == passed
        kept += len(passed)
    assert 40 < kept < 400


def test_the_limit_on_edits_holds_for_long_texts():
    words = np.random.default_rng(0).integers(0, 1000, 5000)
    before = attacked_text({"text": " ".join(f"word{word}" for word in words)})
    after = before.replace_words_at_indices([0, 2500, 4999], ["x", "y", "z"])
    assert not few_edits(15)._check_constraint(after, before)  # w, o, r, d and up to three figures, each
    assert few_edits(21)._check_constraint(after, before)
