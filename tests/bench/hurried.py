"""The running labeler with a pass each millisecond, far more often than its flags allow, to see over many passes whether
it grows. Run as a script with the node's root, the feature file and the HTTP address, which may be empty.
"""

from __future__ import annotations

import sys

from gpu_discovery import daemon, settings

INTERVAL_S = 0.001


def main() -> None:
    """Run until a signal comes."""
    root, output_file, http_address = sys.argv[1:]
    wanted = settings.LabelerSettings(
        host_root=root,
        driver_root_ctr_path=root,
        output_file=output_file,
        http_address=http_address or None,
        sleep_interval_s=INTERVAL_S,
    )
    sys.exit(daemon.run_labeler(lambda: wanted))


if __name__ == "__main__":
    main()
