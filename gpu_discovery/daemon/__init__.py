"""When to look: once, periodically, and soon after anything that matters has changed.

``schedule`` is the timing, pure; ``passes`` is what runs on the worker thread; ``loop`` joins both with signals and
reloads; ``process`` is what the operating system sees: threads, signals, exit codes, executing anew. Labels, sinks
and the policy on last-good output are ``labeler``'s. Only ``cli`` imports this.
"""

from __future__ import annotations

from gpu_discovery.daemon.process import run_labeler as run_labeler
