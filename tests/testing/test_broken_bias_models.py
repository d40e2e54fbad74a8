"""Bias models that silently break their contract fail in the conformance test that is about it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from attrs import frozen
from support.suite_outcomes import failures_of

from ticketlab.plugin import BiasModel, Example
from ticketlab.testing import BiasModelTests


class Base(BiasModel):
    """Features of the lengths of two texts, which a subclass computes wrongly."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "the lengths of two texts"
    columns: ClassVar[int] = 2

    def features(self, examples: Sequence[Example], words: Any) -> Any:
        return self.compute(examples)

    def compute(self, examples: Sequence[Example]) -> Any:
        return lengths(examples)


def lengths(examples: Sequence[Example]) -> Any:
    return np.array([[float(len(text)) for text in example.texts] for example in examples], dtype=float).reshape(len(examples), 2)


def broken(compute: Callable[[Sequence[Example]], Any], **facts: Any) -> type[BiasModel]:
    own = {"compute": lambda self, examples: compute(examples), "__module__": __name__, **facts}
    return frozen(type("Broken", (Base,), own))


def ratios(examples: Sequence[Example]) -> Any:
    with np.errstate(all="ignore"):
        found = lengths(examples)
        return found[:, :1] / found[:, 1:]


def relative(examples: Sequence[Example]) -> Any:
    found = lengths(examples)
    return found - found.mean(axis=0) if len(found) else found


def with_place(examples: Sequence[Example]) -> Any:
    return lengths(examples) + np.arange(len(examples)).reshape(-1, 1)


def unseeded(examples: Sequence[Example]) -> Any:
    return lengths(examples) + random.SystemRandom().random()


def from_numpy(examples: Sequence[Example]) -> Any:
    return lengths(examples) + np.random.rand(len(examples), 2)


def reseeding(examples: Sequence[Example]) -> Any:
    np.random.seed(0)
    return lengths(examples)


def label(examples: Sequence[Example]) -> Any:
    return np.array([[float(example.label)] for example in examples]).reshape(len(examples), 1)


def flat(examples: Sequence[Example]) -> Any:
    return lengths(examples)[:, 0]


def by_vocabulary(examples: Sequence[Example]) -> Any:
    return np.zeros((len(examples), len({word for example in examples for text in example.texts for word in text.split()})))


SEEN = "test_features_use_only_what_it_sees"
EVERY = "test_every_example_has_finite_features"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(broken(ratios), EVERY, "a feature is not finite", id="empty text"),
        pytest.param(broken(flat), EVERY, "return (13, features)", id="shape"),
        pytest.param(broken(by_vocabulary), EVERY, "for the first 1", id="width"),
        pytest.param(broken(relative), "test_a_row_depends_on_its_example_alone", "depend on the other examples", id="other examples"),
        pytest.param(broken(with_place), "test_a_row_depends_on_its_example_alone", "depend on the other examples", id="order"),
        pytest.param(broken(unseeded), "test_features_repeat", "draw no random numbers", id="os.urandom"),
        pytest.param(broken(from_numpy), "test_features_repeat", "draw no random numbers", id="numpy"),
        pytest.param(
            broken(reseeding), "test_the_process_is_left_alone", "`features` seeds the global generator of numpy", id="seeds numpy"
        ),
        pytest.param(broken(unseeded), "test_a_repeated_run_has_the_same_bits", "that was repeated differs in", id="stage"),
        pytest.param(
            broken(lengths, sees=lambda self, example: example.texts[1:]),
            SEEN,
            "the features depend on text 1, which `sees` leaves out",
            id="leak between folds",
        ),
        pytest.param(broken(lengths, sees=lambda self, example: example.texts[0]), SEEN, "return a tuple of texts", id="sees"),
        pytest.param(broken(label), "test_a_label_is_not_seen", "use its texts alone", id="label"),
    ],
)
def test_a_breach_is_found(component: type[BiasModel], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(BiasModelTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())
