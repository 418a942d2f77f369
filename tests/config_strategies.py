"""Hypothesis strategies for configs: valid as loading leaves them, if not always possible on the node at hand."""

from __future__ import annotations

from hypothesis import strategies as st

from gpu_discovery.core.config import compat, types as config_types
from tests import builders

STRATEGIES = ("none", "single", "mixed")

_BASES = ("nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu-fast", "nvidia.com/mig-1c.3g.20gb")
_RENAMES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.lat",
    "nvidia.com/gpu.physical",
    "nvidia.com/gpu.shared",
    "nvidia.com/" + "long-" * 10 + "x",
)
_PATTERNS = ("*", "*A100*", "NVIDIA *", "Tesla T4", "1g.*", "*+me*", "*3090*")
_RULE_NAMES = ("nvidia.com/gpu", "nvidia.com/gpu-fast", "nvidia.com/slice", "nvidia.com/mig-small")
_EXTRA = ("models", "counts", "devices", "share-memory")


@st.composite
def configs(draw: st.DrawFn, *, by_index: bool = True) -> config_types.Config:
    """Rules, sharing of both kinds, selectors and options in any combination that loading lets through.

    Without ``by_index`` nothing in it depends on the order in which a driver lists its GPUs.
    """
    extra = _EXTRA if by_index else tuple(name for name in _EXTRA if name != "devices")
    return builders.make_config(
        time_slicing=draw(_entries(by_index=by_index)),
        mps=draw(_entries(by_index=by_index)),
        rename_by_default=draw(st.booleans()),
        gpus=draw(_rules()),
        mig=draw(_rules()),
        include=draw(_selectors(by_index=by_index)),
        exclude=draw(_selectors(by_index=by_index)),
        unmatched_gpus=draw(st.sampled_from(("default", "skip", "error"))),
        extra_labels=tuple(draw(st.lists(st.sampled_from(extra), unique=True))),
        reference_compat=tuple(draw(st.lists(st.sampled_from(tuple(compat.NAMES)), unique=True))),
    )


def _entries(*, by_index: bool) -> st.SearchStrategy[list[config_types.SharingEntry] | None]:
    refs = st.lists(st.sampled_from(("0", "1", "2", "0:0", "1:1")), min_size=1, max_size=2, unique=True)
    entry = st.builds(
        builders.make_entry,
        st.integers(1, 8),
        name=st.sampled_from(_BASES),
        devices=st.one_of(st.just("all"), st.integers(1, 2), refs) if by_index else st.just("all"),
        rename=st.one_of(st.none(), st.sampled_from(_RENAMES)),
    )
    return st.one_of(st.none(), st.lists(entry, min_size=1, max_size=3, unique_by=lambda one: one.name))


def _rules() -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(st.sampled_from(_PATTERNS), st.sampled_from(_RULE_NAMES)), max_size=2)


def _selectors(*, by_index: bool) -> st.SearchStrategy[tuple[config_types.GpuSelector, ...]]:
    selector = st.one_of(
        st.builds(config_types.GpuSelector, index=st.integers(0, 4)) if by_index else st.nothing(),
        st.builds(config_types.GpuSelector, model=st.sampled_from(_PATTERNS)),
        st.builds(config_types.GpuSelector, pci_address=st.just("0000:02:00.0")),
    )
    return st.lists(selector, max_size=1).map(tuple)
