"""Labels that keep their value because a fact behind them could not be read.

While a driver is busy, as in a change of MIG layout, single calls fail for seconds. A label must neither vanish nor
flip because of that. For ``GRACE_S`` after a fact began to fail, every label that rests on it keeps its published
value. After that the labels say what the readable rest says; only a plain fact of the GPU (its memory, its compute
capability) still stands in for itself where the label would be missing. None of this holds once the node has GPUs of
another product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpu_discovery.core import model
from gpu_discovery.labels import names

Labels = Mapping[str, str]

GRACE_S = 60.0

_PRODUCT = f"{names.GPU}.product"
_MIG = "gpus[].mig"
_MISSING = (None, "unknown")


class UnreadFacts:
    """Remembers since when which fact fails."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def completed(self, snapshot: model.Snapshot, made: Labels, published: Labels | None, *, strategy: str) -> Labels:
        """``made`` from this snapshot, completed by what is published; both without timestamp or with."""
        now = self._clock()
        self._since = {path: self._since.get(path, now) for path, _ in _failures(snapshot)}
        if not self._since or published is None:
            return made
        recent = {path for path, since in self._since.items() if now - since < GRACE_S}
        lasting = {path for path in self._since if not path.startswith(_MIG)}
        if _is_other_node(made, published, recent, strategy):
            return made
        kept = {
            key: value
            for key, value in published.items()
            if _rests_on(key, recent, strategy) or (made.get(key) in _MISSING and _rests_on(key, lasting, strategy))
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


def _is_other_node(made: Labels, published: Labels, recent: set[str], strategy: str) -> bool:
    product = made.get(_PRODUCT)
    return product is not None and product != published.get(_PRODUCT) and not _rests_on(_PRODUCT, recent, strategy)


def _rests_on(key: str, paths: set[str], strategy: str) -> bool:
    """Whether a label comes from one of these facts, or from a part of one."""
    row = names.find(key) if paths else None
    if row is None:
        return False
    is_mig = strategy == "single" and key.startswith(f"{names.GPU}.")  # There the GPU's block is that of MIG devices.
    facts = (*row.facts, _MIG) if is_mig else row.facts
    return any(fact == path or fact.startswith((f"{path}.", f"{path}[")) for fact in facts for path in paths)


def _failures(snapshot: model.Snapshot) -> Iterator[tuple[str, model.ReadFailure]]:
    """Each failure with the path of its fact, as the table of keys writes it."""
    sources: list[tuple[str, Sequence[model.ReadFailure]]] = [
        ("", snapshot.failures),
        ("host.", snapshot.host.failures),
    ]
    sources += [("pci[].", function.failures) for function in snapshot.pci or ()]
    for gpu in snapshot.gpus:
        sources.append(("gpus[].", gpu.failures))
        sources += [(f"{_MIG}.devices[].", device.failures) for device in (gpu.mig.devices if gpu.mig else ())]
    for prefix, failures in sources:
        for failure in failures:
            yield f"{prefix}{failure.fact}", failure


def _records(snapshot: model.Snapshot) -> Iterator[tuple[str, Sequence[model.ReadFailure]]]:
    for gpu in snapshot.gpus:
        yield str(gpu.index), gpu.failures
        for device in gpu.mig.devices if gpu.mig else ():
            yield f"{gpu.index}:{device.index}", device.failures


def _of_gpus(records: Sequence[str]) -> str:
    gpus = [record for record in records if record]
    return f" of GPU {', '.join(gpus)}" if gpus else ""
