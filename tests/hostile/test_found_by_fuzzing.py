"""What tests/fuzz found, one test each."""

import base64
import json
from pathlib import Path

import pytest

from regard.errors import ModelFileError
from regard.text.pair import INDEX, TokeniserPair
from regard.text.sentencepieces import SentencePieces


def test_an_imported_tokeniser_with_a_piece_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """SentencePiece's own message then quotes the piece, and Python cannot decode the message."""
    model = SentencePieces.train(["gare livre"] * 9, "bpe", vocab_size=270).to_bytes()
    file = {
        "specials": {"pad": 0, "unk": 2, "start": 0, "eos": 1},
        "vocabulary": ["<pad>", "</s>", "<unk>"],
        "sentencepiece": base64.b64encode(model.replace(b"<unk>", b"<un\xff>")).decode(),
    }
    settings = {"kind": "marian", "joint": True, "sampling": 0.0, "normalise": "none"}
    (tmp_path / INDEX).write_text(json.dumps(settings), "utf-8")
    (tmp_path / "joint.json").write_text(json.dumps(file), "utf-8")
    with pytest.raises(ModelFileError, match=r"joint\.json: not a SentencePiece model"):
        TokeniserPair.load(tmp_path)
