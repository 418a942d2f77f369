from __future__ import annotations

import os
import signal
import threading

import pytest

from gpu_discovery.core.kit import loops


@pytest.fixture
def waiter():
    """A waiter that is closed, with the signal dispositions as before."""
    before = signal.getsignal(signal.SIGUSR1)
    waiter = loops.Waiter()
    yield waiter
    waiter.close()
    signal.signal(signal.SIGUSR1, before)


class Pipe:
    """A source of news."""

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe2(os.O_NONBLOCK)

    def tell(self, word: bytes) -> None:
        os.write(self._write_fd, word)

    def has_news(self) -> bool:
        return os.read(self.fd, 100) != b"boring"

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._write_fd)


def test_a_signal_ends_the_wait_and_is_named(waiter):
    """The number of a caught signal comes out of the wait."""
    waiter.catch_signals([signal.SIGUSR1])
    signal.raise_signal(signal.SIGUSR1)
    assert waiter.wait(60).signals == (signal.SIGUSR1,)


def test_signals_that_are_held_back_come_when_released(waiter):
    """Those that were not yet waited for, and those that come meanwhile."""
    waiter.catch_signals([signal.SIGUSR1])
    signal.raise_signal(signal.SIGUSR1)
    waiter.hold_signals()
    assert waiter.wait(0).signals == ()
    signal.raise_signal(signal.SIGUSR1)
    assert waiter.wait(0).signals == ()
    waiter.release_signals()
    assert waiter.wait(60).signals == (signal.SIGUSR1,)


def test_another_thread_can_wake(waiter):
    """A wake from a thread ends the wait, without a signal."""
    threading.Thread(target=waiter.wake).start()
    assert waiter.wait(60) == loops.Woken()


def test_news_is_told_apart_from_noise(waiter):
    """A source that says its event was nothing is not among the news."""
    pipe = Pipe()
    waiter.listen(pipe)
    pipe.tell(b"boring")
    assert waiter.wait(60).news == ()
    pipe.tell(b"driver loaded")
    assert waiter.wait(60).news == (pipe,)
    pipe.close()


def test_waking_never_blocks(waiter):
    """A pipe full of wake-ups takes one more."""
    for _ in range(100_000):
        waiter.wake()
    assert waiter.wait(0) == loops.Woken()


def test_the_time_is_up(waiter):
    """Without an event a wait of no time returns empty."""
    assert waiter.wait(0) == loops.Woken()


def test_a_job_gives_its_value_once():
    """Taken once, and only when it is there."""
    done = threading.Event()
    worker = loops.Worker("test", done.set)
    worker.start(lambda: 42)
    assert worker.take(60) == loops.Done(42, None)
    assert worker.take() is None
    worker.stop()


def test_a_job_that_fails_gives_its_error_and_the_worker_goes_on():
    """An exception ends the job, not the thread."""
    worker = loops.Worker("test", lambda: None)
    worker.start(lambda: 1 // 0)
    done = worker.take(60)
    assert done is not None
    assert isinstance(done.error, ZeroDivisionError)
    worker.start(lambda: 7)
    assert worker.take(60) == loops.Done(7, None)
    worker.stop()


def test_a_job_that_hangs_can_be_left():
    """Taking gives nothing while the job runs, and its end later."""
    release = threading.Event()
    worker = loops.Worker("test", lambda: None)
    worker.start(release.wait)
    assert worker.take() is None
    release.set()
    assert worker.take(60) == loops.Done(True, None)
    worker.stop()


def test_only_the_main_thread_takes_signals():
    """A worker, and whatever it starts, holds back the signals that the process is ended and reloaded with."""
    worker = loops.Worker("test", lambda: None)
    worker.start(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    held = worker.take(60).value
    worker.stop()
    assert held >= {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP}
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
