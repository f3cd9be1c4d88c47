"""The application: routes, the page, and what becomes of an error."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException

from regard.serve.desk import Desk
from regard.serve.guard import Guard
from regard.serve.ideas import idea_routes
from regard.serve.listing import language_routes, status_routes
from regard.serve.looking import attend_routes
from regard.serve.metrics import Metrics
from regard.serve.refusal import OUR_FAULT, Refusal
from regard.serve.runs import run_routes
from regard.serve.static import FOLDER, INDEX, PageFile, read_page, security_headers
from regard.serve.translating import translate_routes

API_VERSION = "1.0"
"""The first digit changes when a client would have to, the second when something is added."""


def create_app(desk: Desk, *, origins: Sequence[str] = (), folder: Path = FOLDER) -> Guard:
    """Everything behind one ASGI application.

    Args:
        desk: models, keys and limits.
        origins: those whose pages may use the API from a browser; never with credentials.
        folder: of the page.
    """

    @asynccontextmanager
    async def working(app: FastAPI) -> AsyncIterator[None]:
        for model in desk.shelf:
            model.worker.start()
        yield
        for model in desk.shelf:
            model.worker.close()

    app = FastAPI(
        title="Regard",
        version=API_VERSION,
        summary="Translations, and where the model looked.",
        lifespan=working,
        docs_url=None,  # it would load its scripts from elsewhere
        redoc_url=None,
    )
    metrics = Metrics()
    page = read_page(folder)
    for routes in (
        translate_routes(desk),
        attend_routes(desk),
        language_routes(desk),
        status_routes(desk, metrics),
        idea_routes(desk),
        run_routes(desk),
        _page_routes(page),
    ):
        app.include_router(routes)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_exception_handler(Refusal, _answer_refusal)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(Exception, _answer_failure)
    return Guard(app, desk.limits, metrics, security_headers(page))


def _page_routes(page: Mapping[str, PageFile]) -> APIRouter:
    """The page at `/`, its files below `/page/`; without a page, what there is to call."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def index(request: Request) -> Response:
        if INDEX in page:
            return _sent(page[INDEX], request)
        return RedirectResponse("/openapi.json")

    @router.get("/page/{path:path}")
    async def file(path: str, request: Request) -> Response:
        if path not in page:
            raise HTTPException(404)
        return _sent(page[path], request)

    return router


def _sent(file: PageFile, request: Request) -> Response:
    headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.content_type, headers=headers)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return JSONResponse({"error": str(error)}, error.status, error.headers)


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """What the router says: there is no such address, or not for this method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _answer_failure(request: Request, error: Exception) -> Response:
    """Our own mistake; the log has where."""
    return JSONResponse({"error": OUR_FAULT}, 500)
