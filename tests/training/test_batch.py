import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.families import FAMILIES

from ticketlab.backbone.loading import load_tokenizer
from ticketlab.tasks.base import Example
from ticketlab.training.batch import TokenizedRows, tokenize


def rows_of(lengths: list[int]) -> TokenizedRows:
    return TokenizedRows([[7] * length for length in lengths], None, [index % 2 for index in range(len(lengths))], pad_id=0, truncated=0)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=400), st.integers(1, 33), st.integers(0, 5), st.integers(0, 3))
@settings(max_examples=60)
def test_an_epoch_shows_every_row_once_in_the_same_order_for_the_same_seed(lengths, size, seed, epoch):
    rows = rows_of(lengths)
    batches = rows.epoch(size, seed, epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert all(len(batch) <= size for batch in batches)
    assert len(batches) == -(-len(lengths) // size)
    assert batches == rows.epoch(size, seed, epoch)


def test_each_seed_and_epoch_has_its_own_order():
    rows = rows_of([5] * 200)
    orders = [rows.epoch(8, seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert all(orders[i] != orders[j] for i in range(4) for j in range(i))


def test_a_label_sorted_set_is_mixed():
    rows = TokenizedRows([[7]] * 400, None, [0] * 200 + [1] * 200, 0, 0)
    shares = [sum(rows.labels[index] for index in batch) / len(batch) for batch in rows.epoch(32, 0, 0)]
    assert all(0.1 < share < 0.9 for share in shares if share is not shares[-1])


def test_rows_are_padded_to_the_longest_of_their_batch_rounded_up():
    lengths = {1: 4, 4: 4, 5: 8, 9: 12}
    rows = rows_of([*lengths, 12])
    assert {len(rows.input_ids[index]): rows.collate([index]).input_ids.shape[1] for index in range(4)} == lengths


def test_no_batch_is_longer_than_the_longest_row_of_all():
    assert rows_of([3, 9]).collate([0, 1]).input_ids.shape[1] == 9


def test_padding_is_masked():
    batch = rows_of([2, 4, 9]).collate([0, 1])
    assert batch.input_ids.tolist() == [[7, 7, 0, 0], [7, 7, 7, 7]]
    assert batch.attention_mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert batch.labels.tolist() == [0, 1]


def test_sorting_by_length_saves_padding():
    lengths = [1 + (index * 37) % 60 for index in range(1600)]
    rows = rows_of(lengths)
    padded = sum(rows.collate(batch).input_ids.numel() for batch in rows.epoch(16, 0, 0))
    assert padded < 1.1 * sum(lengths)


@pytest.mark.parametrize("family", FAMILIES)
def test_long_rows_are_cut_off_and_counted(tiny, family):
    tokenizer = load_tokenizer(str(tiny[family]))
    examples = [Example("a", ("good film",), 0), Example("b", ("good film " * 2500,), 1)]
    rows = tokenize(examples, tokenizer, 16)
    assert rows.truncated == 1
    assert max(len(ids) for ids in rows.input_ids) == 16
    assert len(rows.input_ids[0]) < 16


def test_pairs_keep_their_segments(tiny):
    tokenizer = load_tokenizer(str(tiny["bert"]))
    rows = tokenize([Example("a", ("a good film", "a bad film"), 0)], tokenizer, 64)
    batch = rows.collate([0])
    assert batch.token_type_ids is not None
    assert set(batch.token_type_ids[0].tolist()) == {0, 1}


def test_families_without_segments_have_none(tiny):
    rows = tokenize([Example("a", ("a good film", "a bad film"), 0)], load_tokenizer(str(tiny["distilbert"])), 64)
    assert rows.collate([0]).token_type_ids is None


def test_moving_a_batch_keeps_its_contents():
    batch = rows_of([2, 3]).collate([0, 1])
    assert torch.equal(batch.to(torch.device("cpu")).input_ids, batch.input_ids)


def test_no_row_is_longer_than_the_models_maximum(tiny):
    tokenizer = load_tokenizer(str(tiny["bert"]))
    rows = tokenize([Example("b", ("good film " * 2500,), 1)], tokenizer, 5000)
    assert len(rows.input_ids[0]) == tokenizer.model_max_length
    assert rows.truncated == 1
