"""A shortlist takes words away, from each sentence its own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.align.aligner import train_direction
from regard.align.training import say_nothing
from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials
from regard.decoding.search import decode_batch
from regard.decoding.shortlist import Shortlist, decode_narrowly
from regard.decoding.stepper import Ensemble, ModelStepper, Stepper
from regard.errors import ConfigError, ModelFileError
from regard.text.pair import TokeniserPair
from regard.text.words import Words
from tests.models.architectures import BOS, EOS, PAD, VOCABULARY, tiny_model

SPECIALS = Specials(PAD, BOS, EOS)
SOURCES: list[list[int]] = [[4, 9, 5, 7], [11], [6, 6, 12, 8, 10, 4, 7], [5, 7]]
BEAM = DecodingConfig(beam=4, n_best=4, max_ratio=1.0, max_extra=3)
METHODS = {
    "greedy": replace(BEAM, beam=1, n_best=1),
    "beam": BEAM,
    "sample": replace(BEAM, sample=True, n_best=1),
}


def asked(sources: list[list[int]], numbers: list[int], prefix: tuple[int, ...] = ()) -> Request:
    limits = [BEAM.max_length(len(source) + 1) for source in sources]
    return Request.pad(sources, limits, [prefix] * len(sources), numbers, SPECIALS)


def shortlist(*, everything: bool = False) -> Shortlist:
    """Each source token may become itself and the next two, or anything."""
    own = [
        list(range(VOCABULARY))
        if everything
        else [4 + (s + i) % (VOCABULARY - 4) for i in range(3)]
        for s in range(VOCABULARY)
    ]
    begins = np.cumsum([0, *map(len, own)], dtype=np.int64)
    flat = np.array([token for tokens in own for token in tokens], np.int64)
    return Shortlist(np.array([1, EOS]), begins, flat, "fingerprint")


def outputs(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]


@pytest.fixture(params=["model", "ensemble"])
def stepper(request: pytest.FixtureRequest) -> Stepper:
    first = ModelStepper(tiny_model("transformer", sharpness=3.0))
    if request.param == "model":
        return first
    return Ensemble([first, ModelStepper(tiny_model("transformer-pre-norm", seed=1))])


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_shortlist_of_everything_changes_nothing(stepper: Stepper, method: str) -> None:
    config = METHODS[method]
    request = asked(SOURCES, [0, 1, 2, 3])
    whole = decode_batch(stepper, request, SPECIALS, config)
    narrow = decode_narrowly(stepper, request, SPECIALS, config, shortlist(everything=True))
    assert outputs(whole) == outputs(narrow)
    for one, other in zip(whole, narrow, strict=True):
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


@pytest.mark.parametrize("name", ["transformer", "luong"])
def test_a_shortlist_serves_under_autocast(name: str) -> None:
    stepper = ModelStepper(tiny_model(name, sharpness=3.0))
    request = asked(SOURCES, [0, 1, 2, 3])
    with torch.autocast("cpu", torch.bfloat16):
        found = decode_narrowly(stepper, request, SPECIALS, BEAM, shortlist())
    assert all(hypotheses for hypotheses in found)


@pytest.mark.parametrize("config", METHODS.values(), ids=METHODS)
def test_a_sentence_does_not_depend_on_its_neighbours(
    stepper: Stepper, config: DecodingConfig
) -> None:
    together = decode_narrowly(stepper, asked(SOURCES, [0, 1, 2, 3]), SPECIALS, config, shortlist())
    alone = [
        decode_narrowly(stepper, asked([source], [n]), SPECIALS, config, shortlist())[0]
        for n, source in enumerate(SOURCES)
    ]
    assert outputs(together) == outputs(alone)
    for one, other in zip(together, alone, strict=True):
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)


def test_only_candidates_come(stepper: Stepper) -> None:
    found = decode_narrowly(stepper, asked(SOURCES, [0, 1, 2, 3]), SPECIALS, BEAM, shortlist())
    for source, hypotheses in zip(SOURCES, found, strict=True):
        allowed = set(shortlist().of([*source, EOS]).tolist())
        assert all(set(hypothesis.tokens) <= allowed for hypothesis in hypotheses)


def test_a_forced_beginning_need_not_be_a_candidate(stepper: Stepper) -> None:
    assert 12 not in shortlist().of([4])
    ((best, *_),) = decode_narrowly(stepper, asked([[4]], [0], (12,)), SPECIALS, BEAM, shortlist())
    assert best.tokens[0] == 12


TOKENISERS = TokeniserPair(*(Words([f" {c}{n}" for n in range(6)]) for c in "ab"))


def learned(best: int = 1, frequent: int = 2) -> Shortlist:
    """From sentences of which word n always becomes word n, and word 9 comes often."""
    dice = np.random.default_rng(0)
    sources = [(4 + dice.permutation(5)[:3]).tolist() for _ in range(60)]
    targets = [[*source, 9, 9] for source in sources]
    names = [[[str(id) for id in ids] for ids in side] for side in (sources, targets)]
    lexicon = train_direction(names[0], names[1], "model1", say_nothing).lexicon
    return Shortlist.learned(lexicon, targets, TOKENISERS, best=best, frequent=frequent)


def test_a_shortlist_is_learned_from_sentence_pairs() -> None:
    found = learned()
    assert 9 in found.frequent
    for word in range(4, 9):
        assert word in found.of([word])


def test_a_shortlist_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = learned()
    found.save(tmp_path / "list")
    again = Shortlist.load(tmp_path / "list")
    again.check(TOKENISERS, tmp_path / "list")
    assert again.fingerprint == found.fingerprint
    for one, other in zip(
        (found.frequent, found.begins, found.candidates),
        (again.frequent, again.begins, again.candidates),
        strict=True,
    ):
        assert np.array_equal(one, other)


def test_a_shortlist_of_other_tokens_is_refused(tmp_path: Path) -> None:
    other = TokeniserPair(TOKENISERS.target, TOKENISERS.source)
    with pytest.raises(ConfigError, match="cuts text differently"):
        learned().check(other, tmp_path / "list")


def test_what_is_no_shortlist_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("words")
    with pytest.raises(ModelFileError, match="safetensors"):
        Shortlist.load(tmp_path / "list")
    broken = learned()
    replace(broken, begins=broken.begins + 1).save(tmp_path / "broken")
    with pytest.raises(ModelFileError, match="contradict"):
        Shortlist.load(tmp_path / "broken")
    from safetensors.torch import save_file

    save_file({"weights": torch.zeros(3)}, tmp_path / "weights")
    with pytest.raises(ModelFileError, match="not a shortlist"):
        Shortlist.load(tmp_path / "weights")
