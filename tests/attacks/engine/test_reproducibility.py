"""Records depend on the seed, but not on how the work is distributed."""

from __future__ import annotations

import random

import numpy as np
from support.misbehaving_attack import TEXTS, MisbehavingAttack, attack, needs_textattack, rows

from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.tasks.base import Example


@needs_textattack
def test_the_file_of_records_does_not_depend_on_workers_or_on_examples_in_flight(victim, tmp_path):
    texts = [f"{text} draws" for text in TEXTS * 2]
    contents = set()
    for in_flight, workers in ((1, 1), (64, 1), (5, 2), (1, 4), (64, 2)):
        path = tmp_path / f"{in_flight}-{workers}.jsonl"
        random.seed(in_flight)
        np.random.seed(workers)
        attack(victim, rows(*texts), how=MisbehavingAttack(), records=RecordFile(path, "c"), in_flight=in_flight, workers=workers)
        contents.add(path.read_bytes())
    assert len(contents) == 1
    other = tmp_path / "other.jsonl"
    attack(victim, rows(*texts), how=MisbehavingAttack(), records=RecordFile(other, "c"), seed=2, workers=2)
    assert other.read_bytes() not in contents


@needs_textattack
def test_examples_with_the_same_text_draw_different_random_numbers(victim):
    same = [Example(f"{number}", (TEXTS[0],), int(victim([TEXTS[0]]).argmax())) for number in range(12)]
    assert len({record.perturbed for record in attack(victim, same)}) > 1
