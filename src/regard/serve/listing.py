"""What there is: languages and models, and how the server does."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from regard import __version__
from regard.serve.answers import (
    Detection,
    HealthAnswer,
    LanguageAnswer,
    ModelAnswer,
    SettingsAnswer,
    SettingsLanguage,
    SettingsLanguages,
    refusals,
)
from regard.serve.body import body_schema, read_body
from regard.serve.desk import Desk
from regard.serve.languages import language_name
from regard.serve.metrics import CONTENT_TYPE, Metrics
from regard.serve.requests import DetectRequest
from regard.text.detect import detect


def language_routes(desk: Desk) -> APIRouter:
    """LibreTranslate's other routes."""
    router = APIRouter(tags=["languages"])

    @router.get("/languages")
    async def languages() -> list[LanguageAnswer]:
        """The languages of the models, and what each can be translated into."""
        return [
            LanguageAnswer(code=code, name=language_name(code), targets=targets)
            for code, targets in desk.shelf.languages().items()
        ]

    @router.post(
        "/detect",
        responses=refusals(400, 403, 413, 415),
        openapi_extra=body_schema(DetectRequest),
    )
    async def detect_language(request: Request) -> list[Detection]:
        """The languages a text may be in, of those that are served, most probable first."""
        asked = await read_body(request, DetectRequest)
        desk.admit(request, asked.api_key, [asked.q])
        return [
            Detection(language=language, confidence=round(100 * probability, 1))
            for language, probability in detect(asked.q, list(desk.shelf.languages()))
            if probability > 0
        ]

    @router.get("/frontend/settings")
    async def settings() -> SettingsAnswer:
        """What a client may show: limits, and a pair of languages to begin with."""
        first = next(iter(desk.shelf))
        return SettingsAnswer(
            apiKeys=desk.keys.are_required,
            charLimit=desk.limits.max_characters,
            filesTranslation=False,
            frontendTimeout=500,
            keyRequired=desk.keys.are_required,
            language=SettingsLanguages(
                source=SettingsLanguage(code="auto", name="Auto Detect"),
                target=SettingsLanguage(code=first.target, name=language_name(first.target)),
            ),
            suggestions=False,
            supportedFilesFormat=[],
        )

    return router


def status_routes(desk: Desk, metrics: Metrics) -> APIRouter:
    """The models, and numbers for whoever runs them."""
    router = APIRouter(tags=["status"])

    @router.get("/models")
    async def models() -> list[ModelAnswer]:
        """Every model by its name."""
        return [
            ModelAnswer(
                name=each.name,
                source=each.source,
                target=each.target,
                parameters=sum(m.num_parameters() for m in each.translator.models),
                beam=min(each.translator.decoding.beam, desk.limits.max_beam),
                max_pieces=each.translator.max_pieces,
            )
            for each in desk.shelf
        ]

    @router.get("/health", responses={503: {"model": HealthAnswer}})
    async def health(response: Response) -> HealthAnswer:
        """Whether the models work; 503 if one does not. Quick whatever else is asked."""
        is_well = all(each.worker.is_alive for each in desk.shelf)
        response.status_code = 200 if is_well else 503
        return HealthAnswer(
            status="ok" if is_well else "failing",
            version=__version__,
            models=sum(1 for _ in desk.shelf),
            waiting=sum(each.worker.num_waiting for each in desk.shelf),
        )

    @router.get("/metrics", response_class=PlainTextResponse, responses=refusals(403))
    async def numbers(request: Request) -> Response:
        """Counters for Prometheus; where keys are needed, with Authorization: Bearer."""
        desk.keys.check(request.headers.get("authorization"))
        return Response(metrics.render(desk.shelf), media_type=CONTENT_TYPE)

    return router
