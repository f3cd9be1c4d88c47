"""A traced search is the untraced one, and what it tells is true."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import decode_batch
from regard.decoding.stepper import ModelStepper
from regard.decoding.trace import START, Node, Tracer
from regard.models.interface import Seq2Seq
from tests.decoding.steppers import (
    EOS,
    SPECIALS,
    WORDS,
    TableStepper,
    fixed_table,
    random_table,
    request,
)
from tests.models.architectures import VARIATIONS, tiny_model

METHODS = {
    "greedy": DecodingConfig(beam=1),
    "beam": DecodingConfig(beam=3, n_best=3),
    "sample": DecodingConfig(sample=True),
}
methods = pytest.mark.parametrize("config", METHODS.values(), ids=METHODS)
prefixes = st.lists(st.sampled_from(WORDS), max_size=3).map(tuple)
Steps = list[tuple[Node, ...]]


def traced(
    stepper: Any, config: DecodingConfig, prefix: tuple[int, ...] = (), length: int = 6
) -> tuple[list[Hypothesis], Tracer, Steps]:
    steps: Steps = []
    tracer = Tracer(stepper, SPECIALS, steps.append, prefix=prefix, num_rivals=4)
    asked = request([[4, 5, 4]], length, [prefix])
    (found,) = decode_batch(tracer, asked, SPECIALS, config)
    return found, tracer, steps


@methods
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), prefix=prefixes)
def test_a_traced_search_finds_what_an_untraced_one_does(
    config: DecodingConfig, seed: int, prefix: tuple[int, ...]
) -> None:
    stepper = TableStepper(random_table(seed))
    found, _, _ = traced(stepper, config, prefix)
    (untraced,) = decode_batch(stepper, request([[4, 5, 4]], 6, [prefix]), SPECIALS, config)
    assert found == untraced


@methods
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), prefix=prefixes)
def test_the_nodes_of_a_sentence_are_its_tokens_and_their_log_probabilities(
    config: DecodingConfig, seed: int, prefix: tuple[int, ...]
) -> None:
    found, tracer, steps = traced(TableStepper(random_table(seed)), config, prefix)
    told = {node.number: node for nodes in steps for node in nodes}
    for hypothesis in found:
        nodes = [told[number] for number in tracer.path(hypothesis.tokens)]
        nodes.append(tracer.end(hypothesis.tokens))
        assert [node.token for node in nodes] == [*hypothesis.tokens, EOS]
        assert [node.parent for node in nodes] == [START, *(n.number for n in nodes[:-1])]
        assert [n.log_prob for n in nodes] == pytest.approx(hypothesis.log_probs, abs=1e-5)
        assert nodes[-1].total == pytest.approx(hypothesis.log_prob, abs=1e-4)


@methods
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), prefix=prefixes)
def test_every_node_told_is_a_beginning_that_could_be_kept(
    config: DecodingConfig, seed: int, prefix: tuple[int, ...]
) -> None:
    _, _, steps = traced(TableStepper(random_table(seed)), config, prefix)
    beginnings: dict[int, tuple[int, ...]] = {START: ()}
    for place, nodes in enumerate(steps):
        assert 0 < len(nodes) <= max(config.beam, 1)
        for node in nodes:
            beginning = (*beginnings[node.parent], node.token)
            assert node.number not in beginnings
            assert len(beginning) == place + 1
            assert beginning[: len(prefix)] == prefix[: len(beginning)]
            assert set(beginning) <= set(WORDS)
            beginnings[node.number] = beginning
        assert [n.total for n in nodes] == sorted((n.total for n in nodes), reverse=True)
    assert len(set(beginnings.values())) == len(beginnings)


def test_rivals_are_the_models_best_whatever_the_prefix_forces() -> None:
    stepper = TableStepper(fixed_table(_4=0.5, _5=0.3, eos=0.15, unk=0.05))
    _, _, steps = traced(stepper, METHODS["beam"], prefix=(5, 1))
    for (node,) in steps[:2]:
        assert [rival.token for rival in node.rivals] == [4, 5, EOS, 1]
        assert node.rivals[0].log_prob == pytest.approx(-0.6931, abs=1e-3)
    assert [node.token for (node,) in steps[:2]] == [5, 1]


@pytest.mark.parametrize("arch", VARIATIONS)
def test_real_models_are_traced_alike(arch: str) -> None:
    model: Seq2Seq[Any] = tiny_model(arch, sharpness=3.0)
    stepper = ModelStepper(model)
    for config in (METHODS["greedy"], METHODS["beam"]):
        found, tracer, _ = traced(stepper, config, prefix=(7,))
        (untraced,) = decode_batch(stepper, request([[4, 5, 4]], 6, [(7,)]), SPECIALS, config)
        assert {h.tokens for h in found} == {h.tokens for h in untraced}
        for hypothesis in found:
            total = tracer.end(hypothesis.tokens).total
            assert total == pytest.approx(hypothesis.log_prob, abs=1e-3)
