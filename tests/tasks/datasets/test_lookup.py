import pytest

from ticketlab.core import registry
from ticketlab.core.errors import SettingError
from ticketlab.core.settings import build_component
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.datasets.lookup import find_task


@pytest.mark.parametrize("name", ["demo", "sst2", "imdb", "ag_news", "qnli", "qqp", "mrpc", "cola", "rte", "wnli", "mnli"])
def test_a_registered_name_selects_the_task(name):
    task = find_task(name)
    assert (task.name, task.label) == (name, name)
    assert task.summary == registry.current().entry("task", name).summary


@pytest.mark.parametrize("value", ["data/sst2.csv", "a/b/sst2", "./sst2", "reviews.csv", "~/reviews", "REVIEWS.PARQUET"])
def test_values_that_look_like_paths_are_paths(value):
    assert find_task(value, ("a", "b"), "c", ("x", "y")) == LocalDataset(
        path=value, text_columns=("a", "b"), label_column="c", labels=("x", "y")
    )


def test_an_existing_folder_is_a_path_but_a_task_name_takes_precedence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("sst2", "mine"):
        (tmp_path / name).mkdir()
    assert isinstance(find_task("mine"), LocalDataset)
    assert find_task("sst2").name == "sst2"


@pytest.mark.parametrize("ask", [find_task, lambda name: build_component("task", name, "tasks[0]")], ids=["command line", "recipe"])
@pytest.mark.parametrize("name", ["stsb", "STS-B"])
def test_a_regression_task_is_rejected_as_such(name, ask):
    with pytest.raises(SettingError, match=r"`stsb` is a regression .* from 0 to 5.*no regression objective and no Pearson or Spearman"):
        ask(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sst3",), "unknown task `sst3`; did you mean `sst2`?"),
        (("zzzzz",), "(or pass the path of a"),
        (("",), "unknown task ``"),
        (("local",), "task `local` needs a path"),
        (("https://example.com/reviews.csv",), "a URL, but data is read from files; download it"),
        (("https://huggingface.co/datasets/stanfordnlp/imdb",), "pass `stanfordnlp/imdb`, its name on the hub"),
        (("hf://datasets/nyu-mll/glue/sst2",), "pass `nyu-mll/glue`"),
        (("sst2", ("text",)), "--text-column: task `sst2` declares its own columns"),
        (("sst2", (), "label"), "--label-column: task `sst2`"),
    ],
)
def test_other_values_are_rejected_with_a_hint(arguments, message):
    with pytest.raises(SettingError) as caught:
        find_task(*arguments)
    assert message in str(caught.value)
