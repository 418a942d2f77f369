"""Labels that keep their value because a fact behind them could not be read.

While a driver is busy, as in a change of MIG layout, single calls fail for seconds. A label must neither vanish nor
flip because of that. For ``GRACE_S`` after a fact began to fail, every label that rests on it keeps its published
value. After that the labels say what the readable rest says; only a plain fact of the GPU (its memory, its compute
capability, whether it can do MIG) still stands in for itself where the label would be missing. A GPU that is lost lacks
every fact that was not read before, one that is unreadable lacks all. None of this holds once the node has GPUs of
another product, and what was published under other settings only fills in what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpu_discovery.core import model
from gpu_discovery.labels import names

Labels = Mapping[str, str]

GRACE_S = 60.0

_PRODUCT = f"{names.GPU}.product"
_GPUS = "gpus[]"
_MIG = f"{_GPUS}.mig"
_MISSING = (None, "unknown")
_FROM_BUS = {"pci": f"{_GPUS}.pci_class", "pci[].class_code": f"{_GPUS}.pci_class"}
"""What is unread of the bus → what is therefore unread of the GPUs."""


class UnreadFacts:
    """Remembers since when which fact fails."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def completed(
        self,
        snapshot: model.Snapshot,
        made: Labels,
        published: Labels | None,
        *,
        strategy: str,
        has_same_settings: bool = True,
    ) -> Labels:
        """``made`` from this snapshot, completed by what is published, under the same settings or others."""
        now = self._clock()
        self._since = {path: self._since.get(path, now) for path in _unread_paths(snapshot)}
        if not self._since or published is None:
            return made
        recent = {path for path, since in self._since.items() if now - since < GRACE_S}
        if _is_other_node(made, published, recent, strategy):
            return made
        kept = {
            key: value
            for key, value in published.items()
            if (has_same_settings and _rests_on(key, recent, strategy))
            or (made.get(key) in _MISSING and (_rests_on(key, recent, strategy) or _is_plain(key, self._since)))
        }
        return {**made, **kept}


def causes(snapshot: model.Snapshot) -> Mapping[str, str]:
    """One cause per fact and way of failing, naming the GPUs; what the bus and the host lack is told by the views."""
    where: dict[tuple[str, str, str], list[str]] = {}
    for record, failures in (("", snapshot.failures), *_records(snapshot)):
        for failure in failures:
            where.setdefault((failure.fact, failure.call, failure.reason), []).append(record)
    return {
        f"unread:{fact}:{call}:{reason}": f"reading {fact}{_of_gpus(records)} failed: {call}: {reason}"
        for (fact, call, reason), records in where.items()
    }


def _is_other_node(made: Labels, published: Labels, recent: Iterable[str], strategy: str) -> bool:
    product = made.get(_PRODUCT)
    return product is not None and product != published.get(_PRODUCT) and not _rests_on(_PRODUCT, recent, strategy)


def _rests_on(key: str, paths: Iterable[str], strategy: str) -> bool:
    """Whether a label comes from one of these facts, or from a part of one."""
    row = names.find(key)
    if row is None:
        return False
    is_mig = strategy == "single" and key.startswith(f"{names.GPU}.")  # There the GPU's block is that of MIG devices.
    facts = (*row.facts, _MIG) if is_mig else row.facts
    return any(_is_part(fact, path) for fact in facts for path in paths)


def _is_plain(key: str, paths: Iterable[str]) -> bool:
    """Whether a label is one fact of the node's own, unread now: not of a MIG layout, nor a resource from the config."""
    row = names.find(key)
    is_layout = row is not None and key != names.MIG_CAPABLE and any(fact.startswith(_MIG) for fact in row.facts)
    if row is None or "<" in row.pattern or is_layout:
        return False
    return any(_is_part(fact, path) for fact in row.facts for path in paths)


def _is_part(fact: str, path: str) -> bool:
    """MIG is one thing: which devices there are of a profile is told by facts of each."""
    if path.startswith(_MIG):
        return fact.startswith(_MIG)
    return fact == path or fact.startswith((f"{path}.", f"{path}["))


def _unread_paths(snapshot: model.Snapshot) -> Iterator[str]:
    """The path of each fact that could not be read, as the table of keys writes it."""
    sources: list[tuple[str, Sequence[model.ReadFailure]]] = [
        ("", snapshot.failures),
        ("host.", snapshot.host.failures),
    ]
    sources += [("pci[].", function.failures) for function in snapshot.pci or ()]
    for gpu in snapshot.gpus:
        sources.append((f"{_GPUS}.", gpu.failures))
        sources += [(f"{_MIG}.devices[].", device.failures) for device in (gpu.mig.devices if gpu.mig else ())]
    if any(gpu.failures for gpu in snapshot.unreadable):
        yield _GPUS
    for prefix, failures in sources:
        for failure in failures:
            path = f"{prefix}{failure.fact}"
            yield _GPUS if path == f"{_GPUS}.state" else path
            if path in _FROM_BUS:
                yield _FROM_BUS[path]


def _records(snapshot: model.Snapshot) -> Iterator[tuple[str, Sequence[model.ReadFailure]]]:
    for gpu in snapshot.gpus:
        yield str(gpu.index), gpu.failures
        for device in gpu.mig.devices if gpu.mig else ():
            yield f"{gpu.index}:{device.index}", device.failures


def _of_gpus(records: Sequence[str]) -> str:
    gpus = [record for record in records if record]
    return f" of GPU {', '.join(gpus)}" if gpus else ""
