from __future__ import annotations

import base64
import hashlib
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.small_page import ODD, small_study

from ticketlab.core.errors import UsageError
from ticketlab.pages.pictures import Picture
from ticketlab.pages.report_page import page, write_report
from ticketlab.report.cells import Cell, Comparison, Factor

VOID = {"meta", "link", "input", "br"}


class Parsed(HTMLParser):
    """The elements of a page, with the texts in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, ...]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attributes)))
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join("".join(data for tag, data in self.texts if tag not in ("script", "style")).split())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return small_study(tmp_path_factory.mktemp("lab"))


@pytest.fixture(scope="module")
def parsed(study: Comparison) -> Parsed:
    return Parsed(page(study, figures=[Picture("one", '<svg viewBox="0 0 1 1"></svg>'), Picture("two", note="could not be drawn")]))


def test_the_page_needs_no_network_and_forbids_it(parsed: Parsed) -> None:
    addresses = [value for _, attributes in parsed.elements for name, value in attributes.items() if name in ("src", "href", "action")]
    assert [address for address in addresses if not re.match("#|data:,$", address or "")] == []
    assert not re.search(r"@import|url\(|https?://", "".join(data for tag, data in parsed.texts if tag in ("script", "style")))
    (policy,) = [meta["content"] or "" for meta in parsed.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    allowed = [f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in parsed.scripts]
    assert len(allowed) == 2
    assert f"script-src {' '.join(allowed)};" in policy


def test_links_lead_to_elements_of_the_page(parsed: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {(link["href"] or "")[1:] for link in parsed.all("a")} <= set(ids)
    named = {attributes["aria-labelledby"] for _, attributes in parsed.elements if "aria-labelledby" in attributes}
    assert named <= set(ids)


def test_every_cell_is_in_the_page_and_failures_come_first(parsed: Parsed, study: Comparison) -> None:
    for number, cell in enumerate(study.cells, start=1):
        assert {"class": "run", "id": f"cell-{number}"} in parsed.all("details")
        assert cell.label in parsed.text
    first = parsed.text.index("failed: search: the loss is not finite")
    assert first < parsed.text.index("the same computation as random, 0.1") < parsed.text.index("What was compared")


def test_details_have_the_recipe_the_environment_and_the_stages(parsed: Parsed) -> None:
    for text in (
        'summary = "<b>imp</b>"',
        "torch 2.13",
        "Numbers by seed",
        "clean.accuracy %",
        "What was compared",
        "two could not be drawn",
    ):
        assert text in parsed.text


def test_headings_have_no_gaps(parsed: Parsed) -> None:
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))


def test_controls_have_names(parsed: Parsed) -> None:
    labels = sum(tag == "label" for tag, _ in parsed.elements)
    assert labels == len(parsed.all("input")) + len(parsed.all("select")) > 0
    assert all(heading.get("scope") for heading in parsed.all("th"))
    assert all(region.get("aria-label") for region in parsed.all("div") if "tabindex" in region)


def test_texts_are_escaped_and_made_visible(tmp_path: Path) -> None:
    results = small_study(tmp_path).cells[0].results or {}
    stages = {name: {**stage, "warnings": [ODD]} for name, stage in results["tasks"]["sst2"]["0"].items()}
    results = {**results, "recipe": ODD, "model": ODD, "overrides": {ODD: ODD}, "tasks": {ODD: {"0": stages}}, "seeds": [0], "ood": [ODD]}
    results["data"] = {ODD: {"rows": {ODD: 1}, "labels": [ODD], "columns": [ODD], "notices": [ODD], "warnings": [ODD], "measures": []}}
    folder = tmp_path / "runs" / "odd"
    folder.mkdir()
    (folder / "recipe.toml").write_text(f"# {ODD}\n")
    cells = (
        Cell(ODD, {ODD: "a", "b": ODD}, folder, results, inapplicable=(ODD,)),
        Cell("b", {ODD: "b", "b": "c"}, tmp_path / ODD, None, error=ODD),
    )
    comparison = Comparison(ODD, (Factor(ODD, ("a", "b")), Factor("b", (ODD, "c"))), cells, notes=(ODD,), differences=(ODD,))
    text = page(comparison, figures=[Picture(ODD, note=ODD)])
    assert not set(text) & set("\u202e\x1b")
    parsed = Parsed(text)
    assert len(parsed.scripts) == len(parsed.all("script")) == 2
    assert [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")] == []
    assert parsed.text.count("<script>alert(1)</script>") > 10


def test_a_comparison_without_cells_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing: no runs to report"):
        page(Comparison("nothing", (), ()))


def test_the_file_is_written_whole_or_not_at_all(study: Comparison, tmp_path: Path) -> None:
    path = write_report(study, tmp_path / "new" / "report.html", figures=())
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(UsageError, match="cannot be written"):
        write_report(study, path / "report.html", figures=())
