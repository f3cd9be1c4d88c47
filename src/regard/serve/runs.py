"""`/runs`: trainings, in progress or finished, as their logs tell them."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from regard.errors import ModelFileError
from regard.serve.answers import RunAnswer, refusals
from regard.serve.desk import Desk
from regard.serve.refusal import Refusal
from regard.train.history import read_history


def run_routes(desk: Desk) -> APIRouter:
    """The runs that `--runs` named; where keys are needed, with Authorization: Bearer."""
    router = APIRouter(tags=["runs"])

    @router.get("/runs", responses=refusals(403))
    async def runs(request: Request) -> list[RunAnswer]:
        """Their names."""
        desk.keys.check(request.headers.get("authorization"))
        return [RunAnswer(name=name) for name in desk.runs]

    @router.get("/runs/{name}", responses=refusals(403, 404))
    async def history(name: str, request: Request) -> dict[str, Any]:
        """Loss, learning rate and speed step by step, and every validation."""
        desk.keys.check(request.headers.get("authorization"))
        if name not in desk.runs:
            raise Refusal(404, "there is no such run; GET /runs lists them")
        try:
            return await run_in_threadpool(read_history, desk.runs[name])
        except ModelFileError:
            raise Refusal(404, "the run has no log yet") from None

    return router
