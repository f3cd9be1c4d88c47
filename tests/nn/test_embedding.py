"""Embeddings: their scale, and vectors from elsewhere."""

import pytest
import torch

from regard.errors import ConfigError
from regard.nn.embedding import Embedding, load_pretrained


def test_an_embedded_token_is_its_row_times_the_root_of_the_width() -> None:
    embedding = Embedding(5, 16)
    tokens = torch.tensor([[3, 1]])
    torch.testing.assert_close(embedding(tokens), 4 * embedding.weight[[3, 1]].unsqueeze(0))


def test_embedded_tokens_start_with_unit_variance() -> None:
    torch.manual_seed(0)
    embedded = Embedding(2000, 64)(torch.arange(2000))
    assert embedded.var().item() == pytest.approx(1.0, abs=0.02)


def test_a_known_piece_is_embedded_as_its_pretrained_vector() -> None:
    embedding = Embedding(3, 4)
    vector = torch.tensor([1.0, -2.0, 3.0, 0.5])
    load_pretrained(embedding, {"cat": vector}, ["<pad>", "cat", "dog"])
    torch.testing.assert_close(embedding(torch.tensor(1)), vector)


def test_an_unknown_piece_keeps_its_random_vector() -> None:
    embedding = Embedding(3, 4)
    before = embedding.weight.detach().clone()
    load_pretrained(embedding, {"cat": torch.ones(4)}, ["<pad>", "cat", "dog"])
    assert torch.equal(embedding.weight[[0, 2]], before[[0, 2]])


def test_the_number_of_pieces_found_is_returned() -> None:
    vectors = {"cat": torch.ones(4), "dog": torch.ones(4), "cow": torch.ones(4)}
    assert load_pretrained(Embedding(3, 4), vectors, ["<pad>", "cat", "dog"]) == 2


def test_pretrained_vectors_are_trained_on() -> None:
    embedding = Embedding(2, 4)
    load_pretrained(embedding, {"cat": torch.ones(4)}, ["cat", "dog"])
    embedding(torch.tensor([0])).sum().backward()
    assert embedding.weight.grad is not None and (embedding.weight.grad[0] == 2).all()


def test_vectors_of_another_width_are_refused_with_both_numbers() -> None:
    message = r"the pretrained vector of 'cat' has width 3, model.d_model is 4; make them equal"
    with pytest.raises(ConfigError, match=message):
        load_pretrained(Embedding(2, 4), {"cat": torch.ones(3)}, ["cat", "dog"])
