"""The session with NVML: load the library once, initialise for a pass, shut down after it.

Without a session no device node is open, so nobody's driver unload or GPU reset waits for us. A library that never
worked in this process gives way to another that appears later (the driver arrives late). One that did work stays
mapped for the life of the process: when its file was replaced, or when NVML says that it is not of the kernel module's
version, only a new process can load the right one, and ``restart_token`` says so.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import os
import re
from collections.abc import Mapping

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import calls, causes, gateway as gateways, library as libraries


class _Loaded(ctypes.CDLL):
    """The library that pynvml calls into; it is kept there, because a mapping belongs to the process and not to us."""

    def __init__(self, searched_root: str, found: libraries.Found | None) -> None:
        super().__init__(libraries.SONAME if found is None else found.path)
        self.searched_root = searched_root
        self.has_worked = False
        self.sessions = 0
        if found is None:
            self.library = model.Library(_mapped_path(self), "loader")
            self.root, self.link = "/", os.path.join(os.path.dirname(self.library.path), libraries.SONAME)
        else:
            self.library = model.Library(found.path, "driver-root")
            self.root, self.link = searched_root, os.path.relpath(found.link, searched_root)
        self.file = self.file_now()

    def file_now(self) -> str | None:
        """Identifies the file that loading anew would load; None when there is none."""
        path = libraries.resolved_in_root(self.root, self.link)
        if path is None:
            return None
        try:
            status = os.stat(path)
        except OSError:
            return None
        return f"{path}:{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}"

    def is_from(self, found: libraries.Found | None) -> bool:
        """Whether this is what ``found`` would load."""
        return self.library.origin == "loader" if found is None else self.library.path == found.path


class Session:
    """Opened for a pass, closed after it; one thread at a time."""

    def __init__(self, gateway: gateways.Gateway, driver_root_ctr_path: str) -> None:
        self._gateway = gateway
        self._root = driver_root_ctr_path
        self._open: _Loaded | None = None
        self.restart_token: str | None = None
        """Library file and driver version for which only a new process can go on; None while this one can."""

    def open(self, driver_version: str | None, pci: Mapping[str, model.PciFunction]) -> model.Library:
        """Load NVML unless it is loaded and initialise it unless it is open.

        ``driver_version`` is the loaded kernel module's, empty when unknown, None when none is loaded.

        Raises:
            errors.NvmlUnavailable: with the finding and the probable cause.
        """
        self.restart_token = None
        loaded = self._load(driver_version, pci)
        if self._open is None:
            loaded.sessions += 1
            try:
                self._gateway.call_newest(calls.INIT)
            except errors.NvmlCallFailed as error:
                loaded.sessions -= 1
                is_mismatch = causes.finding(error.code) == "version-mismatch"
                if is_mismatch or _is_replaced(loaded):
                    self.restart_token = _token(loaded, driver_version)
                raise self.unavailable(error, driver_version, pci) from error
            loaded.has_worked = True
            self._open = loaded
        if _is_replaced(loaded) and not _would_mismatch(loaded, driver_version):
            self.restart_token = _token(loaded, driver_version)
        return loaded.library

    def close(self) -> None:
        """Shut NVML down, which closes its device nodes; does nothing while a call is in flight, nor twice."""
        if self._open is not None and self._gateway.in_flight is None:
            self._open.sessions -= 1
            self._open = None
            with contextlib.suppress(errors.NvmlCallFailed):
                self._gateway.call(pynvml.nvmlShutdown)

    def unavailable(
        self, error: errors.NvmlCallFailed, driver_version: str | None, pci: Mapping[str, model.PciFunction]
    ) -> errors.NvmlUnavailable:
        """The error for NVML as a whole that the failure of one of its calls amounts to."""
        found = causes.finding(error.code)
        cause = causes.explanation(found, self._surroundings(driver_version, pci))
        return errors.NvmlUnavailable(f"{error}; {cause}", finding=found, code=error.code)

    def _load(self, driver_version: str | None, pci: Mapping[str, model.PciFunction]) -> _Loaded:
        present = pynvml.nvmlLib if isinstance(pynvml.nvmlLib, _Loaded) else None
        if present is not None and present.has_worked and present.searched_root == self._root:
            return present
        found = libraries.find_in_root(self._root, libraries.SONAME)
        if present is not None and present.is_from(found) and not _is_replaced(present):
            return present
        _unload(present)
        loaded = pynvml.nvmlLib = self._load_file(found, driver_version, pci)
        self._gateway.forget_missing()
        return loaded

    def _load_file(
        self, found: libraries.Found | None, driver_version: str | None, pci: Mapping[str, model.PciFunction]
    ) -> _Loaded:
        try:
            return _Loaded(self._root, found)
        except OSError as error:
            if found is not None:  # It may need what only its own root has; the loader's may still do.
                return self._load_file(None, driver_version, pci)
            cause = causes.explanation("nvml-missing", self._surroundings(driver_version, pci))
            message = f"loading {libraries.SONAME} failed: {error}; {cause}"
            raise errors.NvmlUnavailable(message, finding="nvml-missing") from error

    def _surroundings(self, driver_version: str | None, pci: Mapping[str, model.PciFunction]) -> causes.Surroundings:
        return causes.Surroundings(
            driver_version=driver_version,
            gpus_on_bus=sum(function.is_gpu for function in pci.values()),
            has_control_node=os.path.exists(causes.CONTROL_NODE),
            driver_root=self._root,
        )


def _unload(present: _Loaded | None) -> None:
    """Let go of a library, or the loader would take it for any other of its name."""
    pynvml.nvmlLib = None
    # The pointers that pynvml holds are into this library; it offers no other way to drop them.
    pynvml._nvmlGetFunctionPointer_cache.clear()  # noqa: SLF001
    if present is not None and not present.sessions:
        _ctypes.dlclose(present._handle)  # noqa: SLF001  # ctypes itself never unloads.


def _is_replaced(loaded: _Loaded) -> bool:
    """Another file stands where this one was loaded from; a file that is gone is not replaced yet."""
    now = loaded.file_now()
    return now is not None and now != loaded.file


def _would_mismatch(loaded: _Loaded, driver_version: str | None) -> bool:
    """The new file is by its name of another version than the kernel module, with which the old one still works."""
    path = libraries.resolved_in_root(loaded.root, loaded.link) or ""
    named = re.search(r"\.so\.(\d+\.[\d.]+)$", path)
    return named is not None and bool(driver_version) and named[1] != driver_version


def _token(loaded: _Loaded, driver_version: str | None) -> str:
    return f"{loaded.file_now() or loaded.library.path} with driver {driver_version or 'unknown'}"


def _mapped_path(loaded: ctypes.CDLL) -> str:
    """The file that the loader chose, found by an address in it; the bare SONAME when it can't be told."""
    with contextlib.suppress(OSError, ValueError, AttributeError), open("/proc/self/maps", encoding="utf-8") as maps:
        address = ctypes.cast(loaded.nvmlShutdown, ctypes.c_void_p).value or 0
        for line in maps:
            start, _, end = line.split(" ", 1)[0].partition("-")
            fields = line.split(maxsplit=5)
            if int(start, 16) <= address < int(end, 16) and len(fields) == 6:
                return fields[5].rstrip("\n")
    return libraries.SONAME
