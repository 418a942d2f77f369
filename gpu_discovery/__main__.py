"""``python -m gpu_discovery`` is ``gpu-feature-discovery``."""

from __future__ import annotations

import sys

from gpu_discovery import cli

if __name__ == "__main__":
    sys.exit(cli.main())
