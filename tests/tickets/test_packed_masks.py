import pytest
import torch

from ticketlab.tickets.comparison import PackedMasks, overlap
from ticketlab.tickets.ticket import Ticket


def packed(seed, structure="s", sizes=(7, 13)):
    generator = torch.Generator().manual_seed(seed)
    masks = {f"neurons/{layer}": torch.rand(size, generator=generator) < 0.6 for layer, size in enumerate(sizes)}
    masks |= {"heads/0": torch.tensor([True, seed % 2 == 0, False])}
    return masks, PackedMasks.of(Ticket(masks, structure, "f", "r"))


def test_packed_masks_have_the_jaccard_index_of_the_masks():
    (one, packed_one), (other, packed_other) = packed(0), packed(1)
    expected = overlap(one, other)
    assert packed_one.groups == ("heads", "neurons")
    assert packed_one.jaccard(packed_other, "heads") == expected["heads"].jaccard == 0.5
    assert packed_one.jaccard(packed_other, "neurons") == expected["neurons"].jaccard
    assert packed_one.jaccard(packed_one, "neurons") == 1
    assert packed_one.kept_share("heads") == pytest.approx(2 / 3)


@pytest.mark.parametrize("other", [packed(1, structure="t"), packed(1, sizes=(8, 12))], ids=["structure", "sizes"])
def test_tickets_of_other_units_cannot_be_compared(other):
    assert packed(0)[1].jaccard(other[1], "neurons") is None


def test_a_group_that_a_ticket_does_not_mask_has_no_index():
    assert packed(0)[1].jaccard(packed(1)[1], "weights") is None


def test_two_masks_that_keep_nothing_are_equal():
    nothing = PackedMasks.of(Ticket({"heads/0": torch.zeros(3, dtype=torch.bool)}, "s", "f", "r"))
    assert nothing.jaccard(nothing, "heads") == 1
