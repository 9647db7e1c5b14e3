"""A run as one object: what `--json` prints and the reports are drawn from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from campaigns.domain.outcomes import CLIENT_KINDS
from campaigns.domain.snapshot import PARTS, Second, Timing, Total, total_of

PERCENTILES = {
    "p50": 50_000, "p66": 66_000, "p75": 75_000, "p80": 80_000, "p90": 90_000, "p95": 95_000,
    "p98": 98_000, "p99": 99_000, "p99.9": 99_900,
}  # fmt: skip
_BUSY_SHARE = 0.9


@dataclass(slots=True)
class Result:
    """The measured seconds (warm-up apart) and the `end` lines of all processes of a run."""

    seconds: list[Second] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)

    @property
    def total(self) -> Total:
        return total_of(second for second in self.seconds if second.second >= 0)

    @property
    def duration_s(self) -> float:
        return max((end["duration_us"] for end in self.ends), default=0) / 1e6

    @property
    def cpu_us(self) -> int:
        """CPU time, user and system, of all processes while they sent."""
        return sum(end["cpu_us"] for end in self.ends)

    @property
    def client_errors(self) -> dict[str, int]:
        """Errors of the injector's own machine: with one of these the run proves nothing."""
        return {kind: n for kind, n in self.total.errors.items() if kind in CLIENT_KINDS}

    def warnings(self) -> list[str]:
        """What makes the figures doubtful, in sentences."""
        said = [
            f"{count} errors of this machine ({kind}): the run is invalid."
            for kind, count in self.client_errors.items()
        ]
        busiest = max((v["cpu_share"] for v in self._vitals()), default=0)
        if busiest > _BUSY_SHARE:
            said.append(
                f"The injector was busy ({busiest:.0%} of a core): part of the time may be its own."
            )
        lateness, response = self.total.timing("lateness"), self.total.timing("response")
        if lateness.n and lateness.percentile_us(99_000) > max(
            1000, 0.1 * (response.percentile_us(50_000) or 0)
        ):
            late_ms = lateness.percentile_us(99_000) / 1000
            said.append(f"Requests were sent late (p99 {late_ms:.1f} ms): the load was not met.")
        return said

    def _vitals(self) -> Iterable[dict[str, float]]:
        return (second.vitals for second in self.seconds if second.vitals)

    def to_json(self) -> dict[str, Any]:
        """The summary; times in ms unless the name says otherwise, absent parts left out."""
        total = self.total
        n_ok, n_failed = total.count("ok"), total.count("failed")
        attempts = sum(end["totals"].get(x, 0) for end in self.ends for x in _ENDED)
        return {
            "requests": n_ok + n_failed,
            "ok": n_ok,
            "failed": n_failed,
            "dropped": total.count("dropped"),
            "errors": total.errors,
            "statuses": total.statuses,
            "duration_s": round(self.duration_s, 6),
            "requests_per_s": _per(n_ok, self.duration_s),
            "response_ms": timing_ms(total.timing("response")),
            "service_ms": timing_ms(total.timing("service")),
            "lateness_ms": timing_ms(total.timing("lateness")),
            "parts_ms": {
                part: timing_ms(total.timing(part)) for part in PARTS if total.timing(part).n
            },
            "failed_ms": timing_ms(total.timing("failed")),
            "bytes_sent": total.count("bytes_sent"),
            "bytes_received": total.count("bytes_received"),
            "connections_opened": total.count("connections_opened"),
            "tls": [entry for end in self.ends for entry in end["tls"]],
            "cpu_us_per_request": _per(self.cpu_us, attempts),
            "vitals": self._worst_vitals(),
            "warnings": self.warnings(),
        }

    def _worst_vitals(self) -> dict[str, float]:
        worst: dict[str, float] = {}
        for vitals in self._vitals():
            for name, value in vitals.items():
                worst[f"{name}_max"] = max(value, worst.get(f"{name}_max", value))
        return worst


_ENDED = ("ok", "failed", "carried")


def _per(amount: float, unit: float) -> float | None:
    return round(amount / unit, 3) if unit else None


def timing_ms(timing: Timing) -> dict[str, float | int] | None:
    """n, mean, sd, min, max and percentiles in ms; None where nothing was timed."""
    if not timing.n:
        return None
    figures = {"mean": timing.mean_us, "sd": timing.sd_us, "min": timing.min_us}
    figures |= {name: timing.percentile_us(rank) for name, rank in PERCENTILES.items()}
    figures["max"] = timing.max_us
    return {"n": timing.n} | {
        name: round(us / 1000, 4) for name, us in figures.items() if us is not None
    }
