"""Picture → labels → sinks, and what stays published when a pass fails.

The policy on last-good output and staleness is here and nowhere else: views say what a snapshot means, sinks carry it
out. ``policy`` chooses what is to be published, ``unread`` what keeps its value because a fact could not be read;
both are pure. ``publishing`` joins them with the views and the sinks. When to look is ``daemon``'s, which imports
this, as does ``device_plugin`` where both programs are one process.
"""

from __future__ import annotations

from gpu_discovery.labeler.publishing import (
    Labeler as Labeler,
    Labels as Labels,
    Outcome as Outcome,
    make_labeler as make_labeler,
)
