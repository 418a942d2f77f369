from __future__ import annotations

import os

from gpu_discovery.core.kit import streams


def test_what_is_buffered_for_a_closed_pipe_goes_nowhere() -> None:
    """Nor does anything written later raise; and no descriptor is left over."""
    read, write = os.pipe()
    os.close(read)
    stream = open(write, "w", encoding="utf-8")  # noqa: SIM115  closed by this test, which is about its closing
    stream.write("text")
    before = len(os.listdir("/proc/self/fd"))
    streams.silence(stream)
    assert len(os.listdir("/proc/self/fd")) == before
    stream.write("more")
    stream.close()
