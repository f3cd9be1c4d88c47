"""Batches shared out among workers of one thread each: one for every core.

Cores that share every operation meet at a barrier after each, and a decoding step has a hundred
small ones. With a batch each they never meet. Workers are forked processes, which share the
weights with their parent and hold only what they compute; where a process cannot be forked
safely, they are threads.
"""

import gc
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

import torch

from regard.errors import RegardError
from regard.machine import private_memory

Task = TypeVar("Task")
Result = TypeVar("Result")

# macOS has fork, but its own libraries do not survive it.
CAN_FORK = sys.platform == "linux"
_MEMORY = "memory"
_DIED = "a worker died; is there memory enough? Try again with --workers 1"


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers(Generic[Task, Result]):
    """Several that do the same work, each on another task.

    A forked worker sees everything as it was when it was made: have the weights loaded and
    prepared before. It runs on one thread, so it is safe after the parent ran on several: the
    threads that a fork leaves behind are never waited for.

    Attributes:
        number: how many they are.
        is_open: whether they take tasks.

    Args:
        work: what to do with a task; for processes, tasks and results travel through a pipe.
        number: of workers.
        fork: whether they are processes.
    """

    def __init__(self, work: Callable[[Task], Result], number: int, fork: bool = CAN_FORK) -> None:
        self.number = number
        self.is_open = True
        self._work = work
        self._processes: list[tuple[Any, Connection]] = []
        self._threads: ThreadPoolExecutor | None = None
        if not fork:
            # How many threads an operation is split over is each thread's own setting.
            self._threads = ThreadPoolExecutor(number, "decoder", torch.set_num_threads, (1,))
            return
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            # Python warns of forking beside other threads, whose locks the child might wait for.
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(number):
                ours, theirs = context.Pipe()
                parents = [ours, *(connection for _, connection in self._processes)]
                process = context.Process(target=_serve, args=(theirs, parents, work), daemon=True)
                process.start()
                theirs.close()
                self._processes.append((process, ours))

    def results(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """The result of each task with the task's number, as they come.

        Who leaves before the last result, or is told of a failure, leaves workers behind that are
        still at it. Their results are nobody's, so they are let go (`is_open`).

        Raises:
            RegardError: what the work raised, or that a worker died.
        """
        results = self._of_processes if self._threads is None else self._of_threads
        is_over = False
        try:
            yield from results(tasks)
            is_over = True
        finally:
            if not is_over:
                self.close()

    def _of_threads(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        assert self._threads is not None
        futures = [self._threads.submit(self._work, task) for task in tasks]
        for number, future in enumerate(futures):
            yield number, future.result()

    def _of_processes(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        waiting = list(enumerate(tasks))[::-1]
        busy: dict[Any, int] = {}
        free = [connection for _, connection in self._processes]
        while waiting or busy:
            while waiting and free:
                number, task = waiting.pop()
                connection = free.pop()
                try:
                    connection.send(task)
                except BrokenPipeError:
                    raise RegardError(_DIED) from None
                busy[connection] = number
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                number = busy.pop(ready)
                free.append(ready)
                yield number, self._receive(ready)

    def memory(self) -> list[int]:
        """Bytes that each process holds for itself alone; none where they are threads."""
        for _, connection in self._processes:
            connection.send(_MEMORY)
        return [connection.recv() for _, connection in self._processes]

    def close(self) -> None:
        """Let the workers go; a task that is under way is not waited for."""
        for process, connection in self._processes:
            connection.close()
            process.terminate()
            process.join()
        self._processes = []
        self.is_open = False
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _receive(self, connection: Connection) -> Result:
        try:
            result = connection.recv()
        except (EOFError, ConnectionResetError):
            raise RegardError(_DIED) from None
        if isinstance(result, Exception):
            raise result
        found: Result = result
        return found


def _serve(
    connection: Connection, parents: Sequence[Connection], work: Callable[[Any], Any]
) -> None:
    """The life of a forked worker, which ends when its parent is no more.

    Args:
        connection: where tasks come from.
        parents: the other ends, which a fork leaves open here too; as long as they are, nobody
            is told that the parent has died.
        work: what to do with a task.
    """
    for end in parents:
        end.close()
    torch.set_num_threads(1)
    # What came from the parent is shared and stays: a collection need not walk through it all, nor
    # touch it, which would copy it.
    gc.freeze()
    while True:
        try:
            task = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if isinstance(task, str) and task == _MEMORY:
            connection.send(private_memory())
            continue
        try:
            result = work(task)
        except KeyboardInterrupt:
            return
        except Exception as error:  # raised again where the result is waited for
            result = error
        connection.send(result)
