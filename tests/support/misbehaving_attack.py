"""An attack that hangs, crashes or raises on some texts, for tests of the attack engine."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import time
from typing import ClassVar

import numpy as np
import pytest
from attrs import frozen

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.resources.textattack_import import installed
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
TEXTS = [
    "the film was good and the acting great",
    "The plot is dull, but the music is not bad!",
    "a very awful movie; not a good story",
    "great cast, great song, great tune",
    "it was fine",
    "bad acting and a bad plot",
    "good music but a dull story",
    "the movie is great",
]
EXAMPLES = [Example(f"row-{number}", (text,), number % 2) for number, text in enumerate(TEXTS)]
PARENT = os.getpid()

needs_textattack = pytest.mark.skipif(not installed(), reason="textattack is not installed")


@frozen
class MisbehavingAttack(DeepWordBug):
    """DeepWordBug that misbehaves on texts that contain one of the words in ``ACTS``."""

    name: ClassVar[str] = "misbehaving"
    summary: ClassVar[str] = "misbehaves"

    def build(self, victim, resources):
        built = super().build(victim, resources)
        attack = built.attack

        def misbehave(text, label):
            victim(["fine"])  # so that other examples run in between
            for word, act in ACTS.items():
                if word in text.text:
                    act()
            return attack(text, label)

        built.attack = misbehave
        return built


def _in_a_worker(act):
    def act_in_worker():
        assert os.getpid() != PARENT, "this would end the tests"
        act()

    return act_in_worker


def _recurse():
    _recurse()


def _spin():
    while True:
        pass


def _busy():
    until = time.perf_counter() + 0.4
    while time.perf_counter() < until:
        pass


def _raise():
    raise RuntimeError("broken attack")


ACTS = {
    "exits": _in_a_worker(lambda: os._exit(3)),
    "exits quietly": _in_a_worker(lambda: os._exit(0)),
    "leaves": _in_a_worker(sys.exit),
    "killed": _in_a_worker(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "sleeps": lambda: time.sleep(60),
    "spins": _spin,
    "naps": lambda: time.sleep(0.02),
    "busy": _busy,
    "backtracks": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
    "recurses": _recurse,
    "raises": _raise,
    "draws": lambda: (random.random(), np.random.rand()),
}


def attack(victim, examples=EXAMPLES, *, how=None, records=None, seed=1, **more):
    """Attack the examples and sort the records, as the stage does."""
    records = records if records is not None else RecordFile(None, "test")
    names = {"columns": ("text",), "label_names": NAMES}
    result = run_attack(how or DeepWordBug(), victim, examples, **names, records=records, seed=seed, **more)
    records.finish([example.id for example in examples])
    return result


def rows(*texts) -> list[Example]:
    return [Example(f"{number}", (text,), number % 2) for number, text in enumerate(texts)]
