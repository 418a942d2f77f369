"""The value that changes when a pass is called for."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from gpu_discovery.core.host import fingerprint
from tests.fakes import host

TREE = {0: {1: [0], 2: [0, 1]}, 1: {}}


def make_root(path: pathlib.Path) -> host.HostRoot:
    """A DGX A100 with MIG on its first GPUs."""
    return host.make_host_root(path, pci=host.make_dgx_a100(), mig_tree=TREE)


def test_unchanged_node(tmp_path: pathlib.Path) -> None:
    """Two fingerprints of an unchanged node are equal."""
    make_root(tmp_path)

    assert fingerprint.read_fingerprint(str(tmp_path)) == fingerprint.read_fingerprint(str(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: root.load_driver("535.129.03"),
        lambda root: root.load_driver("550.54.15"),
        lambda root: root.unload_driver(),
        lambda root: root.bind("0000:07:00.0", "vfio-pci"),
        lambda root: root.bind("0000:c4:00.0", None),
        lambda root: root.remove_function("0000:07:00.0"),
        lambda root: root.add_function(host.make_function("0000:08:00.0")),
        lambda root: root.add_function(host.make_function("0000:07:00.0")),
        lambda root: root.remove("/sys/bus/pci/devices"),
        lambda root: root.set_mig_tree({0: {1: [0], 2: [0, 2]}, 1: {}}),
        lambda root: root.set_mig_tree({0: {1: [0]}, 1: {}}),
        lambda root: root.set_mig_tree({0: {1: [0], 2: [0, 1]}}),
        lambda root: root.set_mig_tree(None),
    ],
)
def test_every_change_that_matters(tmp_path: pathlib.Path, change: Callable[[host.HostRoot], None]) -> None:
    """Driver loads, functions that come, go or change driver, and MIG layout each change the fingerprint."""
    root = make_root(tmp_path)
    before = fingerprint.read_fingerprint(str(tmp_path))
    change(root)
    after = fingerprint.read_fingerprint(str(tmp_path))

    assert after != before
    assert after == fingerprint.read_fingerprint(str(tmp_path))


def test_another_vendors_function_does_not_matter(tmp_path: pathlib.Path) -> None:
    """A network card that comes, goes or is re-bound leaves the fingerprint as it is."""
    root = make_root(tmp_path)
    before = fingerprint.read_fingerprint(str(tmp_path))
    root.remove_function("0000:0c:00.0")
    root.bind("0000:12:00.0", None)

    assert fingerprint.read_fingerprint(str(tmp_path)) == before


def test_bare_node(tmp_path: pathlib.Path) -> None:
    """A root with nothing in it is told as such."""
    assert fingerprint.read_fingerprint(str(tmp_path)) == fingerprint.Fingerprint(
        driver=None, functions=None, mig_tree=None
    )


def test_mig_tree_visibility(tmp_path: pathlib.Path) -> None:
    """Whether MIG layout shows is known: an empty tree is visible, a missing one is not."""
    root = host.make_host_root(tmp_path, mig_tree={})
    visible = fingerprint.read_fingerprint(str(tmp_path))
    root.set_mig_tree(None)

    assert visible.mig_tree_visible
    assert not fingerprint.read_fingerprint(str(tmp_path)).mig_tree_visible


def test_mig_tree_lists_instances(tmp_path: pathlib.Path) -> None:
    """The tree names GPUs, GPU instances and compute instances, and nothing of the files beside them."""
    make_root(tmp_path)

    assert fingerprint.read_fingerprint(str(tmp_path)).mig_tree == (
        "gpu0",
        "gpu0/gi1",
        "gpu0/gi1/ci0",
        "gpu0/gi2",
        "gpu0/gi2/ci0",
        "gpu0/gi2/ci1",
        "gpu1",
    )
