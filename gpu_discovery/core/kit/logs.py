"""One line per event, as text or JSON, on standard error; and each standing cause said once.

A line is a constant message with ``key=value`` context, so that it can be searched for and counted. Control
characters are escaped: whatever a driver or a file puts into a value, an event stays one line.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TextIO

LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
FORMATS = ("text", "json")

_ROOT = "gpu_discovery"
_CONTEXT = "context"
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
_NEEDS_QUOTES = frozenset(' "=')


class Log:
    """A logger whose context is given as keywords: ``log.info("labels published", sink="file", labels=31)``."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, message: str, **context: object) -> None:
        """Detail for whoever looks into a problem; off by default."""
        self._log(logging.DEBUG, message, context)

    def info(self, message: str, **context: object) -> None:
        """A change of state."""
        self._log(logging.INFO, message, context)

    def warning(self, message: str, **context: object) -> None:
        """Something an operator should look at; the program goes on."""
        self._log(logging.WARNING, message, context)

    def error(self, message: str, **context: object) -> None:
        """The program ends, or cannot do what it is for."""
        self._log(logging.ERROR, message, context)

    def _log(self, level: int, message: str, context: Mapping[str, object]) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", message, extra={_CONTEXT: context})


class OncePerCause:
    """Says each cause when it appears or its text changes, and once more when it is gone; silent in between."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._standing: dict[str, tuple[str, float]] = {}

    def report(self, causes: Mapping[str, str]) -> None:
        """``causes`` is everything that is wrong now: stable cause → text for people."""
        if not causes and not self._standing:
            return
        now = self._clock()
        for cause, text in causes.items():
            said, since = self._standing.get(cause, ("", now))
            if said != text:
                self._log.warning(text, cause=cause)
                self._standing[cause] = (text, since)
        for cause in [cause for cause in self._standing if cause not in causes]:
            _, since = self._standing.pop(cause)
            self._log.info("recovered", cause=cause, after_s=round(now - since, 1))


def configure(*, log_format: str, level: str, stream: TextIO) -> None:
    """Send this product's events to ``stream``; called again it changes format and level."""
    logger = logging.getLogger(_ROOT)
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    handler = _Handler(stream)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    logger.addHandler(handler)
    logger.setLevel(LEVELS[level])
    logger.propagate = False


def one_line(text: str) -> str:
    """``text`` with every control character and line separator escaped."""
    return text.translate(_ESCAPES)


class _Handler(logging.StreamHandler[TextIO]):
    """Ignores a stream that can't be written to: a closed log must not end the program."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's.
        """Drop the event."""


class _TextFormatter(logging.Formatter):
    """``INFO 2025-12-01T10:00:00.123Z labels published sink=file labels=31``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line without its end."""
        pairs = "".join(f" {key}={_quoted(value)}" for key, value in _context(record).items())
        return f"{record.levelname} {_timestamp(record)} {one_line(record.getMessage())}{pairs}"


class _JsonFormatter(logging.Formatter):
    """``{"time": …, "level": "info", "message": …, …}``; a context key never hides one of the three."""

    def format(self, record: logging.LogRecord) -> str:
        """One line without its end."""
        import json

        event: dict[str, object] = dict(_context(record))
        event |= {"time": _timestamp(record), "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps(event, default=str, sort_keys=True)


def _context(record: logging.LogRecord) -> Mapping[str, object]:
    context: Mapping[str, object] = getattr(record, _CONTEXT, {})
    return context


def _timestamp(record: logging.LogRecord) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{whole}.{int(record.msecs):03d}Z"


def _quoted(value: object) -> str:
    text = one_line(str(value))
    if text and not _NEEDS_QUOTES.intersection(text):
        return text
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'
