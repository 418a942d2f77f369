"""Generated pages: what the code knows, written for people, and checked in CI so that it can't go stale.

One module per page. Each has ``PAGE``, the page's path from the top of the repository, and ``render() -> str``, its
whole text; each is listed in ``__main__``. ``make docs`` writes the pages, ``make docs-check`` fails when one differs.
"""
