"""The conformance tests of attacks: records that can be reproduced, and a victim that stays as it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import evolve

from ticketlab.attacks.base import Attack
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.core.component import Component
from ticketlab.core.errors import ResourceError
from ticketlab.inference import random_state
from ticketlab.inference.victim import Victim
from ticketlab.tasks.base import Example
from ticketlab.testing.attack_suite import LABELS, AttackSuite, predicted
from ticketlab.testing.models.counted_victim import CountedVictim
from ticketlab.testing.models.model_snapshot import ModelSnapshot
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.workspace import Workspace

ODD = {
    "empty": "",
    "blanks": "  \n\t ",
    "one word": "thanks",
    "one letter": "a",
    "punctuation": "!?!? -- ' _ * @ ,",
    "emoji": "a good \U0001f600 film \U0001f44d\U0001f3fd",
    "right to left": "the \u202efilm\u202c was سيئ",
    "zero width": "go\u200bod\ufeff film\u200d",
    "combining": "cafe\u0301 no\u0308el \u0301",
    "no spaces": "这部电影很好",
    "markup": "it was good.<br /><br />The plot<br>is bad &amp; dull",
    "special tokens": "good [SEP] bad [MASK] [CLS]",
    "one word again and again": "good good good good good",
    "a long word": "good " + "x" * 300,
    "beyond the limit": "a good film and a bad story " * 12,
}
"""Texts that data sets have, by what is odd about them."""
BUDGET = 4
LIMIT = 0.3
"""Seconds for an example."""
COUNTED = 3
"""Examples whose queries are counted."""
SLACK = 4.0
"""Seconds that a slow machine may add."""
COLUMNS = (("premise", "hypothesis"), ("first", "second"))


class AttackTests(AttackSuite):
    """The tests of an attack, on a tiny victim.

    - ``texts`` and ``pairs``: what to attack. At least one text must be changed, so they have words that the attack knows.
    - ``fails_on``: names of odd texts (:data:`ODD`), or ``pairs``, on which textattack's own parts fail; each is then a record of an error.

    Word vectors, masked language model and sentence encoder are tiny ones, unless the settings name others.
    """

    def test_records_are_the_same_every_time(self, attack: Attack, victim: Victim, workspace: Workspace) -> None:
        """Whatever the global random generators are seeded with: they are seeded before each example."""
        first = self._records(attack, victim, workspace)
        with random_state.seeded(99):
            again = self._run(evolve(attack), victim, self._examples(victim))
        self._require_same(
            first, again, "attacked again: take random numbers from the global generators, which are seeded for each example"
        )

    def test_a_record_depends_on_its_example_alone(self, attack: Attack, victim: Victim, workspace: Workspace, tmp_path: Path) -> None:
        """Not on the other examples, their order, the number in flight, or where an earlier run was interrupted."""
        expected, examples = self._records(attack, victim, workspace), self._examples(victim)
        alone = self._run(attack, victim, examples[2:3])
        self._require_same(expected[2:3], alone, "attacked alone: keep nothing from one example to the next")
        file = RecordFile(tmp_path / "records.jsonl", "test")
        self._run(attack, victim, examples[4:], records=file)
        found = self._run(attack, victim, examples[::-1], records=file, in_flight=1)[::-1]
        self._require_same(expected, found, "attacked in another order: keep nothing from one example to the next")

    def test_a_worker_process_gives_the_same_records(self, attack: Attack, victim: Victim, workspace: Workspace) -> None:
        """Many examples are attacked by several processes."""
        found = self._run(attack, victim, self._examples(victim), workers=2)
        self._require_same(self._records(attack, victim, workspace), found, "attacked by two processes")

    def test_a_record_says_what_the_victim_predicts(self, attack: Attack, victim: Victim, workspace: Workspace) -> None:
        """A success fools the victim, a failed attack does not, and a misclassified text is skipped."""
        records = self._records(attack, victim, workspace)
        for record in records:
            if record.status in ("success", "failed") and record.perturbed:
                now = LABELS[predicted(victim, record.perturbed[0])]
                require(
                    (now != record.label) is (record.status == "success"),
                    f"{record.id}: the status is `{record.status}`, and the victim predicts {now} for {record.perturbed[0]!r}, whose "
                    f"label is {record.label}: use `self.goal(victim)`",
                )
            if record.status == "success":
                require(record.perturbed != record.original, f"{record.id}: a success has the original text")
        require(records[-1].status == "skipped", f"a text that is misclassified before the attack is `{records[-1].status}`, not `skipped`")

    def test_texts_are_changed(self, attack: Attack, victim: Victim, workspace: Workspace) -> None:
        """An attack that finds no candidate for any text measures nothing."""
        records = self._records(attack, victim, workspace)
        self._require_outcomes({record.id: record for record in records})
        require(
            any(record.perturbed and record.perturbed != record.original for record in records),
            "the attack changes none of the texts: set `texts` of the test to some that it can change",
        )

    def test_odd_texts_have_an_outcome(self, attack: Attack, victim: Victim) -> None:
        """Empty ones, single words, other scripts, very long ones. An attack that cannot process a text raises ``DataError``."""
        attack = evolve(attack, query_budget=200)
        records = self._run(attack, victim, [Example(name, (text,), predicted(victim, text)) for name, text in ODD.items()])
        for record in records:
            require(record.original == (ODD[record.id],), f"`{record.id}`: the record has another text")
        self._require_outcomes({record.id: record for record in records if record.id not in self.fails_on})

    @pytest.mark.parametrize("columns", COLUMNS, ids=" and ".join)
    def test_pairs_stay_pairs(self, attack: Attack, victim: Victim, columns: tuple[str, str]) -> None:
        """Both texts are in the record, whichever of them the attack changes."""
        examples = [Example(f"pair-{number}", texts, predicted(victim, texts)) for number, texts in enumerate(self.pairs)]
        records = self._run(evolve(attack, query_budget=200), victim, examples, columns=columns)
        for record, texts in zip(records, self.pairs, strict=True):
            require(record.original == texts, f"{record.id}: the record has another pair")
            if record.status in ("success", "failed"):
                require(len(record.perturbed) == 2, f"{record.id}: the record has {len(record.perturbed)} changed texts, not 2")
        if "pairs" not in self.fails_on:
            self._require_outcomes({record.id: record for record in records})

    def test_the_query_budget_is_kept(self, attack: Attack, victim: Victim) -> None:
        """After ``query_budget`` queries the attack gives up."""
        for record in self._run(evolve(attack, query_budget=BUDGET), victim, self._examples(victim)):
            require(
                record.queries <= BUDGET,
                f"{record.id}: {record.queries} queries with query_budget={BUDGET}: use `self.goal(victim)`, and count each query in it",
            )

    def test_every_query_is_counted(self, attack: Attack, victim: Victim) -> None:
        """The victim is called with as many texts as the record has queries, or with fewer, as outputs may be cached."""
        for example in self._examples(victim)[:COUNTED]:
            counted = CountedVictim(victim)
            (record,) = self._run(attack, counted, [example])
            require(
                record.status == "error" or counted.texts <= record.queries,
                f"{example.id}: the attack calls the victim with {counted.texts} texts, and the record has {record.queries} queries: query "
                "it through `self.goal(victim)` alone, which counts each query and keeps the budget",
            )

    def test_the_time_limit_is_kept(self, attack: Attack, victim: Victim) -> None:
        """A handler of ``BaseException`` in an attack would catch the limit too."""
        text = "a good film, bad music " * 400
        started = time.perf_counter()
        (record,) = self._run(attack, victim, [Example("long", (text,), predicted(victim, text))], timeout=LIMIT)
        seconds = time.perf_counter() - started
        require(
            seconds < LIMIT + SLACK,
            f"a text of 2000 words took {seconds:.1f} s with a limit of {LIMIT:g} s (`{record.status}`): do not catch every exception",
        )

    def test_the_victim_stays_as_it_is(self, attack: Attack, victim: Victim) -> None:
        """The weights, the mode and the hooks of the attacked model are those of before."""
        before = ModelSnapshot.of(victim.model)
        self._run(attack, victim, self._examples(victim)[:3])
        changed = before.changed_weight() or before.changed_structure(victim.model) or before.changed_mode(victim.model)
        require(not changed, f"the attack changes {changed} of the attacked model")

    def test_missing_resources_are_refused_before_anything_runs(self, made: Component) -> None:
        """``required_resources`` names every setting that is a resource."""
        attack: Any = made
        names = [name for name in attack.resource_names() if name != "tagger"]
        for name in names:
            try:
                attrs.evolve(attack, **{name: "no/such/place"}).prepare()
            except ResourceError as problem:
                require("\n" not in str(problem), f"the message about missing {name} has several lines")
                continue
            require(False, f"`{name}` names nothing on this machine, and `prepare` accepts it")

    def _require_outcomes(self, records: dict[str, Record]) -> None:
        """Fail if the attack of an example ended in an error."""
        for name, record in records.items():
            unprocessable = record.message.startswith("DataError")
            require(record.status != "error" or unprocessable, f"`{name}`: the attack ended in an error, {record.message}")

    def _require_same(self, expected: list[Record], found: list[Record], how: str) -> None:
        for one, other in zip(expected, found, strict=True):
            names = [field.name for field in attrs.fields(Record) if getattr(one, field.name) != getattr(other, field.name)]
            require(not names, f"{one.id}: `{names[0] if names else ''}` of its record differs, {how}")
