"""Every odd text, label or pair gets a status, and the run continues; for all attacks, on tiny resources."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from click.testing import CliRunner

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile, read
from ticketlab.cli.main import cli
from ticketlab.core import registry
from ticketlab.inference.victim import Victim
from ticketlab.resources.textattack_import import installed
from ticketlab.tasks.base import Example

pytestmark = pytest.mark.skipif(not installed(), reason="textattack is not installed")

NAMES = ("negative", "positive")
PLAIN = ("the film was good and the acting great", "The plot is dull, but the music is not bad!")
ODD = {
    "empty": "",
    "blanks": "  \n\t ",
    "one word": "thanks",
    "one letter": "a",
    "punctuation": "...",
    "more punctuation": "!?!? -- ' _ * @ ,",
    "emoji": "\U0001f600\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "emoji in a text": "a good \U0001f600 film \U0001f44d\U0001f3fd",
    "right to left": "שלום עולם טוב",
    "right to left in a text": "the \u202efilm\u202c was سيئ",
    "zero width": "go\u200bod\ufeff film\u200d",
    "zero width alone": "\u200b \ufeff",
    "combining": "cafe\u0301 no\u0308el \u0301",
    "no spaces": "这部电影很好",
    "html breaks": "it was good.<br /><br />The plot<br>is bad &amp; dull",
    "nul": "\x00good\x00 film\x00",
    "control characters": "good\x07 film\x1b[31m bad\x7f",
    "special tokens": "good [SEP] bad [MASK] [CLS] [UNK] [PAD]",
    "joiners": "-'_*@ _ ' -- o'clock well-made 'n' and/or",
    "numbers": "3 1,000.50 10/10 5-star",
    "stop words": "the and of it was",
    "one word, again and again": "good good good good good",
    "a word of many pieces": "film " + "goodfilm" * 12,
    "a word beyond the tokenizer": "good " + "x" * 300,
    "new lines": "good\n\nfilm\r\nbad\u2028music\u0085",
    "capitals": "THE FILM WAS GoOd",
}
REFUSED = {"lone surrogate": "good \ud800 film", "textattack's separator": "good <SPLIT> film"}
"""Texts that a tokenizer or textattack cannot process: an error of their example."""


def run(attack, victim, examples, *, columns=("text",), records=None, **more):
    records = records if records is not None else RecordFile(None, "c")
    return run_attack(attack, victim, examples, columns=columns, label_names=NAMES, records=records, seed=0, **more)


def answer(victim, text) -> int:
    with victim.evaluating():
        return int(victim([text]).argmax())


def faults(attack, records) -> dict[str, str]:
    """Return the messages of records without an outcome, except exceptions of textattack's own recipes."""
    lost = {record.id: record.message for record in records if record.status in ("error", "timeout")}
    return {} if attack.name == "textattack" and all(lost.values()) else lost


def plain(victim) -> list[Example]:
    return [Example(f"plain-{number}", (text,), answer(victim, text)) for number, text in enumerate(PLAIN)]


def among(examples, victim) -> list[Example]:
    before, after = plain(victim)
    return [before, *examples, after]


def test_every_odd_text_is_attacked_and_the_run_continues(every_attack, victim, tmp_path):
    odd = [Example(name, (text,), (answer(victim, text) + (number % 5 == 4)) % 2) for number, (name, text) in enumerate(ODD.items())]
    file = RecordFile(tmp_path / "records.jsonl", "c")
    records = run(every_attack, victim, among(odd, victim), records=file)
    assert [record.id for record in records] == [example.id for example in among(odd, victim)]
    assert faults(every_attack, records) == {}
    for example, record in zip(odd, records[1:-1], strict=True):
        assert record.original == example.texts
        if record.status != "error":
            assert (record.status == "skipped") is (answer(victim, example.texts[0]) != example.label)
    assert sorted(read(file.path)[1], key=str) == sorted(records, key=str)
    assert [records[0], records[-1]] == run(every_attack, victim, plain(victim))
    assert run(every_attack, victim, odd[::4], in_flight=1) == records[1:-1:4]


@pytest.mark.parametrize("name", REFUSED)
def test_an_unprocessable_text_is_an_error_of_its_example(every_attack, victim, name, tmp_path):
    odd = Example(name, (REFUSED[name],), 0)
    file = RecordFile(tmp_path / "records.jsonl", "c")
    before, refused, after = run(every_attack, victim, among([odd], victim), records=file)
    assert (refused.status, refused.original) == ("error", (REFUSED[name],))
    assert refused.message
    assert [before, after] == run(every_attack, victim, plain(victim))
    assert sorted(read(file.path)[1], key=str) == sorted([before, refused, after], key=str)


def test_invalid_labels_are_errors_of_their_examples(every_attack, victim):
    rows = [Example(f"label {label}", ("good film",), label) for label in (-1, 2, 13)]
    before, *odd, after = run(every_attack, victim, among(rows, victim))
    assert [(record.status, record.queries) for record in odd] == [("error", 0)] * 3
    assert [record.message for record in odd] == [f"ValueError: label {label} is outside the 2 label names" for label in (-1, 2, 13)]
    assert [before, after] == run(every_attack, victim, plain(victim))


def test_a_text_of_five_thousand_words_gets_a_status_and_the_run_continues(every_attack, model, tokenizer):
    victim = Victim(model, tokenizer, NAMES, max_length=16)
    text = "good film, bad music " * 1250
    long = Example("long", (text,), answer(victim, text))
    before, record, after = run(evolve(every_attack, query_budget=40), victim, among([long], victim), timeout=2.0)
    assert record.status in ("success", "failed", "timeout")
    assert record.truncated or record.status == "timeout"
    assert {before.status, after.status} <= {"success", "failed"}


PAIRS = {
    "plain": ("the film was good and the acting great", "it was fine"),
    "one word each": ("good", "bad"),
    "twice the same": ("great music", "great music"),
    "nothing first": ("", "a good film"),
    "nothing second": ("a good film", ""),
    "nothing at all": ("", ""),
    "marks": ("...", "?!"),
    "html breaks": ("good<br /><br />film", "bad <br> music &amp; song"),
    "special tokens": ("good [SEP] film", "[CLS] bad"),
    "long": ("good film " * 25, "bad song"),
}


def pairs(victim) -> list[Example]:
    return [Example(name, texts, answer(victim, texts)) for name, texts in PAIRS.items()]


@pytest.mark.parametrize("columns", [("sentence1", "sentence2"), ("premise", "hypothesis")], ids=str)
def test_pairs_get_a_status_and_stay_pairs(every_attack, victim, columns):
    records = run(every_attack, victim, pairs(victim), columns=columns)
    assert faults(every_attack, records) == {}
    for record, texts in zip(records, PAIRS.values(), strict=True):
        assert record.original == texts
        assert len(record.perturbed) == (0 if record.status == "error" else 2)
    assert any(record.words_changed for record in records)


@pytest.mark.parametrize("every_attack", ["textfooler"], indirect=True)
def test_only_the_hypothesis_is_changed_not_the_premise(every_attack, victim):
    records = run(every_attack, victim, pairs(victim), columns=("premise", "hypothesis"))
    assert all(record.perturbed[0] == record.original[0] for record in records)
    assert any(record.perturbed[1] != record.original[1] for record in records)
    free = run(every_attack, victim, pairs(victim), columns=("sentence1", "sentence2"))
    assert any(record.perturbed[0] != record.original[0] for record in free)


def test_a_wrong_number_of_texts_is_an_error_of_its_example(every_attack, victim):
    before, odd, after = run(every_attack, victim, among([Example("pair", ("good", "bad"), 0)], victim))
    assert (odd.status, odd.message) == ("error", "ValueError: 2 texts for the columns text")
    assert [before, after] == run(every_attack, victim, plain(victim))


@pytest.fixture
def folder(tmp_path, make_model, tokenizer):
    """A finished classifier, as the command line takes it."""
    model = make_model()
    model.config.id2label, model.config.label2id = dict(enumerate(NAMES)), {name: index for index, name in enumerate(NAMES)}
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Call the command line in a lab of its own."""
    monkeypatch.setattr(registry, "_current", None)
    monkeypatch.delenv("TICKETLAB_DEBUG", raising=False)

    def on(folder, rows, *flags):
        task = tmp_path / "rows.jsonl"
        task.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        out = tmp_path / "records.jsonl"
        common = ["--task", task, "--attack", "deepwordbug", "--max-length", "16", "--split", "all"]
        arguments = ["attack", folder, *common, "--lab", tmp_path / "lab", "--out", out, "--json", *flags]
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="ticketlab")
        return result, {record.original: record for record in read(out)[1]} if out.exists() else {}

    return on


def labelled(texts) -> list[dict[str, str]]:
    return [{"text": text, "label": NAMES[number % 2]} for number, text in enumerate(texts)]


def test_the_command_line_gives_every_odd_text_a_status(folder, call):
    kept = [text for name, text in ODD.items() if text.strip() and name != "zero width alone"]
    rows = labelled([*PLAIN, *kept, *("good film", "bad film", "great music") * 5])
    result, records = call(folder, [*rows, {"text": "", "label": "positive"}, {"text": "unlabelled", "label": -1}])
    assert result.exit_code == 0, result.stderr
    assert "1 row dropped (empty)" in result.stderr
    assert "1 row dropped (unlabelled)" in result.stderr
    assert {(text,) for text in (*PLAIN, *kept)} <= set(records)
    assert ("unlabelled",) not in records
    assert {record.status for record in records.values()} <= {"success", "failed", "skipped"}
    (found,) = json.loads(result.stdout)["tasks"]["rows"].values()
    assert found["attack"]["attacks"]["deepwordbug"]["errors"] == 0


def test_the_command_line_continues_after_an_unprocessable_text(folder, call):
    result, records = call(folder, labelled([*PLAIN, *REFUSED.values(), *("good film", "bad film", "great music") * 5]))
    assert result.exit_code == 3, result.stderr
    assert "1 attacked example ended in an error" in result.stderr
    assert {text for text, record in records.items() if record.status == "error"} == {(REFUSED["textattack's separator"],)}
    read_as = "good ? film"  # reading the rows replaces half of a surrogate pair
    assert {records[(text,)].status for text in (*PLAIN, read_as)} <= {"success", "failed", "skipped"}


def test_the_command_line_enforces_the_time_limit_on_five_thousand_words(folder, call):
    long = "good film, bad music " * 1250
    result, records = call(folder, labelled([*PLAIN, long, *("good film", "bad film") * 5]), "--set", "attack.timeout=1")
    assert result.exit_code == 0, result.stderr
    assert records[(long,)].status in ("success", "failed", "skipped", "timeout")
    assert len(records) == 5


def test_the_command_line_continues_after_labels_unknown_to_the_model(folder, call):
    result, records = call(
        folder,
        [
            *labelled([f"{text} {number}" for number in range(5) for text in PLAIN]),
            *[{"text": f"good film {number}", "label": "banana"} for number in range(5)],
        ],
    )
    assert result.exit_code == 3
    strange = [record for record in records.values() if record.label == "banana"]
    assert strange
    assert {record.status for record in strange} == {"error"}
    assert all("the model does not know the label `banana`" in record.message for record in strange)
    others = [record for record in records.values() if record.label != "banana"]
    assert others
    assert "error" not in {record.status for record in others}


def test_the_command_line_refuses_label_names_that_differ_from_the_models(folder, call):
    result, records = call(folder, [{"text": f"good film {number}", "label": ("banana", "apple")[number % 2]} for number in range(12)])
    assert result.exit_code == 2
    assert "banana" in result.stderr.splitlines()[-1]
    assert not records


def test_the_command_line_attacks_pairs(folder, call):
    rows = [
        {"premise": first, "hypothesis": second, "label": NAMES[number % 2]}
        for number, (first, second) in enumerate([*PAIRS.values(), *[(f"good film {n}", f"bad {n}") for n in range(12)]])
    ]
    flags = ["--text-column", "premise", "--text-column", "hypothesis"]
    result, records = call(folder, rows, *flags)
    assert result.exit_code == 0, result.stderr
    assert PAIRS["plain"] in records
    assert {len(record.perturbed) for record in records.values()} == {2}
