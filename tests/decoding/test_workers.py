"""Workers answer as one does, in the order asked, whatever happened to threads before."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.decoding.request import Request, Specials
from regard.decoding.workers import CAN_FORK, Workers, num_cores
from regard.errors import ModelFileError, RegardError

KINDS = [pytest.param(True, id="processes", marks=pytest.mark.skipif(not CAN_FORK, reason="fork"))]
KINDS += [pytest.param(False, id="threads")]
kinds = pytest.mark.parametrize("fork", KINDS)


def slow_square(number: int) -> int:
    """The larger, the sooner."""
    time.sleep(0.02 / (1 + number))
    return number * number


@kinds
def test_every_task_has_its_result(fork: bool) -> None:
    workers = Workers(slow_square, 2, fork)
    assert dict(workers.results(range(7))) == {n: n * n for n in range(7)}
    assert dict(workers.results([5])) == {0: 25}
    workers.close()


@kinds
def test_no_tasks_have_no_results(fork: bool) -> None:
    workers = Workers(slow_square, 2, fork)
    assert list(workers.results([])) == []
    workers.close()


def refuse(number: int) -> int:
    raise ModelFileError(f"not {number}")


@kinds
def test_what_the_work_raises_is_raised(fork: bool) -> None:
    workers = Workers(refuse, 2, fork)
    with pytest.raises(ModelFileError, match="not 3"):
        list(workers.results([3]))
    workers.close()


def fail_at_zero(number: int) -> int:
    if number == 0:
        raise ModelFileError("not 0")
    time.sleep(0.2)
    return number


@kinds
@pytest.mark.parametrize("is_failure", [True, False])
def test_nobody_gets_what_another_left_behind(fork: bool, is_failure: bool) -> None:
    workers = Workers(fail_at_zero, 2, fork)
    left = workers.results([0 if is_failure else 1, 2, 3, 4])
    if is_failure:
        with pytest.raises(ModelFileError):
            list(left)
    else:
        assert next(left)[1] in (1, 2)
        left.close()  # type: ignore[attr-defined]
    assert not workers.is_open
    workers.close()


@pytest.mark.skipif(not CAN_FORK, reason="threads do not die alone")
def test_a_worker_that_dies_is_told() -> None:
    workers = Workers(os._exit, 1)
    with pytest.raises(RegardError, match="a worker died"):
        list(workers.results([9]))
    workers.close()


PARENT = """
import os, time
from regard.decoding.workers import Workers
workers = Workers(lambda task: os.getpid(), 2)
print(*(process.pid for process, _ in workers._processes), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not CAN_FORK, reason="fork")
def test_workers_end_with_their_parent_however_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        numbers = [int(number) for number in parent.stdout.readline().split()]
        assert len(numbers) == 2 and all(is_running(number) for number in numbers)
        parent.kill()
    deadline = time.monotonic() + 60
    while any(is_running(number) for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(number) for number in numbers)


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@kinds
def test_workers_compute_after_torch_has_run_on_several_threads(fork: bool) -> None:
    matrix = torch.randn(400, 400)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        product = matrix @ matrix

        def shares(_: int) -> bool:
            return torch.allclose(matrix @ matrix, product, atol=1e-3)

        workers = Workers(shares, 2, fork)
        assert all(found for _, found in workers.results(range(4)))
        workers.close()
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not CAN_FORK, reason="threads share everything")
def test_workers_do_not_copy_what_was_there_before() -> None:
    weights = torch.ones(50_000_000 // 4)

    def work(number: int) -> float:
        return float(weights.sum())

    workers = Workers(work, 2)
    assert [found for _, found in workers.results([0, 1])] == [len(weights)] * 2
    assert all(0 < memory < 25_000_000 for memory in workers.memory())
    workers.close()


def test_a_request_travels_whole() -> None:
    request = Request.pad([[4, 5], [6]], [3, 4], [(), (7,)], [8, 9], Specials(0, 2, 3))
    workers: Workers[Request, Request] = Workers(lambda asked: asked, 1)
    ((_, returned),) = workers.results([request])
    workers.close()
    assert torch.equal(returned.source, request.source)
    assert torch.equal(returned.source_mask, request.source_mask)
    assert returned.prefixes == request.prefixes and returned.numbers == request.numbers


def test_there_is_a_core() -> None:
    assert 1 <= num_cores() <= (os.cpu_count() or 1)
