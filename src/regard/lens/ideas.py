"""The ideas of the lectures as data for a page, each computed by the package itself.

Every function takes plain numbers and gives plain lists; a page draws them and computes nothing.
The server answers each at its address:

    POST /ideas/weather    {"query": [x, y]}                           weather
    POST /ideas/by-hand    {"inputs": [[…], …], "score": "scaled"}     by_hand
    GET  /ideas/positions                                              positions
    POST /ideas/masks      {"look_ahead": true, "padding": true}       masks
    POST /ideas/heads      {"q": text, "model": name}                  heads
    POST /ideas/contexts   {"first", "second", "word", "model"}        Contexts.to_json
    GET  /ideas/road                                                   road
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch

from regard.attention import attend, causal_mask, dot, inverse_distance, padding_mask, scaled_dot
from regard.errors import ConfigError
from regard.lens.heads import head_statistics
from regard.lens.published import TABLE
from regard.lens.record import AttentionRecord
from regard.nn.position import POSITIONS, PositionKind
from regard.shapes import Float, Tensor

Number = int | float
Matrix = Sequence[Sequence[Number]]

SCORES = (6.5, 6.1, 4.5, 3.5, 2.8, 1.9)
WEATHER = ((30.0, 48.0), (31.0, 49.0), (37.0, 44.0), (33.0, 45.0), (34.0, 50.0), (32.0, 45.0))
"""Temperature in °C and humidity in % of the lectures' stations, nearest first."""

INPUTS = ((1.0, 0.0, 1.0, 0.0), (0.0, 2.0, 0.0, 2.0), (1.0, 1.0, 1.0, 1.0))
W_QUERY = ((1.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0))
W_KEY = ((0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0))
W_VALUE = ((0.0, 2.0, 0.0), (0.0, 3.0, 0.0), (1.0, 0.0, 3.0), (1.0, 1.0, 0.0))

MASKED = ("Jane", "visits", "Africa", "in", "September", "<pad>", "<pad>")
NUM_REAL = 5

NUM_POSITIONS, D_MODEL = 64, 64
STARTS = (0, 10, 20)
COMPARED: tuple[PositionKind, ...] = ("sinusoid", "fraction", "integer")


def weather(query: Sequence[Number] = (0.0, 0.0)) -> dict[str, Any]:
    """The recipe on a map: keys are the stations' places, values what they measure.

    The stations stand around (0, 0), each as far as the slide's score 1/distance says; so a
    query there has the slide's scores.

    Args:
        query: a place, two finite numbers.

    Returns:
        {"query": [x, y], "stations": [{"place", "temperature", "humidity", "score", "weight"}],
        "estimate": [temperature, humidity]}

    Raises:
        ConfigError: it is no place.
    """
    asked = _matrix([query], 1, 2, "query")
    angles = torch.arange(len(SCORES)) * math.tau / len(SCORES) + 0.35
    directions = torch.stack([angles.cos(), angles.sin()], 1)
    places = directions / torch.tensor(SCORES).unsqueeze(1)
    measured = torch.tensor(WEATHER)
    output, weights = attend(asked, places, measured, score=inverse_distance)
    scores = inverse_distance(asked, places)
    stations = [
        {
            "place": place,
            "temperature": temperature,
            "humidity": humidity,
            "score": score,
            "weight": weight,
        }
        for place, (temperature, humidity), score, weight in zip(
            places.tolist(), WEATHER, scores[0].tolist(), weights[0].tolist(), strict=True
        )
    ]
    return {"query": asked[0].tolist(), "stations": stations, "estimate": output[0].tolist()}


def by_hand(inputs: Matrix = INPUTS, score: Literal["dot", "scaled"] = "scaled") -> dict[str, Any]:
    """Self-attention over three inputs of width 4, every number on the way.

    Args:
        inputs: three rows of four finite numbers.
        score: qᵀk, or qᵀk/√d_k.

    Returns:
        {"inputs", "w_query", "w_key", "w_value", "queries", "keys", "values", "scores",
        "weights", "outputs"}, each a matrix.

    Raises:
        ConfigError: the inputs have another shape.
    """
    given = _matrix(inputs, 3, 4, "inputs")
    w_query, w_key, w_value = (torch.tensor(w) for w in (W_QUERY, W_KEY, W_VALUE))
    queries, keys, values = given @ w_query, given @ w_key, given @ w_value
    compare = scaled_dot if score == "scaled" else dot
    outputs, weights = attend(queries, keys, values, score=compare)
    shown = {
        "inputs": given,
        "w_query": w_query,
        "w_key": w_key,
        "w_value": w_value,
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": compare(queries, keys),
        "weights": weights,
        "outputs": outputs,
    }
    return {name: matrix.tolist() for name, matrix in shown.items()}


def positions() -> dict[str, Any]:
    """The sinusoids as a picture, and what two positions have in common at each distance.

    Returns:
        {"sinusoids": positions × channels, "starts": [p, …],
        "products": {kind: [[PE(p)·PE(p + d) for d = 0, 1, …] for p in starts]}}: for the
        sinusoids one curve whatever p is, for the two rejected ideas another for each.
    """
    tokens = torch.zeros(1, NUM_POSITIONS, dtype=torch.long)
    lengths = torch.tensor([NUM_POSITIONS])
    tables = {
        kind: POSITIONS[kind](D_MODEL, NUM_POSITIONS)(tokens, lengths=lengths)[0].detach()
        for kind in COMPARED
    }
    num_distances = NUM_POSITIONS - max(STARTS)
    products = {
        kind: [(table[p] @ table[p : p + num_distances].T).tolist() for p in STARTS]
        for kind, table in tables.items()
    }
    return {
        "sinusoids": tables["sinusoid"].tolist(),
        "starts": list(STARTS),
        "products": products,
    }


def masks(*, look_ahead: bool = True, padding: bool = True) -> dict[str, Any]:
    """What each mask leaves of the same scores.

    Args:
        look_ahead: a word sees those up to itself only.
        padding: nobody sees the padding.

    Returns:
        {"words": [...], "mask": who may look at whom, "weights": what they then look at}
    """
    size = len(MASKED)
    # Words that all look alike: what is left of the weights is the masks' doing alone.
    scores = torch.zeros(size, size)
    mask = torch.ones(size, size, dtype=torch.bool)
    if look_ahead:
        mask &= causal_mask(size, size)
    if padding:
        mask &= padding_mask(torch.tensor([NUM_REAL]), size)
    _, weights = attend(scores, scores, scores, mask=mask)
    return {"words": list(MASKED), "mask": mask.tolist(), "weights": weights.tolist()}


def heads(record: AttentionRecord) -> dict[str, Any]:
    """What each head did with a sentence.

    Returns:
        {kind: {"entropy", "distance", "offset", "diagonal"}}, each a row a layer; see
        `HeadStatistics`.
    """
    return {kind: found.to_json() for kind, found in head_statistics(record).items()}


PAPER_TASKS = ("WMT 2014, en → de", "WMT 2014, en → fr")


def road(measured: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The chart of results: BLEU against training FLOPs, each point a system.

    Args:
        measured: systems trained here, in the order of the story: {"name", "task", "bleu",
            "flops"} and what else is known of one; its "attention" on a sentence that all were
            shown, as `words_to_wire` packs it; its "model", the name to ask it by.

    Returns:
        {"systems": [{"name", "task", "bleu", "flops", "is_measured", …}]}, those trained here
        first. No FLOPs where none are known; scores of different tasks are not to be compared.
    """
    published = [
        {"name": row.system, "task": task, "bleu": bleu, "flops": flops, "is_measured": False}
        for row in TABLE
        for task, bleu, flops in zip(
            PAPER_TASKS,
            (row.en_de, row.en_fr),
            (row.en_de_flops, row.en_fr_flops),
            strict=True,
        )
        if bleu is not None
    ]
    return {"systems": [{**system, "is_measured": True} for system in measured] + published}


def _matrix(rows: Matrix, height: int, width: int, name: str) -> Float[Tensor, "T D"]:
    """Rows of numbers as a tensor.

    Raises:
        ConfigError: they are not so many, or not finite.
    """
    is_shaped = len(rows) == height and all(len(row) == width for row in rows)
    if not is_shaped or not all(math.isfinite(number) for row in rows for number in row):
        raise ConfigError(f"{name}: expected {height} × {width} finite numbers")
    return torch.tensor(rows, dtype=torch.float32)
