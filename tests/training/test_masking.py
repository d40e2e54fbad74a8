import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketlab.backbone.loading import load_tokenizer
from ticketlab.training.batch import Batch
from ticketlab.training.masking import NOT_MASKED, MaskingVocabulary, mask

SPECIAL = [0, 1, 2, 3, 4]
VOCABULARY = MaskingVocabulary(4, torch.tensor([index in SPECIAL for index in range(200)]), torch.arange(5, 200))


def batch_of(lengths: list[int], seed: int = 0) -> Batch:
    """Rows of [CLS] words [SEP], padded."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(lengths) + 2
    ids = torch.zeros(len(lengths), longest, dtype=torch.long)
    attention = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        ids[row, : length + 2] = torch.cat([torch.tensor([2]), torch.randint(5, 200, (length,), generator=generator), torch.tensor([3])])
        attention[row, : length + 2] = 1
    return Batch(ids, attention, None, torch.zeros(len(lengths), dtype=torch.long))


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.floats(0.01, 1.0), st.integers(0, 2**40))
@settings(max_examples=80)
def test_only_words_are_chosen_and_at_least_one_of_each_row_that_has_any(lengths, ratio, seed):
    plain = batch_of(lengths)
    masked = mask(plain, VOCABULARY, ratio, seed)
    chosen = masked.labels != NOT_MASKED
    special = VOCABULARY.special[plain.input_ids]
    assert not bool((chosen & special).any())
    assert chosen.sum(dim=1).ge(1).tolist() == [length > 0 for length in lengths]
    assert torch.equal(masked.labels[chosen], plain.input_ids[chosen])
    assert torch.equal(masked.input_ids[~chosen], plain.input_ids[~chosen])
    assert torch.equal(masked.attention_mask, plain.attention_mask)
    shown = masked.input_ids[chosen]
    assert bool(((shown == VOCABULARY.mask_id) | ~VOCABULARY.special[shown]).all())


def test_positions_are_chosen_at_the_configured_ratio_and_replaced_in_three_ways():
    plain = batch_of([500] * 200)
    masked = mask(plain, VOCABULARY, 0.15, 1)
    chosen = masked.labels != NOT_MASKED
    count = int(chosen.sum())
    assert count / (500 * 200) == pytest.approx(0.15, abs=0.005)
    shown, there = masked.input_ids[chosen], plain.input_ids[chosen]
    hidden, kept = int((shown == VOCABULARY.mask_id).sum()), int((shown == there).sum())
    assert hidden / count == pytest.approx(0.8, abs=0.01)
    assert kept / count == pytest.approx(0.1 + 0.1 / 195, abs=0.01)
    random_words = shown[(shown != VOCABULARY.mask_id) & (shown != there)]
    assert len(random_words.unique()) > 190, "any word of the vocabulary may stand there"


def test_masks_depend_on_the_seed():
    plain = batch_of([20] * 8)
    one, again, other = (mask(plain, VOCABULARY, 0.15, seed) for seed in (1, 1, 2))
    assert torch.equal(one.labels, again.labels)
    assert torch.equal(one.input_ids, again.input_ids)
    assert not torch.equal(one.labels, other.labels)


def test_masking_does_not_change_the_global_random_state():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    mask(batch_of([9, 4]), VOCABULARY, 0.15, 1)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_vocabulary_of_a_tokenizer_has_no_special_token_among_its_words(tiny, family):
    tokenizer = load_tokenizer(str(tiny[family]))
    vocabulary = MaskingVocabulary.of(tokenizer, len(tokenizer) + 7)  # some models have more embeddings than there are tokens
    assert not set(vocabulary.words.tolist()) & set(tokenizer.all_special_ids)
    assert len(vocabulary.words) == len(tokenizer) - len(set(tokenizer.all_special_ids))
    assert vocabulary.mask_id == tokenizer.mask_token_id
