from __future__ import annotations

import io
import os

import pytest

from gpu_discovery.core import errors
from gpu_discovery.sinks import stdout


def test_labels_are_printed_sorted_and_only_when_they_change():
    """Three publishes of two sets print two sets."""
    stream = io.StringIO()
    sink = stdout.Stdout(stream)
    assert [sink.publish({"b": "1", "a": "2"}), sink.publish({"a": "2", "b": "1"}), sink.publish({"a": "3"})] == [
        True,
        False,
        True,
    ]
    assert stream.getvalue() == "a=2\nb=1\na=3\n"
    sink.remove()
    assert sink.published() is None
    assert sink.refresh_in_s() == float("inf")


def test_a_closed_pipe_is_an_error_of_ours():
    """Whoever read our output is gone: told as a failed publish, and tried again in the next pass."""
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    stream = os.fdopen(write_fd, "w")
    with pytest.raises(errors.PublishFailed, match="standard output"):
        stdout.Stdout(stream).publish({"a": "b"})
    with pytest.raises(BrokenPipeError):
        stream.close()
