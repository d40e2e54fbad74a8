from __future__ import annotations

import gc
import random
import time
from collections import OrderedDict
from typing import ClassVar

import numpy as np
import pytest
import torch
from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack, sample
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.inference.random_state import example_seed, seeded
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.tasks.base import Example

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

NAMES = ("negative", "positive")
TEXTS = [
    "the film was good and the acting great",
    "The plot is dull, but the music is not bad!",
    "a very awful movie; not a good story",
    "great cast, great song, great tune",
    "it was fine",
    "bad",
]
EXAMPLES = [Example(f"row-{number}", (text,), label) for number, text in enumerate(TEXTS) for label in (number % 2,)]


def attack(victim, examples=EXAMPLES, *, how=None, columns=("text",), names=NAMES, records=None, seed=1, **more):
    records = records if records is not None else RecordFile(None, "test")
    how = how or DeepWordBug()
    return run_attack(how, victim, examples, columns=columns, label_names=names, records=records, seed=seed, **more)


def right(victim, text) -> int:
    return int(victim([text]).argmax())


def test_deepwordbug_is_textattacks_own_recipe(victim):
    textattack = import_textattack()
    stock = textattack.attack_recipes.DeepWordBugGao2018.build(victim)
    stock.goal_function.batch_size = 1 << 20
    kinds = {"SuccessfulAttackResult": "success", "FailedAttackResult": "failed", "SkippedAttackResult": "skipped"}
    examples = [Example(f"{label}{example.id}", example.texts, label) for label in (0, 1) for example in EXAMPLES]
    records = attack(victim, examples)
    for example, record in zip(examples, records, strict=True):
        with seeded(example_seed(1, example.id)):
            expected = stock.attack(OrderedDict(text=example.texts[0]), example.label)
        assert record.status == kinds[type(expected).__name__]
        assert record.queries == expected.num_queries
        assert record.perturbed == (expected.perturbed_result.attacked_text.text,)
        assert record.confidence_after == pytest.approx(1 - expected.perturbed_result.score, abs=1e-6)
        assert record.words_total == len(expected.original_result.attacked_text.words)
        assert record.predicted_after == NAMES[expected.perturbed_result.output]
    assert sum(record.status == "success" for record in records) >= 3


def test_a_record_depends_on_its_example_alone(victim, model, tokenizer):
    together = attack(victim)
    backwards = attack(victim, EXAMPLES[::-1])[::-1]
    alone = [attack(Victim(model, tokenizer, NAMES, max_length=64), [example])[0] for example in EXAMPLES]
    assert together == backwards == alone


def test_other_seeds_give_other_attacks(victim):
    assert attack(victim, seed=1) != attack(victim, seed=2)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("   \n\t", id="blanks"),
        pytest.param("...", id="punctuation"),
        pytest.param("\U0001f600\U0001f600 \U0001f468\u200d\U0001f469", id="emoji"),
        pytest.param("the and of", id="stop words"),
        pytest.param("a", id="one letter"),
        pytest.param("thanks", id="one word"),
        pytest.param("שלום עולם טוב", id="right to left"),
        pytest.param("go\u200bod\ufeff film\u200d", id="zero width"),
        pytest.param("这 部 电影 很好", id="Chinese"),
        pytest.param("good [SEP] bad [MASK] [CLS]", id="special tokens"),
        pytest.param("it was <br /><br /> good &amp; 'fine'", id="html"),
        pytest.param("\x00good\x00 \ud800 film", id="nul and lone surrogate"),
        pytest.param("a <SPLIT> b", id="textattack's separator"),
        pytest.param("-'_*@ _ ' -- o'clock well-made", id="joiners"),
        pytest.param("good " * 65, id="truncated"),
    ],
)
@pytest.mark.parametrize("label", [0, 1])
def test_every_text_gets_a_status(victim, text, label, tmp_path):
    records = RecordFile(tmp_path / "r.jsonl", "c")
    found = attack(victim, [Example("odd", (text,), label), EXAMPLES[0]], records=records)
    assert [record.id for record in found] == ["odd", "row-0"]
    assert found[0].original == (text,)
    assert found[1].status != "error"
    if text not in ("a <SPLIT> b", "\x00good\x00 \ud800 film"):
        assert found[0].status in ("success", "failed", "skipped"), found[0].message
    assert sorted(RecordFile(tmp_path / "r.jsonl", "c"), key=lambda record: record.id) == found


def test_a_text_without_words_is_failed_or_skipped(victim):
    label = right(victim, "...")
    held, skipped = attack(victim, [Example("held", ("...",), label), Example("wrong", ("...",), 1 - label)])
    assert (held.status, held.queries, held.message) == ("failed", 1, "no words to change")
    assert (skipped.status, skipped.queries) == ("skipped", 1)


def test_both_texts_of_a_pair_are_attacked_and_recorded_separately(victim):
    pair = ("the film was good and the acting great", "it was fine")
    record = attack(victim, [Example("pair", pair, right(victim, pair))], columns=("first", "second"))[0]
    assert record.status in ("success", "failed")
    assert record.original == pair
    assert len(record.perturbed) == 2
    assert record.words_total == 11


def test_an_invalid_label_is_an_error_of_its_example(victim):
    rows = [Example("unlabelled", ("good film",), -1), EXAMPLES[0], Example("strange", ("good film",), 13)]
    records = attack(victim, rows)
    assert [record.status == "error" for record in records] == [True, False, True]
    assert "label -1 is outside the 2 label names" in records[0].message


def test_labels_are_matched_by_name(model, tokenizer):
    straight = Victim(model, tokenizer, NAMES)
    turned = [Example(example.id, example.texts, 1 - example.label) for example in EXAMPLES]
    assert attack(straight, turned, names=NAMES[::-1]) == attack(straight)


def test_label_names_that_the_victim_lacks_are_refused_before_anything_runs(victim):
    with pytest.raises(UsageError, match=r"labels are negative, positive: it does not know good; match the names with --label-map"):
        attack(victim, names=("negative", "good"))
    assert victim.rows == 0


def test_a_label_unknown_to_the_victim_is_an_error_of_its_example(victim):
    names = ("negative", "neutral", "positive")
    rows = [Example("unknown", ("good film",), 1), Example("known", ("good film",), 2 * right(victim, "good film"))]
    unknown, known = attack(victim, rows, names=names)
    assert unknown.status == "error"
    assert "the model does not know the label `neutral`; its labels are negative, positive" in unknown.message
    assert known.status in ("success", "failed")


def test_a_repeated_id_is_refused(victim):
    with pytest.raises(UsageError, match="the first is row-0"):
        attack(victim, [EXAMPLES[0], EXAMPLES[0]])


def test_a_run_resumes_where_it_stopped(victim, tmp_path):
    path = tmp_path / "records.jsonl"
    records = RecordFile(path, "c")
    whole = attack(victim, records=records)
    records.finish([example.id for example in EXAMPLES])
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"\n", 0, -1) - 7])  # as a kill leaves it: two examples lost, one of them half written
    before = victim.rows
    again = RecordFile(path, "c")
    assert attack(victim, records=again) == whole
    again.finish([example.id for example in EXAMPLES])
    assert path.read_bytes() == content
    between = victim.rows
    assert 0 < between - before < before
    attack(victim, records=RecordFile(path, "c"))
    assert victim.rows == between


@frozen
class Odd(Attack):
    """Misbehaves on texts that name a misbehaviour."""

    name: ClassVar[str] = "odd"
    summary: ClassVar[str] = "odd"

    def build(self, victim, resources):
        class Built:
            def attack(self, text, label):
                if "sleep" in text.text:
                    time.sleep(30)
                if "stop" in text.text:
                    raise KeyboardInterrupt
                if "raise" in text.text:
                    raise RuntimeError("two\nlines " + "x" * 2000)
                return DeepWordBug().build(victim, resources).attack(text, label)

        return Built()


def rows(*texts):
    return [Example(str(number), (text,), 0) for number, text in enumerate(texts)]


def test_an_exception_is_an_error_of_its_example(victim):
    records = attack(victim, rows("good film", "raise", "bad film"), how=Odd())
    assert [record.status == "error" for record in records] == [False, True, False]
    assert records[1].message.startswith("RuntimeError: two lines xxx")
    assert len(records[1].message) <= 500


def test_a_slow_example_is_given_up(victim):
    begin = time.monotonic()
    records = attack(victim, rows("good film", "sleep", "bad film"), how=Odd(), timeout=2.0)
    assert [record.status == "timeout" for record in records] == [False, True, False]
    assert records[1].message == "given up after 2 seconds"
    assert time.monotonic() - begin < 20


def test_the_time_limit_holds_for_five_thousand_words(victim):
    text = "good film " * 2500
    record = attack(victim, [Example("long", (text,), right(victim, text))], timeout=0.05)[0]
    assert record.status == "timeout"
    assert record.truncated


def test_an_interruption_is_raised_and_keeps_finished_records(victim):
    records = RecordFile(None, "c")
    with pytest.raises(KeyboardInterrupt):
        attack(victim, rows("good film", "stop", "bad film"), how=Odd(), records=records, in_flight=1)
    assert [record.id for record in records] == ["0"]


@pytest.mark.parametrize("in_flight", [1, 6])
def test_nan_logits_are_an_error_of_their_example_only(victim, in_flight):
    plain = attack(victim)
    with torch.no_grad():
        victim.model.bert.embeddings.word_embeddings.weight[victim.tokenizer.convert_tokens_to_ids("awful")] = float("nan")
    found = attack(victim, in_flight=in_flight)
    strange = [record for record in found if "awful" in record.original[0]]
    assert {(record.status, record.message) for record in strange} == {
        ("error", "ValueError: the model's logits of a text are [nan, nan]: there is no likeliest label")
    }
    assert [record for record in found if record not in strange] == [record for record in plain if "awful" not in record.original[0]]


@frozen
class Broken(DeepWordBug):
    """An attack whose resource turns out to be broken when it is built."""

    def build(self, victim, resources):
        raise ResourceError("word vectors `x`: broken")


def test_a_broken_resource_ends_the_run_before_it_begins(victim):
    records = RecordFile(None, "c")
    with pytest.raises(ResourceError, match="broken"):
        attack(victim, how=Broken(), records=records)
    assert len(records) == 0


def test_random_states_and_modes_are_restored(victim):
    victim.model.train()
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    drawn = (random.random(), np.random.rand(), torch.rand(()))
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    threads = torch.get_num_threads()
    attack(victim)
    assert (random.random(), np.random.rand(), torch.rand(())) == drawn
    assert victim.model.training
    assert torch.get_num_threads() == threads


def test_the_garbage_collector_ignores_old_objects_only_during_the_attack(victim, monkeypatch):
    during = []
    build = DeepWordBug.build

    def watched(how, *parts):
        during.append(gc.get_freeze_count())
        return build(how, *parts)

    monkeypatch.setattr(DeepWordBug, "build", watched)
    gc.unfreeze()
    try:
        attack(victim)
        after = gc.get_freeze_count()
    finally:
        gc.freeze()  # as the other tests expect
    assert not during[0]  # the check before the run
    assert all(during[1:])
    assert not after


@pytest.mark.parametrize("budget", [1, 2, 5, 9])
def test_the_query_budget_is_respected(victim, budget):
    records = attack(victim, how=DeepWordBug(query_budget=budget))
    assert not [record.message for record in records if record.status == "error"]
    assert max(record.queries for record in records) <= budget
    for record in records:
        given_up = record.status == "failed" and record.queries == budget
        assert (record.message == f"given up after {counted(budget, 'query', 'queries')}") == given_up
        if given_up and budget == 1:  # before it looked for any candidate: there may be some
            assert record.words_tried is None


def labelled_examples(zeros: int, ones: int) -> list[Example]:
    return [Example(f"z{number}", ("x",), 0) for number in range(zeros)] + [Example(f"o{number}", ("x",), 1) for number in range(ones)]


@pytest.mark.parametrize(
    ("zeros", "ones", "n", "expected"), [(90, 10, 10, 1), (75, 25, 4, 1), (50, 50, 5, 2), (3, 97, 10, 10), (5, 5, 20, 5), (5, 5, 0, 0)]
)
def test_a_sample_keeps_the_proportions_of_the_labels(zeros, ones, n, expected):
    chosen = sample(labelled_examples(zeros, ones), n, seed=0)
    assert len(chosen) == min(n, zeros + ones)
    assert sum(example.label for example in chosen) == expected


def test_ties_between_the_shares_of_labels_go_to_the_lowest_label():
    examples = [Example(f"{label}/{number}", ("x",), label) for label, size in enumerate((1, 1, 7)) for number in range(size)]
    assert sorted(example.label for example in sample(examples, 3, seed=0)) == [0, 2, 2]


def test_a_sample_depends_on_seed_and_ids_alone():
    examples = labelled_examples(50, 50)
    first = sample(examples, 10, seed=1)
    assert sample(examples[::-1], 10, seed=1) == first
    assert sample(examples, 10, seed=2) != first
    assert first != examples[:10]
    assert sorted(sample(examples, None, seed=1), key=str) == sorted(examples, key=str)
