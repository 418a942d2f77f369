"""What runs on the worker thread: a pass, which reads everything and publishes, and a look, which is cheap."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TextIO

from gpu_discovery import labeler as labelers, settings as labeler_settings
from gpu_discovery.core import model, snapshot as snapshots
from gpu_discovery.core.host import fingerprint
from gpu_discovery.core.kit import watch
from gpu_discovery.core.kit.frozen import frozen

HIDDEN_CHANGE_S = 4.0
"""Between passes where a change shows only in a pass: MIG layouts that this container doesn't see, a missing library."""

_WAITS_FOR_LIBRARY = (model.Finding.NVML_MISSING, model.Finding.PLATFORM_UNKNOWN)


@frozen
class Look:
    """Compared as a whole: another one asks for a pass."""

    node: fingerprint.Fingerprint | None
    """None where a recorded machine is replayed."""
    library: tuple[str, tuple[int, ...] | None]
    """Path and file of the driver's library, or of the recorded snapshot."""
    config: tuple[int, ...] | None
    """The config file; None without one."""


@frozen
class PassEnd:
    """What a pass leaves to the loop."""

    outcome: labelers.Outcome
    snapshot: model.Snapshot
    look: Look
    """Taken before the pass read anything."""
    duration_s: float
    restart_token: str | None
    next_in_s: float
    """The next pass is due no later."""

    @property
    def gpus_by_state(self) -> Mapping[str, int]:
        """``present``, ``lost``, ``unreadable``."""
        states = [gpu.state for gpu in self.snapshot.gpus if not gpu.is_display_adapter]
        lost = states.count(model.GpuState.LOST)
        return {"present": len(states) - lost, "lost": lost, "unreadable": len(self.snapshot.unreadable)}


@frozen
class Waiting:
    """The call that the worker is in."""

    call: str
    gpu: str


class Passes:
    """Everything passes need that outlives them, for one set of settings.

    ``predecessor`` had other settings: what it published last, and what it remembers of GPUs, is taken over.
    """

    def __init__(
        self, settings: labeler_settings.LabelerSettings, output: TextIO, predecessor: Passes | None = None
    ) -> None:
        self._settings = settings
        self.options = _read_options(settings)
        is_recorded = settings.snapshot_file is not None or settings.sample is not None
        self.cache = (
            None if is_recorded else self._inherited_cache(predecessor) or snapshots.SnapshotCache(self.options)
        )
        self._library: tuple[str, tuple[int, ...] | None] | None = None
        """As the last look found it: passes search for themselves, so they need not for the next look."""
        self.labeler: labelers.Labeler = labelers.make_labeler(
            settings, output, predecessor=None if predecessor is None else predecessor.labeler
        )

    @property
    def waiting(self) -> Waiting:
        """Which call a pass waits for; readable from another thread while it hangs."""
        in_flight = None if self.cache is None else self.cache.in_flight
        return Waiting("none of NVML", "") if in_flight is None else Waiting(in_flight.call, in_flight.gpu)

    def run(self) -> PassEnd:
        """Read, publish. Raises SnapshotError for a recorded machine that can't be read, else nothing of ours."""
        started = time.monotonic()
        look = self._look()
        snapshot = self._read()
        outcome = self.labeler.publish(snapshot)
        return PassEnd(
            outcome=outcome,
            snapshot=snapshot,
            look=look,
            duration_s=time.monotonic() - started,
            restart_token=None if self.cache is None else self.cache.restart_token,
            next_in_s=self._next_in_s(snapshot, look),
        )

    def look(self) -> Look:
        """What can change without telling us, cheaply."""
        self._library = None
        return self._look()

    def close(self, successor: Passes) -> None:
        """End a session that was kept open, unless the successor goes on with it. May hang, as any call."""
        if self.cache is not None and self.cache is not successor.cache:
            self.cache.close()

    def _look(self) -> Look:
        config = watch.file_signature(self._settings.config_file) if self._settings.config_file else None
        if self.cache is None:
            recorded = self._settings.snapshot_file or ""
            return Look(None, (recorded, watch.file_signature(recorded)), config)
        if self._library is None:
            self._library = self._find_library()
        return Look(fingerprint.read_fingerprint(self._settings.host_root), self._library, config)

    def _inherited_cache(self, predecessor: Passes | None) -> snapshots.SnapshotCache | None:
        """The predecessor's where it reads the same: it knows GPUs that no longer answer."""
        return predecessor.cache if predecessor is not None and predecessor.options == self.options else None

    def _read(self) -> model.Snapshot:
        if self.cache is not None:
            return snapshots.read_snapshot(self.options, self.cache)
        from gpu_discovery.core import samples

        return samples.read_recorded(snapshot_file=self._settings.snapshot_file, sample=self._settings.sample)

    def _find_library(self) -> tuple[str, tuple[int, ...] | None]:
        if self._settings.discovery_strategy not in ("auto", "nvml"):
            return "", None
        from gpu_discovery.core.nvml import library

        path = library.find_library(self._settings.driver_root_ctr_path).path
        return path, watch.file_signature(path) if path.startswith("/") else None

    def _next_in_s(self, snapshot: model.Snapshot, look: Look) -> float:
        has_hidden_changes = self._has_hidden_migs(snapshot, look) or snapshot.finding in _WAITS_FOR_LIBRARY
        return min(max(1.0, self.labeler.refresh_in_s()), HIDDEN_CHANGE_S if has_hidden_changes else math.inf)

    def _has_hidden_migs(self, snapshot: model.Snapshot, look: Look) -> bool:
        """A GPU can do MIG, which may also be switched on later, and this container doesn't see the layout."""
        if look.node is None or look.node.mig_tree_visible or self._settings.mig_strategy == "none":
            return False
        return any(gpu.mig is not None for gpu in snapshot.gpus)


def _read_options(settings: labeler_settings.LabelerSettings) -> snapshots.ReadOptions:
    return snapshots.ReadOptions(
        host_root=settings.host_root,
        driver_root_ctr_path=settings.driver_root_ctr_path,
        machine_type_file=settings.machine_type_file,
        discovery_strategy=settings.discovery_strategy,
        keep_nvml_open=settings.keep_nvml_open,
    )
