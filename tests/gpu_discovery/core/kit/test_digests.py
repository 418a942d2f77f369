"""Names for content."""

from __future__ import annotations

import hashlib

from gpu_discovery.core.kit import digests


def test_is_blake2b_of_the_utf8_text() -> None:
    """The digest is a published function of the text, so that any program can compare."""
    assert digests.digest("é") == hashlib.blake2b("é".encode(), digest_size=16).hexdigest()


def test_takes_any_text() -> None:
    """A lone surrogate, as a JSON file may hold, is hashed like anything else."""
    assert len(digests.digest("\ud800", size=4)) == 8
