import numpy as np
import pytest

from ticketlab.bias_models.fitting import Classifier, cross_fit
from ticketlab.bias_models.folds import assign_folds, check
from ticketlab.core.errors import DataError


def texts(count):
    return [(f"text {number}",) for number in range(count)]


def test_labels_are_distributed_evenly_over_folds():
    labels = np.array([0] * 40 + [1] * 12 + [2] * 3)
    fold = assign_folds(texts(55), labels, 5)
    counts = np.array([[((fold == part) & (labels == label)).sum() for label in range(3)] for part in range(5)])
    assert (counts[:, 0] == 8).all()
    assert sorted(counts[:, 1]) == [2, 2, 2, 3, 3]
    assert sorted(counts[:, 2]) == [0, 0, 1, 1, 1]


def test_the_fold_of_an_example_does_not_depend_on_the_order():
    labels = np.array([0, 1, 2, 1] * 15)
    seen = texts(60)
    fold = dict(zip(seen, assign_folds(seen, labels, 5), strict=True))
    order = np.random.default_rng(0).permutation(60)
    assert [fold[seen[index]] for index in order] == assign_folds([seen[index] for index in order], labels[order], 5).tolist()
    assert fold != dict(zip(seen, [index % 5 for index in range(60)], strict=True))


def test_examples_with_the_same_texts_are_in_the_same_fold():
    seen = [(f"claim {number % 20}",) for number in range(60)]
    fold = assign_folds(seen, np.arange(60) % 2, 5)
    assert all(len({fold[index] for index in range(60) if seen[index] == claim}) == 1 for claim in set(seen))
    assert set(fold) == set(range(5))


def test_a_noisy_label_is_memorised_in_one_fold_and_not_across_five():
    generator = np.random.default_rng(3)
    features = generator.normal(size=(60, 200))  # more features than examples: any labels can be fitted
    labels = generator.integers(0, 2, 60)
    seen, _ = cross_fit(features, labels, np.zeros(60, dtype=np.int64), 2, 1e6)
    unseen, _ = cross_fit(features, labels, assign_folds(texts(60), labels, 5), 2, 1e6)
    rows = np.arange(60)
    assert (seen[rows, labels] > 0.99).all()
    assert 0.3 < (unseen[rows, labels] > 0.5).mean() < 0.7


def test_each_fold_is_predicted_by_a_classifier_fitted_on_the_others():
    generator = np.random.default_rng(1)
    features, labels = generator.normal(size=(40, 3)), generator.integers(0, 3, 40)
    fold = np.arange(40) % 4
    found, converged = cross_fit(features, labels, fold, 3, 1.0)
    for part in range(4):
        expected = Classifier(features[fold != part], labels[fold != part], 3, 1.0)(features[fold == part])
        assert np.array_equal(found[fold == part], expected)
    assert converged
    assert found.sum(axis=1) == pytest.approx(np.ones(40))


def test_the_label_of_an_example_does_not_affect_its_own_probabilities():
    generator = np.random.default_rng(5)
    features, labels = generator.normal(size=(50, 4)), generator.integers(0, 3, 50)
    fold = np.arange(50) % 5
    lied = labels.copy()
    lied[7] = (labels[7] + 1) % 3
    (before, _), (after, _) = (cross_fit(features, given, fold, 3, 1.0) for given in (labels, lied))
    assert np.array_equal(before[fold == fold[7]], after[fold == fold[7]])
    assert (before[fold != fold[7]] != after[fold != fold[7]]).any()
    (before, _), (after, _) = (cross_fit(features, given, fold * 0, 3, 1.0) for given in (labels, lied))
    assert before[7, labels[7]] > after[7, labels[7]]


def test_an_example_with_a_set_of_labels_is_predicted_and_not_fitted_on():
    generator = np.random.default_rng(2)
    features, labels = generator.normal(size=(30, 2)), np.arange(30) % 2
    fold = np.arange(30) // 6
    alone, _ = cross_fit(features, labels, fold, 2, 1.0)
    odd = np.full((5, 2), 50.0)
    found, _ = cross_fit(np.vstack([features, odd]), np.append(labels, [2] * 5), np.append(fold, range(5)), 2, 1.0)
    assert np.array_equal(found[:30], alone)
    assert found[30:].sum(axis=1) == pytest.approx(np.ones(5))


def test_a_label_without_examples_gets_the_probability_0():
    features = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert Classifier(features, np.array([0, 0, 2, 2]), 4, 1.0)(features)[:, [1, 3]].max() == 0


def test_more_features_are_penalised_more():
    generator = np.random.default_rng(4)
    labels = generator.integers(0, 2, 100)
    few = generator.normal(size=(100, 1))
    many = np.repeat(few, 100, axis=1)  # the same information, repeated
    once, often = Classifier(few, labels, 2, 1.0)(few), Classifier(many, labels, 2, 1.0)(many)
    np.testing.assert_allclose(once, often, atol=1e-3)


def test_a_classifier_that_does_not_converge_is_reported(monkeypatch):
    monkeypatch.setattr("ticketlab.bias_models.fitting.MAX_ITERATIONS", 1)
    generator = np.random.default_rng(0)
    assert not Classifier(generator.normal(size=(50, 20)), generator.integers(0, 2, 50), 2, 1e6).converged


@pytest.mark.parametrize(
    ("labels", "fold", "message"),
    [
        ([], [], r"^there are no training examples; a bias model needs two labels$"),
        ([1, 1, 1], [0, 1, 2], r"^all training examples are `no`; a bias model needs two labels$"),
        ([0, 0, 1], [0, 1, 2], r"^`no` has one training example: .* set folds to 1"),
        ([0, 0, 1, 1], [0, 1, 2, 2], r"^`no` has 2 training examples with the same text: .* set folds to 1"),
    ],
    ids=["none", "one label", "one of a label", "one fold of a label"],
)
def test_labels_that_cannot_be_fitted_are_refused(labels, fold, message):
    with pytest.raises(DataError, match=message):
        check(np.array(labels, dtype=np.int64), np.array(fold), ["yes", "no", "unused"], 5)


def test_a_single_fold_only_needs_two_labels():
    check(np.array([0, 0, 1]), np.array([0, 0, 0]), ["yes", "no"], 1)
