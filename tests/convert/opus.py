"""A folder like those of the OPUS-MT models: two SentencePiece models, one vocabulary."""

import io
import json
from pathlib import Path
from typing import Any

import sentencepiece

from .parcels import ENGLISH, FRENCH, sentences

VOCABULARY_SIZE = 50

# What transformers.MarianConfig needs to describe the model.
OPUS: dict[str, Any] = {
    "vocab_size": VOCABULARY_SIZE,
    "d_model": 24,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "activation_function": "swish",
    "max_position_embeddings": 64,
    "scale_embedding": True,
    "pad_token_id": VOCABULARY_SIZE - 1,
    "decoder_start_token_id": VOCABULARY_SIZE - 1,
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
}


def write_opus(folder: Path) -> Path:
    """Write its tokenisers and nothing else: SentencePiece's own ids and normalisation.

    Some pieces are missing in the vocabulary, as rare ones are there.
    """
    folder.mkdir()
    pieces: dict[str, None] = {"</s>": None, "<unk>": None, ">>en<<": None}
    for side, words in (("source", FRENCH), ("target", ENGLISH)):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(sentences(words, 100)),
            model_writer=model,
            model_type="unigram",
            vocab_size=60,
            hard_vocab_limit=False,
            minloglevel=5,
        )
        (folder / f"{side}.spm").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(model.getvalue())
        pieces |= dict.fromkeys(processor.IdToPiece(id) for id in range(3, len(processor)))
    kept = [*list(pieces)[: VOCABULARY_SIZE - 1], "<pad>"]
    assert len(kept) == VOCABULARY_SIZE < len(pieces), "too few pieces for some to be missing"
    ids = {piece: id for id, piece in enumerate(kept)}
    (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    settings = {"source_lang": "fr", "target_lang": "en"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return folder
