"""Searches over real models: a batch is its sentences, a score is the model's, a path is true."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from regard.decoding.beam import beam_search
from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials
from regard.decoding.search import decode, decode_batch
from regard.decoding.stepper import Ensemble, ModelStepper, Stepper
from regard.errors import ModelFileError
from regard.lens.capture import capture
from regard.lens.record import kind_of, record_of
from regard.models.interface import Seq2Seq
from regard.shapes import Tensor
from tests.models.architectures import BOS, EOS, PAD, VARIATIONS, tiny_model

SPECIALS = Specials(PAD, BOS, EOS)
SOURCES: list[list[int]] = [[4, 9, 5, 7], [11], [6, 6, 12, 8, 10, 4, 7], [5, 7]]

SHORT = DecodingConfig(max_ratio=1.0, max_extra=3)
METHODS = {
    "greedy": replace(SHORT, beam=1),
    "beam": replace(SHORT, beam=4, n_best=4),
    "late": replace(SHORT, beam=3, n_best=2, early_exit=False),
    "sample": replace(SHORT, sample=True),
}


@pytest.fixture(params=VARIATIONS)
def model(request: pytest.FixtureRequest) -> Seq2Seq[Any]:
    return tiny_model(request.param, sharpness=3.0)


@pytest.fixture
def stepper() -> ModelStepper:
    return ModelStepper(tiny_model("transformer", sharpness=3.0))


@pytest.fixture(params=METHODS)
def config(request: pytest.FixtureRequest) -> DecodingConfig:
    return METHODS[request.param]


def pad(sources: list[list[int]], config: DecodingConfig, numbers: list[int]) -> Request:
    limits = [config.max_length(len(source) + 1) for source in sources]
    return Request.pad(sources, limits, [()] * len(sources), numbers, SPECIALS)


def together(stepper: Stepper, config: DecodingConfig) -> list[list[Hypothesis]]:
    return decode_batch(stepper, pad(SOURCES, config, [0, 1, 2, 3]), SPECIALS, config)


def alone(stepper: Stepper, config: DecodingConfig) -> list[list[Hypothesis]]:
    return [
        decode_batch(stepper, pad([source], config, [number]), SPECIALS, config)[0]
        for number, source in enumerate(SOURCES)
    ]


def outputs(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in found]


def scores(found: list[list[Hypothesis]]) -> list[float]:
    return [hypothesis.score for hypotheses in found for hypothesis in hypotheses]


def test_a_batch_equals_its_sentences(model: Seq2Seq[Any]) -> None:
    stepper, config = ModelStepper(model), METHODS["beam"]
    batch, single = together(stepper, config), alone(stepper, config)
    assert outputs(batch) == outputs(single)
    assert scores(batch) == pytest.approx(scores(single), abs=1e-4)


def test_a_batch_equals_its_sentences_by_every_method(
    stepper: ModelStepper, config: DecodingConfig
) -> None:
    assert outputs(together(stepper, config)) == outputs(alone(stepper, config))


def test_a_batch_equals_its_sentences_in_an_ensemble(
    stepper: ModelStepper, config: DecodingConfig
) -> None:
    other = ModelStepper(tiny_model("transformer-pre-norm", seed=1, sharpness=3.0))
    ensemble = Ensemble([stepper, other])
    assert outputs(together(ensemble, config)) == outputs(alone(ensemble, config))


def test_a_beam_of_one_is_greedy_search(model: Seq2Seq[Any]) -> None:
    stepper, config = ModelStepper(model), METHODS["greedy"]
    asked = pad(SOURCES, config, [0, 1, 2, 3])
    beam = beam_search(stepper, asked, SPECIALS, beam=1)
    assert outputs(beam) == outputs(together(stepper, config))


def teacher_forced(model: Seq2Seq[Any], source: list[int], target: tuple[int, ...]) -> Tensor:
    """Log-probabilities of the target's tokens and its end."""
    read, written = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
    logits: Tensor = model(
        read,
        torch.ones_like(read, dtype=torch.bool),
        written,
        torch.ones_like(written, dtype=torch.bool),
    )
    said = torch.tensor([*target, EOS])
    return logits[0].log_softmax(-1).gather(1, said.unsqueeze(1)).squeeze(1)


def test_log_probabilities_are_the_teacher_forced_ones(
    stepper: ModelStepper, config: DecodingConfig
) -> None:
    for source, hypotheses in zip(SOURCES, together(stepper, config), strict=True):
        for hypothesis in hypotheses:
            forced = teacher_forced(stepper.model, source, hypothesis.tokens)
            assert hypothesis.log_probs == pytest.approx(forced.tolist(), rel=1e-4, abs=1e-4)
            assert hypothesis.log_prob == pytest.approx(forced.sum().item(), rel=1e-4)


@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, "beam") for name in VARIATIONS), ("transformer", "greedy"), ("transformer", "late")],
)
def test_the_attention_of_a_hypothesis_is_the_teacher_forced_one(name: str, method: str) -> None:
    """Every layer, head and kind, along the rows that a watched search in a batch went."""
    model = tiny_model(name, sharpness=3.0)
    with capture(model) as searched:
        found = together(ModelStepper(model), METHODS[method])
    for number, (source, hypotheses) in enumerate(zip(SOURCES, found, strict=True)):
        for hypothesis in hypotheses:
            with capture(model) as forced:
                teacher_forced(model, source, hypothesis.tokens)
            record = record_of(
                searched,
                hypothesis,
                number,
                [str(token) for token in (*source, EOS)],
                [str(token) for token in (*hypothesis.tokens, EOS)],
            )
            assert record.weights.keys() == {kind_of(site) for site in forced.calls}
            for kind, weights in record.weights.items():
                calls = [call for site, call in forced.calls.items() if kind_of(site) == kind]
                # One call for the whole target, or one a step; H T S each.
                layers = [torch.cat(steps, 2)[0] for steps in calls]
                torch.testing.assert_close(weights, torch.stack(layers), rtol=1e-3, atol=1e-4)


def test_an_ensemble_of_a_model_and_itself_is_the_model(
    stepper: ModelStepper, config: DecodingConfig
) -> None:
    one, two = together(stepper, config), together(Ensemble([stepper, stepper]), config)
    assert outputs(one) == outputs(two)
    assert scores(one) == pytest.approx(scores(two), abs=1e-4)


def test_an_ensemble_votes_by_the_mean_of_probabilities() -> None:
    members = [ModelStepper(tiny_model("transformer", seed=seed)) for seed in range(3)]
    source = torch.tensor([[4, 5, EOS]])
    mask = torch.ones_like(source, dtype=torch.bool)
    ensemble = Ensemble(members)
    tokens = torch.tensor([BOS])
    votes = [m.step(m.start(source, mask, 5), tokens).exp() for m in members]
    mean = ensemble.step(ensemble.start(source, mask, 5), tokens).exp()
    torch.testing.assert_close(mean, torch.stack(votes).mean(0))


@pytest.mark.parametrize("batch_tokens", [1, 8, 20, 10_000])
@pytest.mark.parametrize("method", ["greedy", "sample"])
def test_answers_come_in_the_order_of_the_sources(
    stepper: ModelStepper, batch_tokens: int, method: str
) -> None:
    config = METHODS[method]
    job = replace(config, batch_tokens=batch_tokens)
    assert outputs(decode(stepper, SOURCES, SPECIALS, job)) == outputs(alone(stepper, config))


def test_an_empty_job_has_an_empty_answer(stepper: ModelStepper) -> None:
    assert decode(stepper, [], SPECIALS, METHODS["beam"]) == []


def test_an_empty_source_is_answered(stepper: ModelStepper) -> None:
    empty, _ = decode(stepper, [[], [4]], SPECIALS, METHODS["beam"])
    assert len(empty) == 4


def test_prefixes_follow_their_sources_through_the_sorting(stepper: ModelStepper) -> None:
    prefixes = [[5], [6, 7], [], [8]]
    config = replace(METHODS["beam"], batch_tokens=8)
    found = decode(stepper, SOURCES, SPECIALS, config, prefixes=prefixes)
    for prefix, hypotheses in zip(prefixes, found, strict=True):
        assert [list(h.tokens[: len(prefix)]) for h in hypotheses] == [prefix] * 4


@pytest.mark.parametrize("method", METHODS)
def test_a_model_whose_scores_are_not_numbers_is_refused(method: str) -> None:
    model = tiny_model("transformer")
    torch.nn.init.constant_(model.output.weight, torch.nan)
    with pytest.raises(ModelFileError, match="scores are not numbers"):
        decode(ModelStepper(model), [[4, 5]], SPECIALS, METHODS[method])
