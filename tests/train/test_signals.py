"""The first signal asks, the second acts."""

import signal

import pytest

from regard.train.signals import stopping_politely


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_for_a_stop(number: signal.Signals) -> None:
    asked: list[bool] = []
    with stopping_politely(lambda: asked.append(True)) as received:
        signal.raise_signal(number)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert asked == [True]
    assert received == [number]


def test_the_handlers_of_before_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stopping_politely(lambda: None) as received:
        assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) != before
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert received == []
