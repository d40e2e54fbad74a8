"""Data sets of the hub as tasks, by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import datasets
import pytest

from ticketlab.attacks.results.record_file import file_name
from ticketlab.core.errors import DataError, SettingError, Unavailable
from ticketlab.recipes.compose import compose
from ticketlab.recipes.recipe import build_recipe
from ticketlab.recipes.tables import read
from ticketlab.tasks.datasets import hub_fetch, plain_text
from ticketlab.tasks.datasets.hub_dataset import HubDataset
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.datasets.lookup import find_task

NAMES = ["negative", "positive"]


def split(size: int, *, labelled: bool = True) -> datasets.Dataset:
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=NAMES), "idx": datasets.Value("int32")}
    )
    labels = [n % 2 if labelled else -1 for n in range(size)]
    return datasets.Dataset.from_dict(
        {"sentence": [f"s {n}" for n in range(size)], "label": labels, "idx": list(range(size))}, features=features
    )


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """Fake a hub with one data set; return the requests."""
    requests: list[tuple[Any, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str | None, revision: str | None = None) -> datasets.DatasetDict:
        requests.append((name, config, split, revision))
        return HUB

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.chdir(tmp_path)
    return requests


HUB = datasets.DatasetDict(
    {"train": split(20), "validation_matched": split(6), "validation_mismatched": split(7), "test_matched": split(5, labelled=False)}
)


@pytest.mark.parametrize(
    ("value", "task"),
    [
        ("nyu-mll/glue:sst2", HubDataset(dataset="nyu-mll/glue", config="sst2")),
        ("stanfordnlp/imdb", HubDataset(dataset="stanfordnlp/imdb")),
        ("jhu-cogsci/hans@refs/convert/parquet", HubDataset(dataset="jhu-cogsci/hans", revision="refs/convert/parquet")),
        ("a/b.c:d-e@v1.0", HubDataset(dataset="a/b.c", config="d-e", revision="v1.0")),
    ],
)
def test_owner_and_name_select_a_data_set_of_the_hub(hub: list[Any], value: str, task: HubDataset) -> None:
    assert find_task(value) == task
    assert task.label == value
    assert not hub


@pytest.mark.parametrize(
    "value", ["data/reviews.csv", "./nyu-mll/glue", "a/b/c", "reviews.xlsx", "owner/reviews.csv.gz", "/a/b", "here/sst2", "a/b:c/d"]
)
def test_values_that_can_be_paths_are_paths(hub: list[Any], tmp_path: Path, value: str) -> None:
    (tmp_path / "here").mkdir()  # so `here/sst2` is a misspelt path
    assert find_task(value) == LocalDataset(path=value)


def test_a_local_folder_takes_precedence_over_the_hub_and_this_is_reported(
    hub: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert find_task("owner/name") == LocalDataset(path="owner/name")
    assert (
        capsys.readouterr().err
        == "owner/name: reading the local folder, not a data set on the hub (`./owner/name` always means the folder)\n"
    )
    with pytest.raises(DataError, match="there is a folder `owner/name`, which the datasets library would read instead of the hub"):
        HubDataset(dataset="owner/name").load()


def test_a_misspelt_task_is_not_looked_up_on_the_hub(hub: list[Any]) -> None:
    with pytest.raises(SettingError, match=r"unknown task `sst3`; did you mean `sst2`\?.*or a data set on the hub as OWNER/NAME"):
        find_task("sst3")
    with pytest.raises(SettingError, match="task `hub` needs a data set"):
        find_task("hub")


def test_a_data_set_of_the_hub_is_read_like_a_local_one(hub: list[Any]) -> None:
    data = find_task("nyu-mll/glue:mnli@main", labels=("positive", "negative")).load()
    assert hub == [("nyu-mll/glue", "mnli", None, "main")]
    assert (data.name, data.columns, data.label_names) == ("nyu-mll/glue:mnli@main", ("sentence",), ("positive", "negative"))
    assert {name: len(examples) for name, examples in data.splits.items()} == {"train": 18, "dev": 2, "test": 6}
    assert [data.label_names[example.label] for example in data.splits["test"]] == NAMES * 3
    assert data.notices[0] == "splits that are not read: validation_mismatched"
    same = HubDataset(dataset="another/name", labels=("positive", "negative")).load()
    assert same.fingerprint == data.fingerprint


def test_a_challenge_set_without_named_splits_is_a_test_split(hub: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: datasets.DatasetDict({"default": split(8)}))
    assert [len(examples) for examples in HubDataset(dataset="a/b").load_challenge().splits.values()] == [0, 0, 8]


def test_a_recipe_with_hub_data_sets_is_written_and_read_without_the_network(hub: list[Any], tmp_path: Path) -> None:
    recipe = compose("fine-tune", tasks="nyu-mll/glue:sst2@main", model="demo", ood="a/b")
    (tmp_path / "r.toml").write_text(recipe.to_toml())
    name, table, _ = read(str(tmp_path / "r.toml"))
    again = build_recipe(name, table)
    assert (list(again.tasks), list(again.ood)) == ([find_task("nyu-mll/glue:sst2@main")], [find_task("a/b")])
    assert not hub


def test_a_hub_name_is_converted_to_a_file_name() -> None:
    assert file_name("nyu-mll/glue:sst2") == "nyu-mll--glue-sst2"


@pytest.mark.parametrize(
    ("problem", "config", "kind", "words"),
    [
        (
            ValueError("Config name is missing.\nPlease pick one among the available configs: ['cola', 'sst2']\nExample of usage:\n\t`x`"),
            None, DataError, "it has several configurations (cola, sst2); name one, such as a/b:cola;",
        ),
        (
            ValueError("BuilderConfig 'sst3' not found. Available: ['cola', 'sst2']"),
            "sst3", DataError, "there is no configuration `sst3`; did you mean `sst2`?",
        ),
        (
            ValueError("There are multiple 'a/b' configurations in the cache: cola, sst2\nPlease specify which"),
            None, DataError, "it has several configurations (cola, sst2)",
        ),
        (
            RuntimeError("Dataset scripts are no longer supported, but found b.py"),
            None, DataError, "it needs a script, and scripts are not run; its files may be available as a/b@refs/convert/parquet;",
        ),
        (
            ConnectionError("Couldn't reach 'a/b' on the Hub (OfflineModeIsEnabled)"),
            None, Unavailable, "it is not in the cache, and nothing is downloaded",
        ),
        (
            ValueError("Couldn't find cache for a/b for config 'c'\nAvailable configs in the cache: ['d']"),
            "c", Unavailable, "Available configs in the cache: ['d'], and nothing is downloaded",
        ),
        (
            FileNotFoundError("Dataset 'a/b' is a gated dataset on the Hub."),
            None, Unavailable, "its owner grants access on request: ask at https://huggingface.co/datasets/a/b ",
        ),
        (OSError("odd\nthing"), None, Unavailable, "OSError: odd thing;"),
    ],
    ids=["no configuration", "wrong configuration", "several in the cache", "script", "offline", "not in the cache", "gated", "other"],
)  # fmt: skip
def test_errors_of_the_hub_client_become_one_line(
    hub: list[Any], monkeypatch: pytest.MonkeyPatch, problem: Exception, config: str | None, kind: type[DataError], words: str
) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise problem

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(hub_fetch, "is_offline", lambda: "gated" not in str(problem))
    with pytest.raises(DataError) as caught:
        HubDataset(dataset="a/b", config=config).load()
    message = str(caught.value)
    assert type(caught.value) is kind
    assert words in message
    assert message.endswith("pass a local copy with `--task PATH` (a file, or a folder with train and validation files)")
    assert "\n" not in message


def test_the_cache_of_the_datasets_library_is_read_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    for config in ("cola", "sst2"):
        split(20).to_parquet(tmp_path / f"{config}.parquet")
        made = datasets.load_dataset("parquet", data_files={"train": str(tmp_path / f"{config}.parquet")}, cache_dir=str(tmp_path / config))
        made_in = Path(made["train"].cache_files[0]["filename"]).parent
        kept = tmp_path / "cache" / "owner___glue" / config / "0.0.0" / "abc"
        kept.mkdir(parents=True)
        shutil.copy(made_in / "parquet-train.arrow", kept / "glue-train.arrow")
        info = json.loads((made_in / "dataset_info.json").read_text()) | {"config_name": config, "dataset_name": "glue"}
        info["splits"]["train"]["dataset_name"] = "glue"
        (kept / "dataset_info.json").write_text(json.dumps(info))
    data = find_task("owner/glue:sst2@v2").load()
    assert (data.label_names, len(data.splits["train"])) == (tuple(NAMES), 16)
    assert data.notices == ("read offline from the cache, where revisions cannot be told apart",)
    with pytest.raises(DataError, match=r"several configurations \(cola, sst2\); name one, such as owner/glue:cola"):
        find_task("owner/glue").load()
    shutil.rmtree(tmp_path / "cache" / "owner___glue" / "cola")
    assert find_task("owner/glue").load().notices == ("the configuration is `sst2`",)


def test_plain_text_of_the_hub_has_the_same_form_of_name(hub: list[Any]) -> None:
    assert len(plain_text.read_paragraphs("owner/books:all@v1", column="sentence").train) == 18
    assert hub == [("owner/books", "all", None, "v1")]
    with pytest.raises(DataError, match=r"contains the configuration `all`, but objective\.config is few"):
        plain_text.read_paragraphs("owner/books:all", config="few")
