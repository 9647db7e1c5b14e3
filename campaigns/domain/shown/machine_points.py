"""A machine's seconds for the charts of a run: columns of numbers for the lines, and the text of
each second, as in run_points."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.measured.machine import BUSY
from campaigns.domain.measured.machine_use import MachinePoint
from campaigns.domain.shown.thinning import thinned
from campaigns.domain.units import count, figure, percent, second_text, size

_STATES = {"user": "user_s", "system": "system_s", "interrupts": "interrupts_s"}
_STATES["stolen"] = "stolen_s"
_EXTREMES = (
    ("busy", True), ("memory", True), ("received", True), ("sent", True), ("loopback", True),
    ("retransmitted", True), ("overflows", True),
)  # fmt: skip


def machine_columns(points: Sequence[MachinePoint]) -> dict[str, list[Any]]:
    """Shares in %, networks in MB/s, `processes` as {name: % of all cores}, or of one where the
    number of `cores` is not told; thinned as points."""
    columns = {key: [make(point) for point in points] for key, make in _COLUMNS.items()}
    return thinned(columns, extremes=_EXTREMES)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)


def _state(name: str):
    return lambda point: _percent(point.share(_STATES[name]))


def _memory(point: MachinePoint) -> float | None:
    used, whole = point.did.get("memory_used_bytes"), point.did.get("memory_bytes")
    return _percent(used / whole) if whole and used is not None else None


def _mb_per_s(name: str):
    def value(point: MachinePoint) -> float | None:
        per_s = point.per_s(name)
        return None if per_s is None else round(per_s / 1e6, 4)

    return value


def _n_cores(point: MachinePoint) -> int:
    return len(point.did.get("cores", ()))


def _processes(point: MachinePoint) -> dict[str, float]:
    whole_s = point.lasted_s * (_n_cores(point) or 1)
    told = point.did.get("processes", {}).items()
    return {name: _percent(did["cpu_s"] / whole_s) for name, did in told if "cpu_s" in did}


def _cpu_text(point: MachinePoint) -> str:
    if point.share() is None:
        return ""
    parts = [(name, point.share(state)) for name, state in _STATES.items()]
    told = [f"{name} {percent(share, decimals=1)}" for name, share in parts if share]
    return ": ".join(filter(None, [percent(point.share(*BUSY), decimals=1), ", ".join(told)]))


def _memory_text(point: MachinePoint) -> str:
    used, whole = point.did.get("memory_used_bytes"), point.did.get("memory_bytes")
    return f"{size(used)} of {size(whole)}" if whole and used is not None else ""


def _network_text(point: MachinePoint) -> str:
    names = {"received_bytes": "received", "sent_bytes": "sent", "loopback_bytes": "loopback"}
    told = [(word, point.per_s(name)) for name, word in names.items()]
    return ", ".join(f"{word} {size(round(value))}" for word, value in told if value is not None)


def _trouble_text(point: MachinePoint) -> str:
    words = {"retransmitted": "sent again", "listen_overflows": "overflows"}
    told = [(word, point.did.get(name)) for name, word in words.items()]
    return ", ".join(f"{word} {count(round(n))}" for word, n in told if n is not None)


def _processes_text(point: MachinePoint) -> str:
    return ", ".join(f"{name} {figure(value)} %" for name, value in _processes(point).items())


_COLUMNS = {
    "second": lambda point: point.second,
    "cores": _n_cores,
    "busy": lambda point: _percent(point.share(*BUSY)),
    **{name: _state(name) for name in _STATES},
    "memory": _memory,
    "received": _mb_per_s("received_bytes"),
    "sent": _mb_per_s("sent_bytes"),
    "loopback": _mb_per_s("loopback_bytes"),
    "retransmitted": lambda point: point.did.get("retransmitted"),
    "overflows": lambda point: point.did.get("listen_overflows"),
    "processes": _processes,
    "at": lambda point: second_text(point.second),
    "cpu_text": _cpu_text,
    "memory_text": _memory_text,
    "network_text": _network_text,
    "trouble_text": _trouble_text,
    "processes_text": _processes_text,
}
