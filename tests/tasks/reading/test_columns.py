import pytest

from ticketlab.core.errors import DataError
from ticketlab.tasks.reading.columns import infer_columns
from ticketlab.tasks.reading.tables import Table

WORDS = ["one thing", "another thing", "a third", "a fourth"]
NAMES = ["no", "yes", "no", "yes"]
STARS = [1, 5, 5, 1]


def table(**columns: list[object]) -> Table:
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Table("data.csv", tuple(columns), rows)


@pytest.mark.parametrize(
    ("columns", "texts", "label"),
    [
        pytest.param({"sentence": WORDS, "label": NAMES}, ("sentence",), "label", id="known names"),
        pytest.param({"Text": WORDS, "Label": NAMES}, ("Text",), "Label", id="capitals"),
        pytest.param({"review": WORDS, "stars": STARS}, ("review",), "stars", id="review and stars"),
        pytest.param({"stars": STARS, "opinion": WORDS}, ("opinion",), "stars", id="one string, one number"),
        pytest.param({"query": WORDS, "intent": NAMES}, ("query",), "intent", id="two strings, one repeats"),
        pytest.param({"note": WORDS, "labels": NAMES, "idx": [0, 1, 2, 3]}, ("note",), "labels", id="an index column"),
        pytest.param(
            {"note": WORDS, "idx": ["0", "1", "2", "3"], "stars": ["1", "2", "1", "2"]}, ("note",), "stars", id="all strings, as in csv"
        ),
        pytest.param(
            {"hypothesis": WORDS, "premise": WORDS, "label": NAMES}, ("premise", "hypothesis"), "label", id="a pair in its usual order"
        ),
        pytest.param({"question": WORDS, "sentence": WORDS, "label": NAMES}, ("question", "sentence"), "label", id="question and sentence"),
        pytest.param(
            {"claim": WORDS, "evidence": WORDS, "label": NAMES, "text": WORDS}, ("claim", "evidence"), "label", id="a pair takes precedence"
        ),
        pytest.param(
            {"sentence1": WORDS, "sentence2": WORDS, "gold_label": NAMES, "pairID": WORDS},
            ("sentence1", "sentence2"),
            "gold_label",
            id="snli",
        ),
        pytest.param({"text": WORDS, "label": NAMES, "subcase": NAMES}, ("text",), "label", id="an additional column with few values"),
    ],
)
def test_columns_are_inferred_if_there_is_one_candidate(columns, texts, label):
    found = infer_columns(table(**columns))
    assert (found.texts, found.label) == (texts, label)


@pytest.mark.parametrize(
    ("columns", "requested", "words"),
    [
        pytest.param({"title": WORDS, "body": WORDS, "label": NAMES}, {}, ["`title` or `body`", "--text-column"], id="two strings"),
        pytest.param({"text": WORDS, "review": WORDS, "label": NAMES}, {}, ["`text` or `review`", "--text-column"], id="two known texts"),
        pytest.param({"Text": WORDS, "text": WORDS, "label": NAMES}, {}, ["`Text` or `text`", "--text-column"], id="a text twice"),
        pytest.param({"Premise": WORDS, "premise": WORDS, "hypothesis": WORDS, "label": NAMES}, {}, ["`Premise`"], id="a pair thrice"),
        pytest.param(
            {"premise": WORDS, "hypothesis": WORDS, "sentence1": WORDS, "sentence2": WORDS, "label": NAMES},
            {},
            ["`premise`/`hypothesis` or `sentence1`/`sentence2`"],
            id="two pairs",
        ),
        pytest.param({"text": WORDS, "stars": STARS, "year": STARS}, {}, ["`stars` or `year`", "--label-column"], id="two labels"),
        pytest.param({"text": WORDS}, {}, ["no label column", "--label-column", "`text`"], id="no label"),
        pytest.param({"label": NAMES, "size": STARS}, {}, ["no text column", "--text-column", "`label`, `size`"], id="no text"),
        pytest.param(
            {"text": WORDS, "label": NAMES}, {"texts": ("txt",)}, ["--text-column", "did you mean `text`?", "`label`"], id="wrong text"
        ),
        pytest.param({"text": WORDS, "label": NAMES}, {"label": "lable"}, ["--label-column", "did you mean `label`?"], id="wrong label"),
        pytest.param({"text": WORDS, "label": NAMES}, {"label": "zzz"}, ["(the columns are `text`, `label`)"], id="no similar name"),
        pytest.param(
            {"text": WORDS, "label": NAMES}, {"texts": ("text",), "label": "text"}, ["cannot be used twice"], id="one column twice"
        ),
        pytest.param({"a": WORDS, "b": WORDS, "c": WORDS}, {"texts": ("a", "b", "c")}, ["one text column or two, not 3"], id="three texts"),
    ],
)
def test_an_ambiguous_choice_is_reported_with_the_columns_and_the_flag(columns, requested, words):
    with pytest.raises(DataError) as caught:
        infer_columns(table(**columns), **requested)
    message = str(caught.value)
    assert "\n" not in message
    for word in ["data.csv", *words]:
        assert word in message


def test_requested_columns_take_precedence_over_usual_names():
    found = infer_columns(table(text=WORDS, note=WORDS, label=NAMES, stars=STARS), ("note",), "stars")
    assert (found.texts, found.label) == (("note",), "stars")
