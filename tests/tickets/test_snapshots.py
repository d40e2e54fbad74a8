"""Mask snapshots: their file, and the distances between them."""

import pytest
import torch

from ticketlab.core.errors import UsageError
from ticketlab.tickets.snapshots import load_masks, pack, packed_size, pairwise_distances, save_masks


def mask(text: str) -> torch.Tensor:
    return torch.tensor([unit == "1" for unit in text])


def test_masks_are_read_as_they_were_written_and_by_ascending_step(tmp_path):
    generator = torch.Generator().manual_seed(0)
    shapes = {"weights/query": (3, 7), "weights/key": (5, 5), "heads/0": (4,)}
    masks = {step: {name: torch.rand(shape, generator=generator) < 0.5 for name, shape in shapes.items()} for step in (100, 20, 3)}
    path = tmp_path / "masks.safetensors"
    save_masks(masks, path)
    found = load_masks(path)
    assert list(found) == [3, 20, 100]
    assert all(torch.equal(found[step][name], masks[step][name]) for step in masks for name in shapes)
    assert [list(of_step) for of_step in found.values()] == [list(shapes)] * 3
    assert packed_size(shapes) == 3 + 4 + 1 == sum(len(packed) for packed in pack(masks[3]).values())


def test_distances_are_the_share_of_units_that_differ_between_each_two_snapshots():
    """Heads: 10|1 to 11|0 differ in 2 of 3. Neurons: 1100|11, 0101|11 and 0011|01 differ in 2, 5 and 3 of 6."""
    masks = {
        5: {"heads/0": mask("10"), "heads/1": mask("1"), "neurons/0": mask("1100"), "neurons/1": mask("11")},
        10: {"heads/0": mask("11"), "heads/1": mask("0"), "neurons/0": mask("0101"), "neurons/1": mask("11")},
        15: {"heads/0": mask("10"), "heads/1": mask("1"), "neurons/0": mask("0011"), "neurons/1": mask("01")},
    }
    found = pairwise_distances(masks)
    assert set(found) == {"heads", "neurons"}
    assert found["heads"].tolist() == [[0, 2 / 3, 0], [2 / 3, 0, 2 / 3], [0, 2 / 3, 0]]
    assert found["neurons"].tolist() == [[0, 2 / 6, 5 / 6], [2 / 6, 0, 3 / 6], [5 / 6, 3 / 6, 0]]


def test_other_files_are_refused_by_name(tmp_path):
    from safetensors.torch import save_file

    other = tmp_path / "scores.safetensors"
    save_file({"heads/0": torch.ones(2)}, other)
    for path, message in ((other, "not a file of masks"), (tmp_path / "none", "there is no such file")):
        with pytest.raises(UsageError, match=f"{path.name}: {message}"):
            load_masks(path)


@pytest.mark.parametrize(
    ("header", "tensors", "message"),
    [
        ('{"format": 2, "shapes": {"heads/0": [4]}}', {"1/heads/0": [240]}, "format 2"),
        ('{"format": 1, "shapes": {"heads/0": [9]}}', {"1/heads/0": [240]}, "does not fit its shape"),
        ('{"format": 1, "shapes": {"heads/0": [4]}}', {"1/heads/1": [240]}, "heads/1"),
        ('{"format": 1, "shapes": {"heads/0": [4], "heads/1": [4]}}', {"1/heads/0": [240]}, "masks are missing"),
        ('{"format": 1, "shapes": {"heads/0": [4]}}', {"one/heads/0": [240]}, "invalid literal"),
        ("[]", {"1/heads/0": [240]}, "damaged"),
    ],
    ids=["newer", "shape", "unknown", "missing", "step", "header"],
)
def test_a_damaged_file_is_an_error(tmp_path, header, tensors, message):
    from safetensors.torch import save_file

    path = tmp_path / "masks.safetensors"
    save_file({name: torch.tensor(value, dtype=torch.uint8) for name, value in tensors.items()}, path, metadata={"ticketlab": header})
    with pytest.raises(UsageError, match=message):
        load_masks(path)
