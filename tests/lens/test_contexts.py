"""One word in two contexts."""

import pytest
import torch

from regard.api import Translator
from regard.errors import ConfigError
from regard.lens.contexts import encoder_states, word_in_contexts
from regard.text.encoded import Encoded
from tests.models.architectures import tiny_model

FIRST, SECOND = "Jane aime le livre.", "Jane cherche le livre ici."


def test_the_same_context_is_the_same_vector(translator: Translator) -> None:
    found = word_in_contexts(
        translator.models[0], translator.tokenisers.source, FIRST, FIRST, "livre"
    )
    assert found.cosines == pytest.approx([1.0, 1.0], abs=1e-5)  # embedding, one layer


def test_before_the_first_layer_a_word_knows_only_itself_and_its_place(
    translator: Translator,
) -> None:
    model, tokeniser = translator.models[0], translator.tokenisers.source
    found = word_in_contexts(model, tokeniser, "Jane aime la gare.", "Jane voit la gare.", "Jane")
    assert found.cosines[0] == pytest.approx(1.0, abs=1e-5)
    assert found.cosines[1] < 0.9999
    assert found.to_json()["word"] == "Jane"


def test_the_last_state_is_what_the_decoder_is_given(translator: Translator) -> None:
    model, tokeniser = translator.models[0], translator.tokenisers.source
    text = tokeniser.encode(FIRST)
    states = encoder_states(model, tokeniser, text)
    assert states.shape == (2, len(text.ids) + 1, 32)
    source = torch.tensor([[*text.ids, tokeniser.eos]])
    with torch.no_grad():
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        norm = model.get_submodule("encoder.norm")  # pre-norm: one more after the last layer
        torch.testing.assert_close(norm(states[-1:].clone()), memory.states)


def test_a_word_that_is_not_there_is_named(translator: Translator) -> None:
    with pytest.raises(ConfigError, match=r'"Jane aime le livre\." has no word bank; it has: Jane'):
        word_in_contexts(translator.models[0], translator.tokenisers.source, FIRST, SECOND, "bank")


def test_a_word_without_a_piece_of_its_own_is_named(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that reaches over several words belongs to the first."""
    tokeniser = translator.tokenisers.source
    whole = Encoded("un livre", (4,), ("un livre",), ((0, 8),))
    monkeypatch.setattr(tokeniser, "encode", lambda text: whole)
    assert word_in_contexts(translator.models[0], tokeniser, whole.text, whole.text, "un")
    with pytest.raises(ConfigError, match=r"^livre: no piece of the sentence is its own"):
        word_in_contexts(translator.models[0], tokeniser, whole.text, whole.text, "livre")


@pytest.mark.parametrize("sentences", [(FIRST, f"{FIRST} {SECOND}"), (f"{FIRST} {SECOND}", FIRST)])
def test_a_sentence_that_is_too_long_is_refused(
    translator: Translator, sentences: tuple[str, str]
) -> None:
    model, tokeniser = translator.models[0], translator.tokenisers.source
    longest = max(len(tokeniser.encode(text).ids) for text in sentences)
    assert word_in_contexts(model, tokeniser, *sentences, "livre", max_pieces=longest)
    with pytest.raises(ConfigError, match=f"has {longest} pieces, and the model takes"):
        word_in_contexts(model, tokeniser, *sentences, "livre", max_pieces=longest - 1)


@pytest.mark.parametrize("name", ["seq2seq-lstm", "bahdanau", "luong", "gnmt"])
def test_a_recurrent_encoder_is_said_to_be_no_stack(translator: Translator, name: str) -> None:
    text = Encoded("a b", (4, 5), ("a", "b"), ((0, 1), (1, 3)))
    with pytest.raises(ConfigError, match="encoder is no stack of layers"):
        encoder_states(tiny_model(name), translator.tokenisers.source, text)
