"""From a request to its answer: who may ask, which model is meant, and the wait for it."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from starlette.requests import Request

from regard.errors import ConfigError
from regard.serve.answers import Detection
from regard.serve.guard import FACTS
from regard.serve.job import Answer, Job, Options
from regard.serve.keys import Keys
from regard.serve.limits import Limits
from regard.serve.refusal import Refusal, busy, left
from regard.serve.requests import OneText, TranslateRequest
from regard.serve.shelf import Served, Shelf

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where requests are taken in.

    Attributes:
        shelf: the models.
        keys: who may ask.
        limits: how much.
        runs: folders of trainings whose logs may be looked at, by name.
        race: a folder of `regard road`, or its results.
    """

    shelf: Shelf
    keys: Keys
    limits: Limits
    runs: Mapping[str, Path] = field(default_factory=dict)
    race: Path | None = None

    def admit(
        self,
        request: Request,
        api_key: str | None,
        texts: Sequence[str],
        max_characters: int | None = None,
    ) -> None:
        """Let a request in, before any of its text is looked at.

        Args:
            request: whose header may hold a key.
            api_key: what its body holds.
            texts: what it is about.
            max_characters: of all of them, if fewer than usual.

        Raises:
            Refusal: 403, the key is missing or not known; 413, it asks for too much.
        """
        self.keys.check(request.headers.get("authorization"), api_key)
        if len(texts) > self.limits.max_texts:
            raise Refusal(
                413, f"q: {len(texts):,} texts; at most {self.limits.max_texts:,} at once"
            )
        characters = sum(map(len, texts))
        most = min(max_characters or self.limits.max_characters, self.limits.max_characters)
        if characters > most:
            raise Refusal(413, f"q: {characters:,} characters; at most {most:,} at once")
        request.scope[FACTS].update(texts=len(texts), characters=characters)

    def choose(
        self, request: Request, asked: TranslateRequest | OneText, texts: Sequence[str]
    ) -> tuple[Served, Detection | None]:
        """The model that is meant, and the source language if it had to be found out."""
        model, probability = self.shelf.choose(
            asked.model, asked.source, asked.target, "\n".join(texts)
        )
        request.scope[FACTS]["model"] = model.name
        if probability is None:
            return model, None
        percent = round(100 * probability, 1)
        return model, Detection(language=model.source, confidence=percent)

    def choose_reader(self, request: Request, name: str | None, texts: Sequence[str]) -> Served:
        """The model that is to read and not to translate."""
        model = self.shelf.reader(name, "\n".join(texts))
        request.scope[FACTS]["model"] = model.name
        return model

    def options(
        self,
        model: Served,
        asked: TranslateRequest | OneText,
        *,
        alternatives: int = 0,
        align: bool = False,
        attention: bool = False,
    ) -> Options:
        """How to search: the client's beam, else the model's, wide enough for the alternatives.

        Raises:
            Refusal: 400, the beam is wider than it may be.
        """
        own = min(model.translator.decoding.beam, self.limits.max_beam)
        beam = max(asked.beam or own, alternatives + 1)
        if beam > self.limits.max_beam:
            name = "alternatives" if alternatives + 1 == beam else "beam"
            most = self.limits.max_beam - (name == "alternatives")
            raise Refusal(400, f"{name}: at most {most:,} here")
        return Options(beam, alternatives + 1, asked.prefix, align, attention)

    async def answers(self, request: Request, model: Served, job: Job) -> list[Answer]:
        """Submit a job and wait for it.

        Raises:
            Refusal: 429, too many wait already; otherwise as `result`.
        """
        model.worker.submit(job)
        return await self.result(request, job.answers)

    async def result(self, request: Request, future: "Future[Result]") -> Result:
        """Wait for what a worker does, unless the client leaves or it takes too long.

        Raises:
            Refusal: 499, the client left; 503, it took too long; 400, it cannot be done as asked.
        """
        answers = asyncio.wrap_future(future)
        leaving = asyncio.ensure_future(_client_left(request))
        leaving.add_done_callback(lambda _: answers.cancel())
        try:
            async with asyncio.timeout(self.limits.max_seconds):
                return await answers
        except asyncio.CancelledError:
            if leaving.done():
                raise left() from None
            raise
        except TimeoutError:
            raise busy("there was no answer in time; send less, or try later", 503) from None
        except ConfigError as error:
            raise Refusal(400, str(error)) from None
        finally:
            answers.cancel()
            leaving.cancel()


async def _client_left(request: Request) -> None:
    """Return when the connection is closed; the body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
