"""Closed sets of values, default paths, and texts with a form of their own: resource names, device references, addresses.

Shared by the config file and the command line, so that both refuse the same things with the same words. Every
``parse_*`` returns the canonical form or raises ValueError with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gpu_discovery.core import model
from gpu_discovery.core.kit import logs

RESOURCE_PREFIX = "nvidia.com/"
LONGEST_RESOURCE_NAME = 63

MIG_STRATEGIES = ("none", "single", "mixed")
DISCOVERY_STRATEGIES = ("auto", "nvml", "tegra", "vfio")
DEVICE_LIST_STRATEGIES = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
DEVICE_ID_STRATEGIES = ("uuid", "index")
ALLOCATION_POLICIES = ("distributed", "packed")
UNMATCHED_GPUS = ("default", "skip", "error")
EXTRA_LABELS = ("models", "counts", "devices", "share-memory")
PUBLISH = ("file", "stdout")
LOG_FORMATS = logs.FORMATS
LOG_LEVELS = tuple(logs.LEVELS)

DEFAULT_OUTPUT_FILE = "/etc/kubernetes/node-feature-discovery/features.d/gfd"
DEFAULT_MACHINE_TYPE_FILE = "/sys/class/dmi/id/product_name"
DEFAULT_DRIVER_ROOT_CTR_PATH = "/driver-root"
LEAST_SPAN_S = 1.0
"""Of a time after which something is given up."""

SUBDOMAIN_PATTERN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
"""RFC 1123, without its length."""
_PLAIN_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
UUID_PATTERN = rf"({_PLAIN_UUID}|[uU][rR][nN]:[uU][uU][iI][dD]:{_PLAIN_UUID}|\{{{_PLAIN_UUID}\}}|[0-9a-fA-F]{{32}})"
"""What google/uuid reads: plain, behind ``urn:uuid:``, in braces, or without dashes."""
PCI_ADDRESS_PATTERN = r"([0-9a-fA-F]{4}([0-9a-fA-F]{4})?:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_PORT = r"([0-9]{1,4}|[0-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HTTP_ADDRESS_PATTERN = rf"(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]*):{_PORT}"

_SUBDOMAIN = re.compile(SUBDOMAIN_PATTERN)
_UUID = re.compile(UUID_PATTERN)
_PCI_ADDRESS = re.compile(PCI_ADDRESS_PATTERN)
_HTTP_ADDRESS = re.compile(HTTP_ADDRESS_PATTERN)
_INDEX = re.compile(r"[0-9]{1,9}")
_LEGACY_MIG = re.compile(r"MIG-GPU-(?P<uuid>.+)/(?P<gi>[0-9]{1,9})/(?P<ci>[0-9]{1,9})")


def parse_choice(text: str, valid: Collection[str]) -> str:
    """One of a closed set, letter case and all."""
    if text not in valid:
        raise ValueError(f"{shown(text)} is not valid here; valid: {', '.join(valid)}")
    return text


def checked_span_s(seconds: float) -> float:
    """A time after which something is given up or runs out, in seconds; infinite: never."""
    if seconds < LEAST_SPAN_S:
        raise ValueError("must be at least 1s, or infinite for never")
    return seconds


def checked_interval_s(seconds: float) -> float:
    """A time between two passes, in seconds."""
    if seconds < 0:
        raise ValueError("is negative; give a time such as 60s, or infinite")
    return seconds


def parse_text(text: str) -> str:
    """A text without control characters: a path, a prefix."""
    if any(character < " " or character == "\x7f" for character in text):
        raise ValueError(f"{shown(text)} has a control character in it")
    return text


def parse_pattern(text: str) -> str:
    """A glob on a product or profile; an empty one would match nothing."""
    if not text:
        raise ValueError("the pattern is empty and would match nothing; '*' matches everything")
    return parse_text(text)


def parse_resource_name(text: str) -> model.ResourceName:
    """A resource's full name; ``nvidia.com/`` is put in front where it is missing."""
    name = text if text.startswith(RESOURCE_PREFIX) else RESOURCE_PREFIX + text
    if len(name) > LONGEST_RESOURCE_NAME:
        raise ValueError(
            f"fully-qualified resource name must be {LONGEST_RESOURCE_NAME} characters or less: {shown(name)}"
        )
    if _SUBDOMAIN.fullmatch(name.partition("/")[2]) is None:
        raise ValueError(
            f"incorrect format for resource name {shown(text)}: after {RESOURCE_PREFIX} come lower-case letters, digits, "
            "'-' and '.', beginning and ending with a letter or digit"
        )
    return model.ResourceName(name)


def default_rename(name: model.ResourceName) -> model.ResourceName:
    """What ``renameByDefault`` calls a shared resource."""
    return model.ResourceName(f"{name}.shared")


def parse_device_ref(text: str) -> str:
    """A GPU index, MIG index, GPU UUID or MIG UUID in canonical form."""
    parts = text.split(":")
    if len(parts) <= 2 and all(_INDEX.fullmatch(part) for part in parts):
        return ":".join(str(int(part)) for part in parts)
    legacy = _LEGACY_MIG.fullmatch(text)
    if legacy is not None:
        return f"MIG-GPU-{_canonical_uuid(legacy['uuid'])}/{int(legacy['gi'])}/{int(legacy['ci'])}"
    prefix, _, uuid = text.partition("-")
    if prefix in ("GPU", "MIG") and uuid:
        return f"{prefix}-{_canonical_uuid(uuid)}"
    raise ValueError(f"{shown(text)} names no device; write an index (0), a MIG index (0:1), GPU-<uuid> or MIG-<uuid>")


def parse_gpu_uuid(text: str) -> str:
    """A GPU's UUID in canonical form."""
    if not text.startswith("GPU-"):
        raise ValueError(f"{shown(text)} is not the UUID of a GPU; write GPU-<uuid> as nvidia-smi -L prints it")
    return "GPU-" + _canonical_uuid(text.removeprefix("GPU-"))


def parse_pci_address(text: str) -> str:
    """A PCI address as sysfs writes it, ``0000:07:00.0``; the domain may be missing or have eight digits."""
    if _PCI_ADDRESS.fullmatch(text) is None:
        raise ValueError(f"{shown(text)} is not a PCI address; write it as lspci -D does: 0000:07:00.0")
    domain, bus, device = ("0000:" + text if text.count(":") == 1 else text).lower().split(":")
    return f"{int(domain, 16):04x}:{bus}:{device}"


def parse_http_address(text: str) -> str:
    """``host:port``, ``:port`` or ``[v6]:port``; an empty text stands for no port."""
    if text and _HTTP_ADDRESS.fullmatch(text) is None:
        raise ValueError(f"{shown(text)} is not host:port; write :9402 or 127.0.0.1:9402 or [::1]:9402")
    return text


def shown(text: str, *, limit: int = 80) -> str:
    """A text from outside, quoted, on one line and of bounded length."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def _canonical_uuid(text: str) -> str:
    if _UUID.fullmatch(text) is None:
        raise ValueError(f"{shown(text)} is not a UUID")
    # The last 32: in front of them "urn:uuid:" has a hexadecimal digit too.
    digits = "".join(character for character in text.lower() if character in "0123456789abcdef")[-32:]
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
