"""Labels as ``key=value`` lines, the form of feature files and of standard output."""

from __future__ import annotations

from collections.abc import Mapping


def text(labels: Mapping[str, str]) -> str:
    """One line per label, sorted by key."""
    return "".join(f"{key}={value}\n" for key, value in sorted(labels.items()))


def parse(content: str) -> Mapping[str, str]:
    """What NFD would read from a feature file, whoever wrote it: comments skipped, a bare key is ``true``."""
    labels: dict[str, str] = {}
    for line in content.split("\n"):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            key, has_value, value = stripped.partition("=")
            labels[key] = value if has_value else "true"
    return labels
