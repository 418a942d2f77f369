from __future__ import annotations

import io
import json

import pytest

from gpu_discovery.core.kit import logs


@pytest.fixture
def stream():
    """The place that events go to."""
    stream = io.StringIO()
    yield stream
    logs.configure(log_format="text", level="info", stream=io.StringIO())


def test_text_is_one_line_with_context(stream):
    """Level, time, message, then pairs; values with spaces are quoted."""
    logs.configure(log_format="text", level="info", stream=stream)
    logs.Log("gpu_discovery.test").info("labels published", sink="file", reason="it changed")
    level, _, rest = stream.getvalue().partition(" ")
    stamp, _, rest = rest.partition(" ")
    assert (level, rest) == ("INFO", 'labels published sink=file reason="it changed"\n')
    assert stamp.endswith("Z")


@pytest.mark.parametrize("log_format", logs.FORMATS)
def test_an_event_stays_one_line_whatever_is_in_it(stream, log_format):
    """Line ends of every kind in message or value can't forge a second event."""
    logs.configure(log_format=log_format, level="info", stream=stream)
    logs.Log("gpu_discovery.test").error("a\nERROR b", value="x\r\ny\u2028z\x1b[2J\x85")
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


def test_json_carries_the_context_as_fields(stream):
    """Each event is one object; a context key does not hide level, time or message."""
    logs.configure(log_format="json", level="info", stream=stream)
    logs.Log("gpu_discovery.test").warning("slow", seconds=2.5, level="hidden")
    event = json.loads(stream.getvalue())
    assert (event["level"], event["message"], event["seconds"]) == ("warning", "slow", 2.5)


def test_level_filters(stream):
    """Below the level nothing is written."""
    logs.configure(log_format="text", level="warning", stream=stream)
    log = logs.Log("gpu_discovery.test")
    log.info("quiet")
    log.debug("quiet")
    log.warning("loud")
    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()


def test_a_closed_stream_is_ignored(stream):
    """A log that can't be written does not end the program."""
    closed = io.StringIO()
    logs.configure(log_format="text", level="info", stream=closed)
    closed.close()
    logs.Log("gpu_discovery.test").info("lost")


def test_a_cause_is_said_once_again_when_it_changes_and_when_it_is_gone(stream):
    """Over six passes: appears, stands, changes, stands, clears, stays clear: three lines."""
    logs.configure(log_format="text", level="info", stream=stream)
    now = [100.0]
    once = logs.OncePerCause(logs.Log("gpu_discovery.test"), clock=lambda: now[0])
    for causes in ({"disk": "full"}, {"disk": "full"}, {"disk": "read-only"}, {"disk": "read-only"}, {}, {}):
        once.report(causes)
        now[0] += 10
    lines = [line.split(" ", 2)[2] for line in stream.getvalue().splitlines()]
    assert lines == ["full cause=disk", "read-only cause=disk", "recovered cause=disk after_s=40.0"]
