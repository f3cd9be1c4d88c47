"""`/translate`, at once or step by step."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from regard.errors import ConfigError
from regard.serve.answers import Detail, ErrorAnswer, Sentence, TranslateAnswer, refusals
from regard.serve.body import body_schema, read_body
from regard.serve.desk import Desk
from regard.serve.job import Answer, Job
from regard.serve.logs import LOGGER
from regard.serve.markup import Markup, Plain
from regard.serve.refusal import OUR_FAULT, Refusal
from regard.serve.requests import StreamRequest, TranslateRequest
from regard.serve.stream import CONTENT_TYPE, EVENT_SCHEMA, Narration, encode_event

_EXAMPLE = """event: step
data: {"sentence": 0, "step": 0, "text": "Where", "is_end": false, "nodes": [{"id": 1, "parent": 0,\
 "piece": "▁Where", "probability": 0.98, "log_prob": -0.02, "rivals": [{"piece": "▁Where",\
 "probability": 0.98}]}]}

"""


def translate_routes(desk: Desk) -> APIRouter:
    """LibreTranslate's route, which is ours too, and the same as server-sent events."""
    router = APIRouter(tags=["translate"], responses=refusals())

    @router.post(
        "/translate",
        response_model_exclude_none=True,
        openapi_extra=body_schema(TranslateRequest),
    )
    async def translate(request: Request) -> TranslateAnswer:
        """Translate a text or several. Every field but q may be left out."""
        asked = await read_body(request, TranslateRequest)
        given = [asked.q] if isinstance(asked.q, str) else asked.q
        desk.admit(request, asked.api_key, given)
        documents = [_document(text, asked.format) for text in given]
        texts = [text for document in documents for text in document.texts]
        model, detected = desk.choose(request, asked, texts)
        options = desk.options(model, asked, alternatives=asked.alternatives, align=asked.details)
        answers = await desk.answers(request, model, Job(texts, options))
        upcoming = iter(answers)
        groups = [(each, [next(upcoming) for _ in each.texts]) for each in documents]
        items = [_rendered(*group, asked.alternatives) for group in groups]
        translated = [best for best, _ in items]
        others = [other for _, other in items]
        is_one = isinstance(asked.q, str)
        return TranslateAnswer(
            translatedText=translated[0] if is_one else translated,
            model=model.name,
            detectedLanguage=detected and (detected if is_one else [detected] * len(given)),
            alternatives=(others[0] if is_one else others) if asked.alternatives else None,
            details=[_detail(answer) for answer in answers] if asked.details else None,
        )

    @router.post(
        "/translate/stream",
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Events: step, sentence, and at the end done or error.",
                "content": {CONTENT_TYPE: {"schema": EVENT_SCHEMA, "example": _EXAMPLE}},
            }
        },
        openapi_extra=body_schema(StreamRequest),
    )
    async def stream(request: Request) -> StreamingResponse:
        """Translate a text and send every step of the search while it is taken.

        `step` is a StepEvent, `sentence` a SentenceEvent, `done` what /translate answers.
        """
        asked = await read_body(request, StreamRequest)
        desk.admit(request, asked.api_key, [asked.q])
        model, detected = desk.choose(request, asked, [asked.q])
        options = desk.options(model, asked, alternatives=asked.alternatives)
        narration = Narration(model.translator.tokenisers.target, asked.rivals)
        job = Job([asked.q], options, narration.teller)
        job.answers.add_done_callback(lambda _: narration.close())
        model.worker.submit(job)

        async def events() -> AsyncIterator[bytes]:
            try:
                async for event in narration.events(desk.limits.max_seconds):
                    yield event
                (answer,) = await asyncio.wrap_future(job.answers)
                done = TranslateAnswer(
                    translatedText=answer.translation.text,
                    model=model.name,
                    detectedLanguage=detected,
                    alternatives=list(answer.alternatives) if asked.alternatives else None,
                )
                yield encode_event("done", done)
            except TimeoutError:
                yield encode_event("error", ErrorAnswer(error="there was no end in time"))
            except ConfigError as error:
                yield encode_event("error", ErrorAnswer(error=str(error)))
            except Exception as error:  # the answer has begun: its status cannot tell any more
                LOGGER.error("failed", exc_info=error)
                yield encode_event("error", ErrorAnswer(error=OUR_FAULT))

        return _Events(events(), job)

    return router


class _Events(StreamingResponse):
    """A stream whose job is over when it is, whoever ends it."""

    media_type = CONTENT_TYPE

    def __init__(self, events: AsyncIterator[bytes], job: Job) -> None:
        super().__init__(events)
        self.job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.job.answers.cancel()


def _document(text: str, kind: str) -> Plain | Markup:
    try:
        return Markup(text) if kind == "html" else Plain(text)
    except ValueError as error:
        raise Refusal(400, f"q: not HTML: {error}") from None


def _rendered(
    document: Plain | Markup, answers: Sequence[Answer], num_alternatives: int
) -> tuple[str, list[str]]:
    """A document's translation, and as many others as there are."""
    most = max((len(answer.alternatives) for answer in answers), default=0)
    ranked = [
        document.joined([answer.ranked(rank) for answer in answers])
        for rank in range(min(most, num_alternatives) + 1)
    ]
    return ranked[0], ranked[1:]


def _detail(answer: Answer) -> Detail:
    found = answer.translation
    return Detail(
        text=found.text,
        score=found.score,
        num_cut=found.num_cut,
        sentences=[Sentence.model_validate(each.to_json()) for each in found.sentences],
    )
