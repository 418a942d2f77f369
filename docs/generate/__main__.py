"""``python -m docs.generate``: write every generated page; with ``--check`` only say which of them are not current."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from docs.generate import config_page, config_schema, labels_page, settings_page, snapshot_page, snapshot_schema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = (
    config_page,
    config_schema,
    labels_page,
    settings_page,
    snapshot_page,
    snapshot_schema,
)


def main() -> None:
    """Write what differs, or fail when anything does."""
    is_check = sys.argv[1:] == ["--check"]
    stale = list(_differing_pages())
    for page, text in stale:
        print(f"{page}: {'not current, run `make docs`' if is_check else 'written'}")
        if not is_check:
            with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                file.write(text)
    sys.exit(bool(is_check and stale))


def _differing_pages() -> Iterator[tuple[str, str]]:
    for generator in PAGES:
        text = generator.render()
        if _read(os.path.join(ROOT, generator.PAGE)) != text:
            yield generator.PAGE, text


def _read(path: str) -> str | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    main()
