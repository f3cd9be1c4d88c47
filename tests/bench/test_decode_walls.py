"""The walls beside the benchmark of decoding are made of what is really computed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from decode_systems import VOCABULARY, stage_random
from decode_walls import Player, Round, clocked, walls_of
from regard.decoding.stepper import ModelStepper
from regard.native import kernels
from regard.native.floats import PackedFloats

pytestmark = pytest.mark.skipif(
    not kernels.has_float_products(), reason="no compiled products for this processor"
)

VOCABULARY_SIZE = 300


@pytest.fixture
def player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Player:
    monkeypatch.setitem(VOCABULARY, "nano", VOCABULARY_SIZE)
    stage_random("nano", 4, tmp_path / "nano")
    return Player(tmp_path / "nano")


def test_products_are_those_of_the_search(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    stepper = player.searcher.stepper
    assert isinstance(stepper, ModelStepper)
    stepper.compact()._native = None  # whose products would be hidden in one call
    seen: Counter[tuple[int, int, int]] = Counter()
    multiply = PackedFloats.__call__

    def watched(self: PackedFloats, x: Any, *rest: Any) -> Any:
        seen[len(x), self.shape[1], self.shape[0]] += 1
        return multiply(self, x, *rest)

    monkeypatch.setattr(PackedFloats, "__call__", watched)
    # One sentence, so that no padding is multiplied.
    request = player.requests[0]
    assert len(request.source) == 1
    player.searcher.decode(request, player.decoding, is_watched=False)
    assert seen == Counter(player.products(request))


def test_kernels_and_products_are_parts_of_the_whole(player: Player) -> None:
    found = player.play(0)
    assert 0 < found.kernels < found.seconds
    assert found.tokens > 0 and found.operations > 0 and found.products > 0


def test_the_clock_is_taken_away_again(player: Player) -> None:
    plain = kernels.call
    with clocked():
        assert kernels.call is not plain
    assert kernels.call is plain


def test_walls_are_medians_of_all_processes_together() -> None:
    def both(seconds: float) -> list[Round]:
        return [
            Round(tokens=30, seconds=seconds, kernels=2.0, products=1.0, operations=10**9),
            Round(tokens=10, seconds=seconds, kernels=3.0, products=1.0, operations=10**9),
        ]

    walls = walls_of("tiny", [both(5.0), both(10.0), both(7.5)])
    # Two processes, twenty tokens each in the mean, seven and a half seconds.
    assert (walls.tokens_per_second, walls.kernels, walls.products) == (5.3, 3.0, 7.5)
    assert walls.gflops == 2.0
