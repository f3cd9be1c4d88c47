"""Decoding as server-sent events: every step while it is taken."""

import asyncio
import math
from collections.abc import AsyncIterator

from pydantic import BaseModel

from regard.decoding.trace import START, Node
from regard.serve.answers import Ending, NodeEvent, RivalEvent, SentenceEvent, StepEvent
from regard.serve.job import Teller
from regard.text.tokeniser import Tokeniser
from regard.translation import SentenceTranslation

CONTENT_TYPE = "text/event-stream"
EVENT_SCHEMA = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["step", "sentence", "done", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}


def encode_event(name: str, data: BaseModel) -> bytes:
    """One event of the stream (HTML Standard, section 9.2)."""
    return f"event: {name}\ndata: {data.model_dump_json(exclude_none=True)}\n\n".encode()


class Narration:
    """Turns what a worker's thread tells into events for the loop that sends them.

    Args:
        tokeniser: of the target.
        num_rivals: tokens told beside each that was chosen.
    """

    def __init__(self, tokeniser: Tokeniser, num_rivals: int) -> None:
        self.tokeniser = tokeniser
        self.teller = Teller(self._step, self._sentence, num_rivals)
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._tokens: dict[int, tuple[int, ...]] = {}  # of each node of the sentence
        self._ends: tuple[Node, ...] = ()
        self._num_steps = 0

    async def events(self, max_seconds: float) -> AsyncIterator[bytes]:
        """What was told, in order, until `close`.

        Raises:
            TimeoutError: it took longer.
        """
        due = self._loop.time() + max_seconds
        while True:
            async with asyncio.timeout_at(due):
                event = await self._events.get()
            if event is None:
                return
            yield event

    def close(self) -> None:
        """No more will be told; may be called in any thread."""
        self._loop.call_soon_threadsafe(self._events.put_nowait, None)

    def _step(self, sentence: int, nodes: tuple[Node, ...]) -> None:
        if not self._num_steps:
            self._tokens = {START: ()}
        for node in nodes:
            self._tokens[node.number] = (*self._tokens[node.parent], node.token)
        is_end = any(node.token == self.tokeniser.eos for node in nodes)
        self._ends = nodes
        best = max(nodes, key=lambda node: node.total, default=None)
        tokens = self._tokens[best.number] if best else ()
        event = StepEvent(
            sentence=sentence,
            step=self._num_steps,
            text=self.tokeniser.decode(tokens),
            is_end=is_end,
            nodes=[self._node(node) for node in nodes],
        )
        self._num_steps = 0 if is_end else self._num_steps + 1
        self._send("step", event)

    def _sentence(self, number: int, found: SentenceTranslation) -> None:
        endings = [
            Ending(text=candidate.text, score=candidate.score, node=node.number)
            for candidate, node in zip(found.candidates, self._ends, strict=True)
        ]
        event = SentenceEvent(
            sentence=number,
            source=found.source.text,
            source_pieces=list(found.source.pieces),
            pieces=list(found.best.target.pieces),
            endings=endings,
        )
        self._send("sentence", event)

    def _node(self, node: Node) -> NodeEvent:
        rivals = [
            RivalEvent(piece=self.tokeniser.piece(r.token), probability=math.exp(r.log_prob))
            for r in node.rivals
        ]
        return NodeEvent(
            id=node.number,
            parent=node.parent,
            piece=self.tokeniser.piece(node.token),
            probability=math.exp(node.log_prob),
            log_prob=node.total,
            rivals=rivals,
        )

    def _send(self, name: str, event: BaseModel) -> None:
        self._loop.call_soon_threadsafe(self._events.put_nowait, encode_event(name, event))
