"""`/attend`: what a model looked at while it translated."""

from dataclasses import replace

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from regard.lens.html import html_page
from regard.serve.answers import AttendAnswer, AttendedSentence, refusals
from regard.serve.body import body_schema, read_body
from regard.serve.desk import Desk
from regard.serve.job import Answer, Job
from regard.serve.refusal import Refusal
from regard.serve.requests import AttendRequest
from regard.serve.shelf import Served

# As JSON, a weight takes twenty characters.
MAX_FLOATS = 1_000_000
HTML = "text/html"


def attend_routes(desk: Desk) -> APIRouter:
    """A record of attention for every sentence of a text."""
    router = APIRouter(tags=["look"], responses=refusals())

    @router.post(
        "/attend",
        response_model=AttendAnswer,
        responses={200: {"content": {HTML: {"schema": {"type": "string"}}}}},
        openapi_extra=body_schema(AttendRequest),
    )
    async def attend(request: Request) -> Response:
        """Translate a text and say where the model looked: every layer, head and kind.

        Weights show where the model looked, not why. With `Accept: text/html` the answer is one
        file that opens without a network, of the first sentence.
        """
        asked = await read_body(request, AttendRequest)
        desk.admit(request, asked.api_key, [asked.q], desk.limits.max_looked)
        model, _ = desk.choose(request, asked, [asked.q])
        options = desk.options(model, asked, align=True, attention=True)
        is_file = request.headers.get("accept") == HTML
        job = Job([asked.q], options, only_first=is_file)
        (answer,) = await desk.answers(request, model, job)
        # Packing and writing megabytes: not in the loop that serves everybody.
        if is_file:
            return Response(await run_in_threadpool(_document, model, answer), media_type=HTML)
        content = await run_in_threadpool(_written, model, answer, asked.floats)
        return Response(content, media_type="application/json")

    return router


def _document(model: Served, answer: Answer) -> str:
    """The first sentence's attention as a file that opens without a server.

    Raises:
        Refusal: 400, the text is empty.
    """
    if not answer.translation.sentences:
        raise Refusal(400, "q: there is no sentence to look at")
    return html_page(answer.translation.sentences[0].to_wire(model.name))


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
        wire = sentence.to_wire(model.name)
        sentences.append(AttendedSentence(**fields, attention=wire, floats=floats))
    found = AttendAnswer(text=translation.text, model=model.name, sentences=sentences)
    return found.model_dump_json(exclude_none=True)
