"""`/ideas`: the panels of the Ideas page, computed by the package and by nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from regard.errors import ConfigError, ModelFileError
from regard.lens import ideas
from regard.lens.contexts import word_in_contexts
from regard.lens.wire import words_to_wire
from regard.road.result import read_report
from regard.serve.answers import RoadAnswer, refusals
from regard.serve.body import JSON, body_schema, read_body
from regard.serve.desk import Desk
from regard.serve.job import Job
from regard.serve.refusal import Refusal, busy
from regard.serve.requests import (
    ByHandRequest,
    ContextsRequest,
    HeadsRequest,
    MasksRequest,
    WeatherRequest,
)
from regard.serve.shelf import Shelf


def idea_routes(desk: Desk) -> APIRouter:
    """What `regard.lens.ideas` describes, and what the models do with a sentence or a word."""
    router = APIRouter(prefix="/ideas", tags=["ideas"])
    malformed = refusals(400, 413, 415)

    @router.get("/positions")
    async def positions() -> dict[str, Any]:
        """The sinusoids, and what two positions have in common at each distance."""
        return await run_in_threadpool(ideas.positions)

    @router.get("/road", responses=refusals(403, 503), response_model_exclude_unset=True)
    async def road(request: Request) -> RoadAnswer:
        """BLEU against training FLOPs, each point a system.

        The paper's, and before them those of the race that `--road` named, as far as it has come;
        where keys are needed, those with Authorization: Bearer.
        """
        if desk.race is None:
            return RoadAnswer.model_validate(ideas.road())
        desk.keys.check(request.headers.get("authorization"))
        try:
            measured = await run_in_threadpool(_measured, desk.race, desk.shelf)
        except ModelFileError:
            raise busy("the results of the race cannot be read now; try later", 503) from None
        return RoadAnswer.model_validate(ideas.road(measured))

    @router.post("/weather", responses=malformed, openapi_extra=body_schema(WeatherRequest, [JSON]))
    async def weather(request: Request) -> dict[str, Any]:
        """The recipe on a map: scores, weights and the estimate at a place."""
        asked = await read_body(request, WeatherRequest)
        return await _computed(lambda: ideas.weather(asked.query))

    @router.post("/by-hand", responses=malformed, openapi_extra=body_schema(ByHandRequest, [JSON]))
    async def by_hand(request: Request) -> dict[str, Any]:
        """Self-attention over three inputs, every number on the way."""
        asked = await read_body(request, ByHandRequest)
        return await _computed(lambda: ideas.by_hand(asked.inputs, asked.score))

    @router.post("/masks", responses=malformed, openapi_extra=body_schema(MasksRequest))
    async def masks(request: Request) -> dict[str, Any]:
        """What the look-ahead mask and the padding mask leave of the same scores."""
        asked = await read_body(request, MasksRequest)
        return await _computed(
            lambda: ideas.masks(look_ahead=asked.look_ahead, padding=asked.padding)
        )

    @router.post("/heads", responses=refusals(), openapi_extra=body_schema(HeadsRequest))
    async def heads(request: Request) -> dict[str, Any]:
        """What each head of a model does with the first sentence of a text."""
        asked = await read_body(request, HeadsRequest)
        desk.admit(request, asked.api_key, [asked.q], desk.limits.max_looked)
        model, _ = desk.choose(request, asked, [asked.q])
        options = desk.options(model, asked, attention=True)
        (answer,) = await desk.answers(request, model, Job([asked.q], options, only_first=True))
        if not answer.translation.attention:
            raise Refusal(400, "q: there is no sentence to look at")
        return await _computed(lambda: ideas.heads(answer.translation.attention[0]))

    @router.post("/contexts", responses=refusals(), openapi_extra=body_schema(ContextsRequest))
    async def contexts(request: Request) -> dict[str, Any]:
        """How far a word's vector moves from one sentence to another, layer by layer."""
        asked = await read_body(request, ContextsRequest)
        texts = [asked.first, asked.second, asked.word]
        desk.admit(request, asked.api_key, texts, desk.limits.max_looked)
        model = desk.choose_reader(request, asked.model, texts[:2])
        translator = model.translator
        found = model.worker.call(
            lambda: word_in_contexts(
                translator.models[0],
                translator.tokenisers.source,
                *texts,
                max_pieces=translator.max_pieces,
            )
        )
        return (await desk.result(request, found)).to_json()

    return router


def _measured(race: Path, shelf: Shelf) -> list[dict[str, Any]]:
    """The systems of a race as `regard.lens.ideas.road` takes them.

    Raises:
        ModelFileError: its results are missing or damaged.
    """
    report = read_report(race)
    served = {model.name for model in shelf}
    return [
        {
            "name": result.system,
            "title": result.title,
            "task": report.task,
            "bleu": result.bleu,
            "flops": result.flops or None,
            "sentence": result.sentence,
            "translation": result.translation,
            "attention": words_to_wire(
                torch.tensor(result.alignment),
                result.source_words,
                result.words,
                model=result.title,
            )
            if result.alignment
            else None,
            "model": result.system if result.system in served else None,
        }
        for result in report.results
    ]


async def _computed(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of a small computation, done in another thread than the loop's."""
    try:
        return await run_in_threadpool(function)
    except ConfigError as error:
        raise Refusal(400, str(error)) from None
