"""Reads a config file into a ``types.Config``, strictly, and reports every fault with its line.

Strict is the default because what is ignored without a word is found weeks later. The lenient mode is for moving over:
what the reference passes over (unknown keys, other letter case, duplicates, further documents) is a warning there. Wrong
types and impossible values are faults in both, as in the reference.
"""

from __future__ import annotations

import dataclasses
import os
import select
from collections.abc import Collection, Mapping

from gpu_discovery.core import errors
from gpu_discovery.core.config import reading, types
from gpu_discovery.core.kit.frozen import frozen

PIPE_PATIENCE_S = 3
"""How long a pipe (``<(…)`` in a shell) may say nothing; a regular file never makes one wait."""


@frozen
class Loaded:
    """A file that was read."""

    config: types.Config
    warnings: tuple[str, ...]
    lines: Mapping[str, int]
    """1-based line by dotted key path (``sharing.timeSlicing.resources[0].replicas``)."""

    def line_of(self, path: str) -> int | None:
        """The line of a path, or of the nearest thing around it; None for what the file says nothing of."""
        return reading.line_of(self.lines, path)


def load_file(path: str, *, lenient: bool = False, reference_compat: Collection[str] | None = None) -> Loaded:
    """Read a file. Raises ConfigError: the first fault, with all further ones in ``others``.

    ``reference_compat`` overrides the file's own ``gpuDiscovery.referenceCompat``; None: the file's counts.
    """
    return parse_config(read_bytes(path), path, lenient=lenient, reference_compat=reference_compat)


def parse_config(
    text: str | bytes, file: str, *, lenient: bool = False, reference_compat: Collection[str] | None = None
) -> Loaded:
    """Read a text as the file ``file``; as ``load_file``."""
    # A process without a config file loads neither PyYAML nor the table.
    from gpu_discovery.core.config import checks, compat, hints

    gathered = reading.Reading(file, is_lenient=lenient, hint_for=hints.for_unknown_key)
    config = _read(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, gathered)
    if reference_compat is not None:
        own = dataclasses.replace(config.own, reference_compat=tuple(reference_compat))
        config = dataclasses.replace(config, own=own)
    warnings: tuple[str, ...] = ()
    if compat.IGNORE_CUSTOMISATION in config.own.reference_compat:
        config, warnings = compat.without_customisation(config)
    checks.check(config, gathered)
    gathered.raise_faults()
    return Loaded(config, (*gathered.warnings, *(f"{file}: {warning}" for warning in warnings)), gathered.lines)


def read_bytes(path: str, *, pipe_patience_s: float = PIPE_PATIENCE_S) -> bytes:
    """The file's bytes, one more than allowed at most. Raises ConfigUnreadable."""
    from gpu_discovery.core.config import yaml_tree

    try:
        # Not blocking: a pipe that nobody writes to would hold up the open, and with it whoever waits for a signal.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return _read_up_to(yaml_tree.LARGEST_FILE_BYTES + 1, fd, pipe_patience_s)
        finally:
            os.close(fd)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise errors.ConfigUnreadable(f"opening the config file failed: {reason}", file=path) from error
    except ValueError as error:
        raise errors.ConfigUnreadable(f"opening the config file failed: {error}", file=repr(path)) from error


def _read_up_to(most: int, fd: int, pipe_patience_s: float) -> bytes:
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    data = b""
    while len(data) < most:
        if not waiting.poll(pipe_patience_s * 1000):
            raise TimeoutError(f"it is a pipe to which nobody has written for {pipe_patience_s:g} s")
        chunk = os.read(fd, most - len(data))
        if not chunk:
            break
        data += chunk
    return data


def _read(data: bytes, gathered: reading.Reading) -> types.Config:
    from gpu_discovery.core.config import schema, yaml_tree

    try:
        document = yaml_tree.parse(data)
    except yaml_tree.YamlFault as error:
        raise errors.ConfigError(error.reason, file=gathered.file, line=error.line) from error
    if document.second_line is not None:
        gathered.slip("", document.second_line, "a second document begins here", "only the first one is read")
    root = document.root
    if root is None or (isinstance(root, yaml_tree.Scalar) and root.value is None):
        return types.Config()
    found = schema.ROOT.read(root, "", gathered)
    gathered.raise_faults()
    # Without a fault there is a config; the default only satisfies the type checker.
    return found if isinstance(found, types.Config) else types.Config()
