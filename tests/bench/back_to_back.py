"""One unchanged pass after another in a process of its own; prints the CPU time of one in milliseconds.

What a pass itself costs, without what sleeping adds: between two passes of the running labeler others use the
processor's caches, so that the same instructions take longer. Run as a script with the node's root and a count.
"""

from __future__ import annotations

import sys
import time

from gpu_discovery import settings
from gpu_discovery.daemon import passes

WARM_PASSES = 20


def main() -> None:
    """Warm up, then measure."""
    root, output_file, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    subject = passes.Passes(
        settings.LabelerSettings(host_root=root, driver_root_ctr_path=root, output_file=output_file), sys.stdout
    )
    for _ in range(WARM_PASSES):
        subject.run()
    before = time.process_time()
    for _ in range(count):
        subject.run()
    print((time.process_time() - before) / count * 1000)


if __name__ == "__main__":
    main()
