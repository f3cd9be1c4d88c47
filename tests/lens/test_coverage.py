"""The coverage penalty of GNMT, by hand and in a real search."""

import math

import pytest
import torch

from regard.api import Translator
from regard.decoding.hypothesis import Hypothesis
from regard.errors import ConfigError
from regard.lens.capture import Capture
from regard.lens.coverage import LEAST, coverage_penalty, rank_by_coverage
from regard.lens.record import AttentionRecord


@pytest.mark.parametrize(
    ("weights", "penalty"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], 0.0),
        ([[0.5, 0.5]], 2 * math.log(0.5)),
        ([[0.75, 0.25], [0.75, 0.25]], math.log(0.5)),  # beyond 1 counts as 1
        ([[1.0, 0.0]], math.log(LEAST)),
    ],
)
def test_the_penalty_is_the_papers(weights: list[list[float]], penalty: float) -> None:
    assert coverage_penalty(torch.tensor(weights), 1.0) == pytest.approx(penalty)
    assert coverage_penalty(torch.tensor(weights), 0.2) == pytest.approx(0.2 * penalty)


def captured(*steps: list[list[float]]) -> Capture:
    """Cross-attention of one sentence: for each step, its hypotheses' weights."""
    return Capture({"decoder.cross_attention": [torch.tensor(rows)[None, None] for rows in steps]})


def test_the_hypothesis_that_left_something_out_falls_behind() -> None:
    seen = captured([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    lazy = Hypothesis((4,), -1.0, (-0.5, -0.5), rows=(0, 0))
    thorough = Hypothesis((5,), -1.5, (-0.5, -1.0), rows=(1, 1))
    found = rank_by_coverage([lazy, thorough], [seen], num_source=2, beta=1.0)
    assert [h.tokens for h in found] == [(5,), (4,)]
    assert found[0].score == pytest.approx(-1.5)
    assert found[1].score == pytest.approx(-1.0 + math.log(LEAST))


def test_a_model_without_attention_cannot_be_ranked() -> None:
    with pytest.raises(ConfigError, match="the model has no cross-attention; coverage and PosUnk"):
        rank_by_coverage([Hypothesis((), 0.0, (0.0,), (0,))], [Capture()], 1, 1.0)


def test_a_translators_scores_hold_the_penalty(translator: Translator) -> None:
    text = "Jane visite la gare demain."
    options = {"beam": 3, "n_best": 1, "alpha": 0.0, "attention": True}
    (found,) = translator.translate(text, coverage=0.3, **options).sentences
    assert isinstance(found.attention, AttentionRecord)
    expected = sum(found.best.log_probs) + coverage_penalty(found.attention.mean("cross"), 0.3)
    assert found.best.score == pytest.approx(expected, abs=1e-4)
    every = translator.translate(text, beam=3, n_best=3, alpha=0.0, coverage=0.3).sentences[0]
    assert every.best.text == found.text
    assert [c.score for c in every.candidates] == sorted(c.score for c in every.candidates)[::-1]
