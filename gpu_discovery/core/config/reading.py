"""What is gathered while one file is read: faults, warnings, and the line of every key.

A fault doesn't end the reading, so that a person sees all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_discovery.core import errors

MOST_FAULTS = 100
"""A file that is something else altogether has thousands; nobody reads on."""


def line_of(lines: Mapping[str, int], path: str) -> int | None:
    """The line of a path or, where its key was left out, of the nearest thing around it that stands in the file."""
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return None


class Reading:
    """The faults, warnings and lines of one file."""

    def __init__(self, file: str, *, is_lenient: bool, hint_for: Callable[[str, str], str]) -> None:
        self.file = file
        self.is_lenient = is_lenient
        self.hint_for = hint_for
        """(unknown key, path of the object it stands in) → what to write instead."""
        self.faults: list[errors.ConfigError] = []
        self.warnings: list[str] = []
        self._lines: dict[str, int] = {}

    @property
    def lines(self) -> Mapping[str, int]:
        """Line by dotted key path."""
        return self._lines

    def line(self, path: str) -> int | None:
        """See ``line_of``."""
        return line_of(self._lines, path)

    def place(self, path: str, line: int) -> None:
        """Remember where a key or list element stands."""
        self._lines[path] = line

    def fault(self, path: str, line: int | None, reason: str, hint: str = "") -> None:
        """Something that no mode accepts."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(errors.ConfigError(reason, path=path, file=self.file, line=line, hint=hint))

    def slip(self, path: str, line: int | None, reason: str, hint: str = "") -> None:
        """Something that the reference passes over: a fault, or only a warning in lenient mode."""
        if not self.is_lenient:
            self.fault(path, line, reason, hint)
        elif len(self.warnings) < MOST_FAULTS:
            error = errors.ConfigError(reason, path=path, file=self.file, line=line, hint=hint)
            self.warnings.append(error.text)

    def raise_faults(self) -> None:
        """Raise the first fault in the order of lines, with the others beside it."""
        if self.faults:
            first, *others = sorted(self.faults, key=lambda fault: fault.line or 0)
            first.others = tuple(others)
            raise first
