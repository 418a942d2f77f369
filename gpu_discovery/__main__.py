"""Where ``gpu-feature-discovery`` starts, also as ``python -m gpu_discovery``: before anything else is imported.

A start makes many objects and no garbage, and looking for some among them takes a twelfth of the time. So the collector
is off until the daemon turns it on for a process that stays.
"""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """The console script."""
    gc.disable()
    from gpu_discovery import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
