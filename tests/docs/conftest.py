from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.doc_blocks import Reader

from ticketlab.core import registry

ROOT = Path(__file__).parents[2]
LABS = ("lab", "test-lab", "early", "dice")
"""The labs that pages use."""
SENTENCES = [
    (f"{opening} {judgement} {thing}", label)
    for opening in ("what a", "this is a", "a truly")
    for judgement, label in (("wonderful", "positive"), ("terrible", "negative"), ("charming", "positive"), ("boring", "negative"))
    for thing in ("film", "book", "song", "play", "story")
]


def write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def write_folder(folder: Path, column: str) -> None:
    """Write train.jsonl and validation.jsonl."""
    folder.mkdir(parents=True)
    for name, rows in (("train", SENTENCES[:48]), ("validation", SENTENCES[48:])):
        lines = [json.dumps({column: text, "label": label}) + "\n" for text, label in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def write_jsonl(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def nli(labels: tuple[str, ...], size: int, *, subsets: bool = False) -> list[dict[str, str]]:
    """Return pairs of sentences, the same number for each label."""
    rows = []
    for number in range(size):
        text = SENTENCES[number % len(SENTENCES)][0]
        label = labels[number % len(labels)]
        other = {"entailment": text, "neutral": f"{text} and more"}.get(label, f"the {text.split()[-1]} was not what we like")
        row = {"premise": f"{text} {number}", "hypothesis": f"{other} {number % 7}", "label": label}
        heuristic = ("lexical_overlap", "subsequence", "constituent")[number // len(labels) % 3]
        rows.append({**row, "heuristic": heuristic, "subcase": f"{heuristic} {number % 2}"} if subsets else row)
    return rows


def write_challenges(folder: Path) -> None:
    """Write small versions of MNLI and HANS into ``$TICKETLAB_DATA``, a challenge set for ``pairs.csv``, and a further challenge set."""
    three, two = ("entailment", "neutral", "contradiction"), ("entailment", "non-entailment")
    for name, labels, subsets in (("mnli", three, False), ("hans", two, True)):
        write_jsonl(folder / "data" / name / "train.jsonl", nli(labels, 60, subsets=subsets))
        write_jsonl(folder / "data" / name / "validation.jsonl", nli(labels, 24, subsets=subsets))
    write_jsonl(folder / "puzzles.jsonl", nli(two, 40, subsets=True))
    tricky = [(text, f"so {text}", "same" if number % 2 else "different", "short") for number, (text, _) in enumerate(SENTENCES[:20])]
    tricky += [(text, f"{text} again", "different", "long") for text, _ in SENTENCES[:10]]
    write_csv(folder / "tricky.csv", ("sentence1", "sentence2", "label", "kind"), tricky)


@pytest.fixture(scope="session")
def docs_modules() -> Iterator[None]:
    """Modules of docs/ can be imported."""
    sys.path.insert(0, str(ROOT / "docs"))
    yield
    sys.path.remove(str(ROOT / "docs"))


@pytest.fixture(scope="session")
def shared_stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stages of all labs: pages that run the same stage compute it once."""
    return tmp_path_factory.mktemp("shared") / "stages"


@pytest.fixture
def folder(tmp_path: Path, shared_stages: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the data that pages name, labs with their own runs, and only the built-in components."""
    monkeypatch.chdir(tmp_path)
    shared_stages.mkdir(exist_ok=True)
    for lab in LABS:
        (tmp_path / lab / "runs").mkdir(parents=True)
        (tmp_path / lab / "stages").symlink_to(shared_stages)
    monkeypatch.setattr(registry, "_current", None)
    for name in ("TICKETLAB_LAB", "TICKETLAB_STRICT_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_folder(tmp_path / "reviews", "text")
    write_folder(tmp_path / "data" / "sst2", "sentence")
    write_csv(tmp_path / "reviews.csv", ("text", "label"), SENTENCES)
    write_csv(tmp_path / "stars.csv", ("id", "review", "stars"), [(str(n), text, label[:3]) for n, (text, label) in enumerate(SENTENCES)])
    pairs = [(text, text.replace("a ", "the "), "yes" if label == "positive" else "no") for text, label in SENTENCES]
    write_csv(tmp_path / "pairs.csv", ("left", "right", "answer"), pairs)
    words = sorted({word for text, _ in SENTENCES for word in text.split()})
    vectors = [f"{word} {number % 3} {number % 5} 1\n" for number, word in enumerate(words)]
    (tmp_path / "vectors.txt").write_text("".join(vectors), encoding="utf-8")
    articles = [" ".join(text for text, _ in SENTENCES[first : first + 4]) for first in range(len(SENTENCES))]
    (tmp_path / "articles.txt").write_text("= Reviews =\n\n" + "\n".join(articles), encoding="utf-8")
    write_challenges(tmp_path)
    monkeypatch.setenv("TICKETLAB_DATA", str(tmp_path / "data"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.fixture
def reader(folder: Path, tiny: dict[str, Path]) -> Reader:
    """Follows pages in ``folder``, with small models and data in place of those that pages name."""
    models = {"demo": str(tiny["bert"]), "bert-base-uncased": str(tiny["bert"]), "roberta-base": str(tiny["roberta"])}
    tasks = {"sst2": "./data/sst2"} | {name: name for name in ("mnli", "hans", "demo_nli", "demo_nli_ood")}
    tasks |= {name: name for name in ("imdb", "ag_news")}  # composed but not read
    tasks |= {"beads": "beads"}  # of a plugin
    return Reader(folder, models, tasks, {"Salesforce/wikitext": "articles.txt"})
