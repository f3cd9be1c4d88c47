"""`/attend` sends where the model looked: packed to be drawn, exact on request."""

import base64
import zlib
from typing import Any

import numpy as np
import pytest

from regard.api import Translator
from tests.serve.running import Running, running

SENTENCE = "Jane visite l'Afrique en septembre."


def unpack(packed: str, shape: list[int]) -> Any:
    """What a browser does."""
    raw = zlib.decompress(base64.b64decode(packed))
    num_rows = int(np.prod(shape[:-1]))
    largest = np.frombuffer(raw[: 4 * num_rows], "<f4")
    bytes_ = np.frombuffer(raw[4 * num_rows :], np.uint8).reshape(num_rows, shape[-1])
    return (bytes_ / 255 * largest[:, None]).reshape(shape)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_weights_are_those_of_a_notebook(
    server: Running, translator: Translator, beam: int
) -> None:
    reply = server.post("/attend", q=SENTENCE, beam=beam, floats=True)
    assert reply.status == 200, reply.content
    (found,) = reply.json["sentences"]
    (expected,) = translator.translate(SENTENCE, attention=True, beam=beam).sentences
    assert expected.attention is not None
    assert found["text"] == reply.json["text"] == expected.text
    assert found["floats"]["source"] == list(expected.attention.source)
    for kind, weights in expected.attention.weights.items():
        exact = weights.numpy()
        np.testing.assert_allclose(found["floats"]["weights"][kind], exact, atol=1e-5)
        packed = found["attention"]["kinds"][kind]
        assert packed["shape"] == list(exact.shape)
        np.testing.assert_allclose(unpack(packed["weights"], packed["shape"]), exact, atol=1 / 500)


def test_every_sentence_has_a_record_and_an_alignment(server: Running) -> None:
    reply = server.post("/attend", q=f"{SENTENCE} Elle aime la gare.").json
    assert [each["source"] for each in reply["sentences"]] == [SENTENCE, "Elle aime la gare."]
    for each in reply["sentences"]:
        assert "floats" not in each
        assert len(each["alignment"]) == len(each["words"])
        assert each["attention"]["model"] == "mine"


def test_nothing_was_looked_at_in_an_empty_text(server: Running) -> None:
    assert server.post("/attend", q=" ").json == {"text": "", "model": "mine", "sentences": []}


def test_long_texts_and_many_floats_are_refused(
    server: Running, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = server.post("/attend", q="a" * 2_001)
    assert (long.status, long.json["error"]) == (413, "q: 2,001 characters; at most 2,000 at once")
    monkeypatch.setattr("regard.serve.looking.MAX_FLOATS", 100)
    many = server.post("/attend", q=SENTENCE, floats=True)
    assert many.status == 413 and "at most 100 are written out" in many.json["error"]


def test_watched_requests_share_batches_with_their_like_only(translator: Translator) -> None:
    with running({"mine": translator}) as server:
        plain = server.post("/translate", q=SENTENCE).json["translatedText"]
        assert server.post("/attend", q=SENTENCE).json["text"] == plain
        assert server.worker.tally.batches == 2
