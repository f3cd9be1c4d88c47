"""`/attend`: what a model looked at while it translated."""

from dataclasses import replace

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from regard.lens.wire import to_wire
from regard.serve.body import body_schema, read_body
from regard.serve.desk import Desk
from regard.serve.job import Answer, Job
from regard.serve.refusal import Refusal
from regard.serve.schema import AttendAnswer, AttendedSentence, AttendRequest, refusals
from regard.serve.shelf import Served

# As JSON, a weight takes twenty characters.
MAX_FLOATS = 1_000_000


def attend_routes(desk: Desk) -> APIRouter:
    """A record of attention for every sentence of a text."""
    router = APIRouter(tags=["look"], responses=refusals())

    @router.post("/attend", response_model=AttendAnswer, openapi_extra=body_schema(AttendRequest))
    async def attend(request: Request) -> Response:
        """Translate a text and say where the model looked: every layer, head and kind.

        Weights show where the model looked, not why.
        """
        asked = await read_body(request, AttendRequest)
        desk.admit(request, asked.api_key, [asked.q], desk.limits.max_looked)
        model, _ = desk.choose(request, asked, [asked.q])
        options = desk.options(model, asked, align=True, attention=True)
        (answer,) = await desk.answers(request, model, Job([asked.q], options))
        # Packing and writing megabytes: not in the loop that serves everybody.
        content = await run_in_threadpool(_written, model, answer, asked.floats)
        return Response(content, media_type="application/json")

    return router


def _written(model: Served, answer: Answer, with_floats: bool) -> str:
    """The answer as JSON.

    Raises:
        Refusal: 413, the weights are too many to be written out.
    """
    translation = answer.translation
    records = translation.attention
    num_floats = sum(weights.numel() for each in records for weights in each.weights.values())
    if with_floats and num_floats > MAX_FLOATS:
        raise Refusal(
            413, f"floats: {num_floats:,} weights, at most {MAX_FLOATS:,} are written out"
        )
    sentences = []
    for sentence in translation.sentences:
        assert sentence.attention is not None, "attention was asked for"
        fields = replace(sentence, attention=None).to_json()
        floats = sentence.attention.to_json() if with_floats else None
        wire = to_wire(sentence.attention, sentence.source, sentence.best.target, model=model.name)
        sentences.append(AttendedSentence(**fields, attention=wire, floats=floats))
    found = AttendAnswer(text=translation.text, model=model.name, sentences=sentences)
    return found.model_dump_json(exclude_none=True)
