"""CTranslate2: the same search finds the same sentences with the same scores."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.convert.ctranslate import write_ctranslate2
from regard.convert.parcel import Parcel
from regard.errors import ConfigError
from regard.text.config import TextConfig
from regard.text.pair import TokeniserPair
from regard.text.train import train_tokenisers

from .parcels import (
    BEAM,
    best_of,
    logits_of,
    random_copies,
    random_parcel,
)

TOLERANCE = 1e-4

SHAPES: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm": {"norm_place": "pre"},
    "target shared": {"share_embeddings": "target"},
    "nothing shared": {"share_embeddings": "none", "output_bias": True},
    "gelu": {"activation": "gelu"},
    "swish": {"activation": "swish"},
    "learned positions": {"position": "learned"},
    "integers as positions": {"position": "integer"},
    "bag of words": {"position": "none"},
}


def their_scores(
    ctranslate2: Any,
    folder: Path,
    parcel: Parcel,
    sources: list[list[int]],
    targets: list[list[int]],
) -> list[list[float]]:
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    pieces = [[parcel.tokenisers.source.piece(id) for id in ids] for ids in sources]
    wanted = [[parcel.tokenisers.target.piece(id) for id in ids] for ids in targets]
    return [list(found.log_probs) for found in translator.score_batch(pieces, wanted)]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_ctranslate2_gives_a_sentence_the_same_probabilities(
    ctranslate2: Any, joint: TokeniserPair, tmp_path: Path, shape: dict[str, Any]
) -> None:
    parcel = random_parcel(joint, **shape)
    write_ctranslate2(parcel, tmp_path / "ct2")
    sources = random_copies(3, 9, seed=1).tolist()
    targets = random_copies(3, 7, seed=2).tolist()
    ours = [forced_log_probs(parcel, s, t) for s, t in zip(sources, targets, strict=True)]
    theirs = their_scores(ctranslate2, tmp_path / "ct2", parcel, sources, targets)
    for found, expected in zip(theirs, ours, strict=True):
        assert found == pytest.approx(expected, abs=TOLERANCE)


def forced_log_probs(parcel: Parcel, source: list[int], target: list[int]) -> list[float]:
    end, start = parcel.tokenisers.target.eos, parcel.tokenisers.target.bos
    logits = logits_of(parcel, torch.tensor([[*source, end]]), torch.tensor([[start, *target]]))
    chosen = torch.tensor([*target, end])
    log_probs: list[float] = logits[0].log_softmax(-1)[range(len(chosen)), chosen].tolist()
    return log_probs


@pytest.mark.parametrize("place", ["pre_norm", "post_norm"])
def test_ctranslate2_searches_as_regard_does(
    ctranslate2: Any, place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    parcel: Parcel = request.getfixturevalue(place)
    source, target = parcel.tokenisers.source, parcel.tokenisers.target
    sources = [row for n in range(1, 6) for row in random_copies(6, n, seed=-n).tolist()]
    ours = best_of(parcel, sources)
    write_ctranslate2(parcel, tmp_path / "ct2")
    translator = ctranslate2.Translator(
        str(tmp_path / "ct2"), compute_type="float32", intra_threads=1
    )
    theirs = translator.translate_batch(
        [[source.piece(id) for id in ids] for ids in sources],
        beam_size=BEAM.beam,
        length_penalty=BEAM.alpha,
        min_decoding_length=0,
        return_scores=True,
    )
    for found, hypothesis in zip(theirs, ours, strict=True):
        assert found.hypotheses[0] == [target.piece(id) for id in hypothesis.tokens]
        assert found.scores[0] == pytest.approx(hypothesis.score, abs=TOLERANCE)


def test_the_sentencepiece_models_lie_beside_the_weights(
    ctranslate2: Any, apart: TokeniserPair, tmp_path: Path
) -> None:
    write_ctranslate2(random_parcel(apart, share_embeddings="target"), tmp_path / "ct2")
    assert (tmp_path / "ct2" / "source.spm").read_bytes() == apart.source.to_bytes()
    assert (tmp_path / "ct2" / "target.spm").read_bytes() == apart.target.to_bytes()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"norm": "batch"}, 'model.norm = "batch": CTranslate2 knows only "layer"'),
        (
            {"position": "fraction"},
            'model.position = "fraction" depends on the length of a sentence; '
            "CTranslate2 knows only tables",
        ),
    ],
)
def test_what_ctranslate2_has_not_is_refused(
    ctranslate2: Any, joint: TokeniserPair, tmp_path: Path, shape: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        write_ctranslate2(random_parcel(joint, **shape), tmp_path / "ct2")
    assert str(error.value) == message
    assert not (tmp_path / "ct2").exists()


def test_pieces_that_read_alike_are_refused(ctranslate2: Any, tmp_path: Path) -> None:
    # The words of the second text are those of the first with their space made visible.
    config = TextConfig(kind="characters", vocab_size=20)
    words = train_tokenisers(config, ["a b"], ["a▁b"])
    with pytest.raises(ConfigError, match="two pieces of the vocabulary read '▁'"):
        write_ctranslate2(random_parcel(words), tmp_path / "ct2")


def test_without_ctranslate2_its_extra_is_named(
    joint: TokeniserPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(ConfigError, match=r'pip install "regard\[convert\]"'):
        write_ctranslate2(random_parcel(joint), tmp_path / "ct2")
