"""Runs are read with their main numbers, filtered and sorted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_lab import NOW, fake_run, fake_stage, key, measured

from ticketlab.core.errors import UsageError
from ticketlab.lab.active_runs import registered
from ticketlab.notebook.entries import Entry, read_entries
from ticketlab.notebook.headlines import headlines
from ticketlab.notebook.listing import Filter, check_metric, metric_numbers, ordered, parse_since
from ticketlab.notebook.run_columns import columns_of
from ticketlab.notebook.run_table import as_json, short_names

HOUR = 3600


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    fake_stage(tmp_path, "at", {"model/model.safetensors": 1000})
    fake_run(tmp_path, "fine-tune-sst2-aaaaaaa111", {"sst2": {0: measured("a", 0.5, 0.25), 1: measured("b", 0.75, 0.5)}}, age=2 * HOUR)
    fake_run(
        tmp_path, "mine", {"sick": {0: measured("c", 0.9, ood=0.4)}}, recipe="srnet", differs="sparsity=0.5", names=["other"], age=HOUR
    )
    fake_run(tmp_path, "fine-tune-sst2-aaaaaaa222", {"sst2": {0: measured("a", 0.5, 0.25)}}, finished=False)
    broken = fake_run(tmp_path, "broken-0123456789", {"sst2": {0: measured("d", 0.1)}}, age=3 * HOUR)
    (broken / "results.json").write_text("[1", encoding="utf-8")
    return tmp_path


@pytest.fixture
def entries(lab: Path) -> dict[str, Entry]:
    return {entry.name: entry for entry in read_entries(lab)}


def test_an_entry_has_the_means_over_the_seeds(entries: dict[str, Entry]) -> None:
    (line,) = entries["fine-tune-sst2-aaaaaaa111"].headlines
    assert line.clean is not None
    assert (line.task, line.clean.mean, line.attack) == ("sst2", 0.625, "pwws")
    assert line.clean.deviation == pytest.approx(0.1767767)  # sqrt(2) / 8
    assert line.aua is not None
    assert line.aua.mean == 0.375
    (other,) = entries["mine"].headlines
    assert other.ood_accuracy is not None
    assert (other.ood, other.ood_accuracy.mean, other.aua) == ("hans", 0.4, None)


def test_a_measurement_that_seeds_share_counts_once() -> None:
    (line,) = headlines({"sst2": {"0": measured("a", 0.5), "1": measured("a", 0.5), "2": measured("b", 0.8)}})
    assert line.clean is not None
    assert line.clean.mean == pytest.approx(0.65)


def test_numbers_of_another_split_name_it(tmp_path: Path) -> None:
    stages = measured("a", 0.8, 0.25)
    stages["evaluate"]["clean"] |= {"split": "dev", "n": 12}
    stages["attack"]["sample"]["split"] = "all"
    fake_run(tmp_path, "attack-sst2-aaaaaaa111", {"sst2": {0: stages}})
    (entry,) = read_entries(tmp_path)
    shown = {column.head: column.lines(entry) for column in columns_of([entry], NOW)}
    assert (shown["Clean %"], shown["pwws\nAua %"]) == (["80.0 (dev)"], ["25.0 (all)"])
    (found,) = as_json([entry], [])["runs"][0]["numbers"]
    assert (found["split"], found["examples"], found["attack_split"], found["attack_examples"]) == ("dev", 12, "all", 20)


def test_the_finished_model_is_shown_rather_than_a_checkpoint() -> None:
    stages = measured("a", 0.8)
    checkpoint = {**stages["evaluate"], "key": "0" * 64, "at": "500", "clean": {"accuracy": 0.1}}
    (line,) = headlines({"sst2": {"0": {"early": checkpoint, **stages}}})
    assert line.clean is not None
    assert (line.model, line.models, line.clean.mean) == ("finetune", 2, 0.8)


def test_states(lab: Path, entries: dict[str, Entry]) -> None:
    states = {name: entry.state for name, entry in entries.items()}
    assert states == {
        "broken-0123456789": "damaged",
        "fine-tune-sst2-aaaaaaa111": "finished",
        "fine-tune-sst2-aaaaaaa222": "unfinished",
        "mine": "finished",
    }
    (lab / "active").mkdir()
    with registered(lab, "fine-tune-sst2-aaaaaaa222", []):
        assert [entry.name for entry in read_entries(lab) if entry.state == "running"] == ["fine-tune-sst2-aaaaaaa222"]


def test_the_size_is_that_of_the_directory_and_of_the_stages(lab: Path, entries: dict[str, Entry]) -> None:
    entry = entries["fine-tune-sst2-aaaaaaa111"]
    folders = [entry.folder, *(lab / "stages" / key[:2] / key for key in entry.keys)]
    assert entry.bytes == sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) > 1000


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(), ["fine-tune-sst2-aaaaaaa222", "mine", "fine-tune-sst2-aaaaaaa111", "broken-0123456789"]),
        (Filter(recipe="srnet"), ["mine"]),
        (Filter(task="sick"), ["mine"]),
        (Filter(since=NOW - 1.5 * HOUR), ["fine-tune-sst2-aaaaaaa222", "mine"]),
        (Filter(unfinished=True), ["fine-tune-sst2-aaaaaaa222", "broken-0123456789"]),
        (Filter(pattern="OTHER"), ["mine"]),
        (Filter(pattern="sparsity"), ["mine"]),
        (Filter(pattern="aaaaaaa1"), ["fine-tune-sst2-aaaaaaa111"]),
        (Filter(pattern="fine-*-sst2-*"), ["fine-tune-sst2-aaaaaaa222", "fine-tune-sst2-aaaaaaa111"]),
        (Filter(pattern="si?k", recipe="fine-tune"), []),
    ],
)
def test_filters(entries: dict[str, Entry], wanted: Filter, names: list[str]) -> None:
    assert [entry.name for entry in ordered(list(entries.values()), "age") if wanted.accepts(entry)] == names


def test_runs_are_sorted_by_any_metric(lab: Path) -> None:
    known: set[str] = set()
    entries = list(read_entries(lab, metric_numbers("attack.pwws.aua", known)))
    assert ordered(entries, "attack.pwws.aua")[0].name == "fine-tune-sst2-aaaaaaa111"
    assert {"attack.pwws.aua", "clean.accuracy", "ood.hans.accuracy"} <= known
    assert ordered(entries, "size")[0].name == "fine-tune-sst2-aaaaaaa111"
    assert [entry.name for entry in ordered(entries, "name")] == sorted(entry.name for entry in entries)
    with pytest.raises(
        UsageError, match=r"^--sort clean\.acuracy: neither age, size, name nor a metric of these runs; did you mean `clean"
    ):
        check_metric("clean.acuracy", list(read_entries(lab, metric_numbers("clean.acuracy", known))), known)


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("12h", 43200), ("2d", 172800), ("1w", 604800), ("1.5h", 5400)])
def test_a_duration_counts_back_from_now(text: str, seconds: float) -> None:
    assert parse_since(text, now=1e9) == 1e9 - seconds


@pytest.mark.parametrize("text", ["", "yesterday", "2", "3 days", "2026-13-01", "-1d"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--since .*: neither a duration such as"):
        parse_since(text)


def test_short_names_identify_runs(lab: Path) -> None:
    fake_run(lab, "ticket-ccccccc333", {}, names=["early", "later"])
    assert short_names(list(read_entries(lab))) == {
        "fine-tune-sst2-aaaaaaa111": "aaaaaaa1",
        "fine-tune-sst2-aaaaaaa222": "aaaaaaa2",
        "broken-0123456789": "01234567",
        "mine": "mine",
        "ticket-ccccccc333": "early",
    }


def test_a_mean_over_models_has_no_deviation_over_seeds(tmp_path: Path) -> None:
    stages = measured("b", 0.5)
    stages |= {"second": {**stages["finetune"], "key": key("s")}, "other": {**measured("c", 0.75)["evaluate"], "of": "second"}}
    fake_run(tmp_path, "seeds", {"sst2": {0: measured("d", 0.5), 1: measured("e", 0.75)}})
    fake_run(tmp_path, "models", {"sst2": {0: stages}})
    entries = list(read_entries(tmp_path, metric_numbers("clean.accuracy", set())))
    (column,) = [column for column in columns_of(entries, NOW, "clean.accuracy") if column.before == "clean.accuracy"]
    assert {entry.name: column.lines(entry) for entry in entries} == {"seeds": ["62.5 ± 17.7"], "models": ["62.5 (mean of 2)"]}
