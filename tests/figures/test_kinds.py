import inspect

import pytest
from support.hand_made import cell, comparison, results, stages

from ticketlab.core.errors import UsageError
from ticketlab.figures import FIGURES, draw

STUDY = comparison([cell({"sparsity": "0.1"}, results({"sst2": [stages(0, of={"clean.accuracy": 0.5})]}))])
RIGHT = {"x": "sparsity", "y": ["clean.accuracy"]}


@pytest.mark.parametrize("kind", FIGURES)
def test_every_kind_has_a_function_that_takes_a_comparison_and_names(kind):
    first, *others = inspect.signature(FIGURES[kind].function).parameters.values()
    assert first.name == "comparison"
    assert {other.kind for other in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert {"title", "width"} <= {other.name for other in others}


def test_a_kind_is_drawn_by_its_name():
    assert draw("metric", STUDY, **RIGHT).to_dict()["concat"]


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        pytest.param("metrics", {}, r"no kind of figure `metrics`; did you mean `metric`\?", id="kind"),
        pytest.param(
            "metric", {"colour": "a", **RIGHT}, "colour: the figure `metric` has no such argument; it has x, y, color,", id="name"
        ),
        pytest.param("metric", {"x": "sparsity"}, "the figure `metric` needs the argument `y`", id="missing"),
        pytest.param("metric", {**RIGHT, "y": [1]}, r"metric: y: must be text or a list of texts, not \[1\]", id="list"),
        pytest.param("metric", {**RIGHT, "width": "wide"}, "metric: width: must be a whole number, not 'wide'", id="number"),
        pytest.param("metric", {**RIGHT, "width": True}, "metric: width: must be a whole number, not True", id="switch"),
        pytest.param("metric", {**RIGHT, "band": "sd"}, "metric: band: must be deviation or interval or none, not 'sd'", id="word"),
        pytest.param("classes", {"predictions": 1}, "classes: predictions: must be true or false, not 1", id="number-for-switch"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(kind, arguments, message):
    with pytest.raises(UsageError, match=message):
        draw(kind, STUDY, **arguments)
