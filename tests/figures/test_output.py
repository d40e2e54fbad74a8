import json
import re
from xml.etree import ElementTree

import pytest
from support.hand_made import cell, comparison, results, stages

from ticketlab.core.errors import UsageError
from ticketlab.figures import metric, svg, write

MARKUP = "</script><script>alert('x')</script><b>&amp;</b>"


@pytest.fixture(scope="module")
def chart():
    """A chart whose every word from outside is markup."""
    cells = [
        cell({"method": MARKUP + name, "sparsity": level}, results({"sst2": [stages(0, of={"clean.accuracy": 0.5}, salt=name + level)]}))
        for name in "ab"
        for level in ("0.1", "0.3")
    ]
    return metric(comparison(cells, MARKUP), x="sparsity", y="clean.accuracy", color="method", title=MARKUP, width=900)


@pytest.mark.parametrize(("suffix", "beginning"), [("svg", b"<svg"), ("pdf", b"%PDF-"), ("png", b"\x89PNG")])
def test_files_are_of_the_format_of_their_suffix(chart, tmp_path, suffix, beginning):
    path = write(chart, tmp_path / "new" / f"figure.{suffix}")
    assert path.read_bytes().startswith(beginning)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_words_of_a_svg_file_are_text(chart, tmp_path):
    root = ElementTree.parse(write(chart, tmp_path / "figure.svg")).getroot()
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "text", "tspan", "line", "defs", "clipPath", "rect"}
    assert any(MARKUP in "".join(element.itertext()) for element in root.iter())


def test_a_html_page_has_no_markup_of_users_and_loads_nothing(chart, tmp_path):
    page = write(chart, tmp_path / "figure.html").read_text(encoding="utf-8")
    assert MARKUP not in page
    assert page.lower().count("</script>") == 2
    assert "default-src 'none'" in page
    specification = re.search(r"vegaEmbed\(\"#figure\", (\{.*\}), \{mode", page)
    assert specification is not None
    assert json.loads(specification[1])["title"]["text"] == [MARKUP]


def test_an_embedded_svg_takes_the_colours_of_its_page(chart):
    root = ElementTree.fromstring(svg(chart))
    colours = {element.get(name) for element in root.iter() for name in ("fill", "stroke")}
    assert {"currentColor", "var(--figure-grid, #dddddd)", "var(--figure-1, #0072b2)", "var(--figure-2, #d55e00)"} <= colours
    assert not any(colour in colours for colour in ("white", "#222222", "#0072b2", "black"))
    assert root.get("role") == "img"
    assert root.get("aria-label", "").startswith(MARKUP)
    assert "max-width: 100%" in root.get("style", "")


def test_identifiers_of_two_embedded_svgs_differ(chart):
    cells = [cell({"sparsity": "0.1"}, results({"sst2": [stages(0, of={"clean.accuracy": 0.5})]}))]
    other = metric(comparison(cells), x="sparsity", y="clean.accuracy")
    roots = [ElementTree.fromstring(svg(one)) for one in (chart, other)]
    first, second = ({element.get("id") for element in root.iter()} - {None} for root in roots)
    assert min(len(first), len(second)) > 0
    assert not first & second


def test_another_suffix_is_refused(chart, tmp_path):
    with pytest.raises(UsageError, match=r"the suffix of the file decides its format, and `.jpg` is none of them"):
        write(chart, tmp_path / "figure.jpg")


def test_a_folder_is_no_file_to_write(chart, tmp_path):
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        write(chart, tmp_path / "figure.svg")
