"""The data of the Ideas page: the lectures' own numbers."""

import json
from typing import Any

import pytest
import torch

from regard.errors import ConfigError
from regard.lens import ideas
from tests.page.known import known_record


def test_the_weather_is_that_of_the_slide() -> None:
    found = ideas.weather()
    stations = found["stations"]
    assert [s["score"] for s in stations] == pytest.approx(list(ideas.SCORES), rel=1e-4)
    expected = (0.52, 0.37, 0.068, 0.027, 0.013, 0.0054)
    assert [s["weight"] for s in stations] == pytest.approx(expected, abs=0.02)
    assert found["estimate"] == pytest.approx((31.0, 48.0), abs=0.1)


def test_at_a_station_the_weather_is_its_own() -> None:
    last = ideas.weather()["stations"][5]
    found = ideas.weather(last["place"])
    assert found["estimate"] == pytest.approx([last["temperature"], last["humidity"]])


@pytest.mark.parametrize(
    ("score", "first"),
    [("dot", [1.9366, 6.6831, 1.5951]), ("scaled", [1.8639, 6.3194, 1.7042])],
)
def test_by_hand_gives_the_printed_numbers(score: Any, first: list[float]) -> None:
    found = ideas.by_hand(score=score)
    assert found["outputs"][0] == pytest.approx(first, abs=5e-5)
    weights, values = torch.tensor(found["weights"]), torch.tensor(found["values"])
    torch.testing.assert_close(weights @ values, torch.tensor(found["outputs"]))


def test_sinusoids_know_distance_and_the_rejected_ideas_do_not() -> None:
    products = ideas.positions()["products"]
    for kind, is_same in (("sinusoid", True), ("integer", False), ("fraction", False)):
        first, second, third = (torch.tensor(curve) for curve in products[kind])
        assert torch.allclose(first, second, atol=1e-3) is is_same
        assert torch.allclose(first, third, atol=1e-3) is is_same


@pytest.mark.parametrize("look_ahead", [True, False])
@pytest.mark.parametrize("padding", [True, False])
def test_masks_leave_what_they_say(look_ahead: bool, padding: bool) -> None:
    found = ideas.masks(look_ahead=look_ahead, padding=padding)
    mask, weights = torch.tensor(found["mask"]), torch.tensor(found["weights"])
    assert bool(mask[0, 1]) is not look_ahead
    assert bool(mask[-1, -1]) is not padding
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(len(found["words"])))


def test_the_road_has_the_paper_s_points_and_ours() -> None:
    mine = {"name": "mine", "task": "mine, fr → en", "bleu": 50.0, "flops": 1e15, "model": "m"}
    systems = ideas.road([mine])["systems"]
    base = [s for s in systems if s["name"] == "Transformer, base"]
    assert {(s["task"], s["bleu"], s["flops"]) for s in base} == {
        ("WMT 2014, en → de", 27.3, 3.3e18),
        ("WMT 2014, en → fr", 38.1, 3.3e18),
    }
    assert systems[0] == {**mine, "is_measured": True}


def test_all_of_it_is_json() -> None:
    everything = [ideas.weather(), ideas.by_hand(), ideas.positions(), ideas.masks()]
    for each in [*everything, ideas.road(), ideas.heads(known_record())]:
        json.dumps(each, allow_nan=False)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ideas.weather([float("nan"), 0.0]), "query: expected 1 × 2 finite numbers"),
        (lambda: ideas.weather([0.0]), "query: expected 1 × 2 finite numbers"),
        (lambda: ideas.by_hand([[1.0]]), "inputs: expected 3 × 4 finite numbers"),
    ],
)
def test_what_has_no_place_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ask()
