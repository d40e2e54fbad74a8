from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ticketlab.stages import predictions

LABELS = ("yes", "no")


def row(name: str, predicted: str | None = "yes") -> dict[str, Any]:
    head = {"id": name, "set": "", "split": "test", "label": "yes", "predicted": predicted}
    return {**head, "probability_yes": 0.75, "probability_no": 0.25}


def test_a_prediction_is_a_row_with_a_column_for_each_label(tmp_path: Path) -> None:
    predictions.write(tmp_path / "p.parquet", [row("a"), row("b", None)], LABELS)
    assert pq.read_table(tmp_path / "p.parquet").to_pylist() == [row("a"), row("b", None)]


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        predictions.write(tmp_path / name, [row(str(number)) for number in range(100)], LABELS)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_predictions_of_no_example_have_the_columns(tmp_path: Path) -> None:
    predictions.write(tmp_path / "p.parquet", [], LABELS)
    assert pq.read_table(tmp_path / "p.parquet").column_names == list(row("a"))


@pytest.mark.parametrize("odd", ["\udc80", "\0", "a\nb", "İ"], ids=ascii)
def test_ids_may_be_any_text(tmp_path: Path, odd: str) -> None:
    predictions.write(tmp_path / "p.parquet", [row(odd)], LABELS)
    (found,) = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert found["id"] == odd.encode(errors="backslashreplace").decode()
