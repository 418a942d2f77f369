"""A main thread that only waits, and a worker thread that does what may hang.

A call into a driver can block for ever and cannot be interrupted. So it runs on a worker, while the main thread waits
in one ``poll`` for the worker, for signals and for file descriptors that tell of changes, and can still end the
process. There is one worker and it does one job at a time: a job that hangs is waited for, never doubled.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Generic, Protocol, TypeVar

from gpu_discovery.core.kit.frozen import frozen

T = TypeVar("T")

_READ_BYTES = 4096
_LONGEST_S = 3600.0
_OF_THE_MAIN_THREAD = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


class HasNews(Protocol):
    """A source of wake-ups."""

    @property
    def fd(self) -> int:
        """Readable when there is news."""

    def has_news(self) -> bool:
        """Read and forget it; False if it was nothing to act on."""


@frozen
class Woken:
    """Why a wait ended; all empty when the time was up."""

    signals: tuple[int, ...] = ()
    """Signal numbers, in the order in which they came."""
    news: tuple[HasNews, ...] = ()


class Waiter:
    """One ``poll`` over signals, wake-ups from other threads and sources of news."""

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._read_fd, select.POLLIN)
        self._sources: dict[int, HasNews] = {}
        self._caught: tuple[signal.Signals, ...] = ()

    def listen(self, source: HasNews) -> None:
        """Wake when this source has news."""
        self._sources[source.fd] = source
        self._poll.register(source.fd, select.POLLIN)

    def catch_signals(self, signals: Iterable[signal.Signals]) -> None:
        """Wake on these signals instead of what they would do; for the main thread only.

        Those that were held back (``hold_signals``) before this program was executed anew come now.
        """
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._caught = tuple(signals)
        for number in self._caught:
            signal.signal(number, _caught)
        self.release_signals()

    def hold_signals(self) -> None:
        """Let caught signals wait, those too that came and were not waited for yet, over an ``exec`` as well."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._caught)
        for number in self.wait(0).signals:
            signal.raise_signal(number)

    def release_signals(self) -> None:
        """Take up the signals that waited."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._caught)

    def wake(self) -> None:
        """End the wait; from any thread."""
        try:
            os.write(self._write_fd, b"\0")
        except BlockingIOError:
            return  # The pipe is full of reasons to wake.

    def wait(self, timeout_s: float) -> Woken:
        """Sleep until something happens, at most so long."""
        ready = self._poll.poll(int(min(timeout_s, _LONGEST_S) * 1000) + 1 if timeout_s > 0 else 0)
        signals: tuple[int, ...] = ()
        news: list[HasNews] = []
        for fd, _ in ready:
            if fd == self._read_fd:
                signals = tuple(number for number in os.read(fd, _READ_BYTES) if number)
            elif self._sources[fd].has_news():
                news.append(self._sources[fd])
        return Woken(signals, tuple(news))

    def close(self) -> None:
        """Give back the pipe; the sources belong to whoever made them."""
        signal.set_wakeup_fd(-1)
        os.close(self._read_fd)
        os.close(self._write_fd)


@frozen
class Done(Generic[T]):
    """What became of a job: a value, or the error it ended with."""

    value: T | None
    error: Exception | None


class Worker(Generic[T]):
    """A thread that does one job at a time and tells when it is done."""

    def __init__(self, name: str, on_done: Callable[[], None]) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], T] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Done[T]] = queue.SimpleQueue()
        self._on_done = on_done
        start_thread(name, self._run)

    def start(self, job: Callable[[], T]) -> None:
        """Do ``job`` next; only once the end of the last one was taken."""
        self._jobs.put(job)

    def take(self, timeout_s: float | None = None) -> Done[T] | None:
        """The end of the job, once; None while there is none. Waits at most ``timeout_s`` where given."""
        try:
            return self._done.get(block=timeout_s is not None, timeout=timeout_s)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """End the thread after the job at hand; does not wait."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put(_ended(job))
            del job
            self._on_done()


def start_thread(name: str, run: Callable[[], None]) -> threading.Thread:
    """A thread that neither keeps the process from ending nor takes a signal from the main thread.

    A signal goes to any thread that doesn't block it. One taken elsewhere while the main thread holds signals back
    would be lost with this program. Threads that this one starts inherit that.
    """
    thread = threading.Thread(target=run, name=name, daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_THE_MAIN_THREAD)
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread


def _ended(job: Callable[[], T]) -> Done[T]:
    try:
        return Done(job(), None)
    except Exception as error:  # noqa: BLE001 - the loop's boundary: whoever takes the end judges the error.
        return Done(None, error)


def _caught(_number: int, _frame: FrameType | None) -> None:
    """The number is already in the pipe; that a handler is there keeps the signal from its default."""
