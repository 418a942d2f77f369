"""Every error this product raises on purpose, as one tree.

    DiscoveryError
    ├── SettingsError            what the person gave cannot be used; a usage error, exit code 1
    │   └── ConfigError          the config file; carries file, line, key path, hint
    │       └── ConfigUnreadable   it is not there, or cannot be opened
    ├── SnapshotError            a recorded snapshot cannot be read
    ├── NvmlUnavailable          NVML as a whole cannot be used; carries the finding and the code
    ├── NvmlCallFailed           one NVML call failed; carries call, code and the GPU it was for
    │   ├── NotSupported           the device or the driver does not offer it (a value, not a fault)
    │   ├── NotFound               an empty slot
    │   └── GpuLost                the GPU fell off the bus or needs a reset
    ├── CudaCallFailed           one CUDA driver call failed (Tegra)
    ├── HostFileUnreadable       a file under the host root cannot be read
    └── PublishFailed            a sink could not carry the labels out; carries the target and what to do

Messages start in lower case with what was attempted and name the thing: file, key, line, device. Nothing above
``core.nvml`` sees pynvml's exceptions, nothing above a sink sees ``OSError``.
"""

from __future__ import annotations

_MOST_FAULTS_SHOWN = 10


class DiscoveryError(Exception):
    """The root of the tree; the loop's boundary catches this and nothing narrower."""


class SettingsError(DiscoveryError):
    """An option or environment variable that cannot be used."""


class ConfigError(SettingsError):
    """One fault in the config file.

    ``file`` is the path as given, ``line`` is 1-based or None where no line applies (an entry that is
    impossible on this node), ``path`` is the dotted key path with list indices (``sharing.timeSlicing.resources[0].replicas``),
    ``reason`` says what is wrong and ``hint`` what to write instead.
    """

    def __init__(self, reason: str, *, path: str = "", file: str = "", line: int | None = None, hint: str = "") -> None:
        self.reason = reason
        self.path = path
        self.file = file
        self.line = line
        self.hint = hint
        self.others: tuple[ConfigError, ...] = ()
        """Further faults of the same file, in the order of lines."""
        super().__init__(reason)

    @property
    def text(self) -> str:
        """This fault alone: ``file:line: path: reason (hint)``."""
        where = f"{self.file}:{self.line}" if self.file and self.line is not None else self.file
        parts = [part for part in (where, self.path, self.reason) if part]
        return ": ".join(parts) + (f" ({self.hint})" if self.hint else "")

    def __str__(self) -> str:
        """This fault and the others of the file, on one line."""
        texts = [fault.text for fault in (self, *self.others)]
        more = len(texts) - _MOST_FAULTS_SHOWN
        rest = [f"and {more} more, which `gpu-discovery validate` shows"] if more > 0 else []
        return "; ".join(texts[:_MOST_FAULTS_SHOWN] + rest)

    def located(self, file: str, line: int | None) -> ConfigError:
        """The same fault with its place in the file filled in."""
        return ConfigError(self.reason, path=self.path, file=file, line=line, hint=self.hint)


class ConfigUnreadable(ConfigError):
    """The config file as a whole: nothing is known of what stands in it."""


class SnapshotError(DiscoveryError):
    """A recorded snapshot that is not one, or is of a version this program does not read."""


class NvmlUnavailable(DiscoveryError):
    """NVML cannot be used at all; ``finding`` is the name of a ``model.Finding``, ``code`` NVML's return code."""

    def __init__(self, message: str, *, finding: str, code: int | None = None) -> None:
        self.finding = finding
        self.code = code
        super().__init__(message)


class NvmlCallFailed(DiscoveryError):
    """One NVML call returned an error that is neither unsupported, not found nor lost."""

    def __init__(self, call: str, code: int, name: str, gpu: str = "") -> None:
        self.call = call
        self.code = code
        self.name = name
        self.gpu = gpu
        on = f" for GPU {gpu}" if gpu else ""
        super().__init__(f"{call}{on} failed with {name} ({code})")


class NotSupported(NvmlCallFailed):
    """The device or this driver version does not offer the fact."""


class NotFound(NvmlCallFailed):
    """Nothing stands at this slot, index or id."""


class GpuLost(NvmlCallFailed):
    """The GPU is lost or needs a reset; what was read earlier stays its identity."""


class CudaCallFailed(DiscoveryError):
    """One CUDA driver API call failed."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.call = call
        self.code = code
        self.name = name
        super().__init__(f"{call} failed with {name} ({code})")


class HostFileUnreadable(DiscoveryError):
    """A file under the host root that is there cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"reading {path} failed: {reason}")


class PublishFailed(DiscoveryError):
    """A sink could not publish; ``cause`` is a stable short key, so that one cause is logged once."""

    def __init__(self, message: str, *, cause: str) -> None:
        self.cause = cause
        super().__init__(message)
