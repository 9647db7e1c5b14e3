"""A run from the command line as one object: what `--json` prints and the reports draw."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from campaigns.domain.judged.observations import Seen, headline_us, hosts_of, is_loopback, observe
from campaigns.domain.judged.thresholds import Verdict, judge_seconds
from campaigns.domain.judged.validity import LIMITS, Limits, judge
from campaigns.domain.lifecycle import Validity
from campaigns.domain.measured.figures import Figures, figures_of
from campaigns.domain.measured.injector_end import (
    InjectorEnd,
    most_of,
    peers_of,
    sending_s_of,
    servers_of,
    sum_of,
    warnings_of,
)
from campaigns.domain.measured.series import Point, most_in_flight, points_of, vitals_of
from campaigns.domain.measured.sessions import session_figures
from campaigns.domain.measured.snapshot import TIMINGS, Second, Timing, Total, total_of
from campaigns.domain.other_tools.measurement import Measurement
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.latency_table import figures_by_key
from campaigns.domain.shown.metrics import METRICS
from workers.own_addresses import own_addresses

PERCENTILES = {
    "p50": 50_000, "p66": 66_000, "p75": 75_000, "p80": 80_000, "p90": 90_000, "p95": 95_000,
    "p98": 98_000, "p99": 99_000, "p99.9": 99_900,
}  # fmt: skip
# Whoever asks for one request at the keyboard knows that it is one.
_LIMITS = LIMITS | {"too_few_requests": Limits(100, None)}
_ENDED = ("ok", "failed", "carried")


@dataclass
class Result:
    """What the injectors of a run said: (injector, second) pairs, and their end lines."""

    plan: Plan
    rows: list[tuple[int, Second]] = field(default_factory=list)
    ends: list[InjectorEnd] = field(default_factory=list)
    started_at: float = 0.0  # of measuring, seconds since the epoch

    @property
    def seconds(self) -> list[Second]:
        return [second for _, second in self.rows]

    @property
    def total(self) -> Total:
        """Everything measured; the warm-up is apart."""
        return total_of(second for second in self.seconds if second.second >= 0)

    @property
    def warm_up(self) -> Total:
        return total_of(second for second in self.seconds if second.second < 0)

    @property
    def duration_s(self) -> float:
        return max((end.duration_us for end in self.ends), default=0) / 1e6

    @property
    def figures(self) -> Figures:
        return figures_of(self.total, self.duration_s)

    @property
    def is_stopped(self) -> bool:
        return not all(end.is_complete for end in self.ends)

    @property
    def warnings(self) -> list[str]:
        """What was said before the start, each once."""
        return warnings_of(self.ends)

    @property
    def cpu_us(self) -> int:
        """CPU time, user and system, of all processes while they sent."""
        return sum(end.cpu_us for end in self.ends)

    @property
    def series(self) -> list[Point]:
        rows = sorted(self.rows, key=lambda row: row[1].second)
        last: dict[int, int | None] = {}
        for shard, second in rows:
            last[shard] = second.second
        return list(points_of(rows, last))

    @property
    def vitals(self) -> list[dict[str, Any]]:
        """`series.vitals_of` each injector."""
        samples: dict[int, list] = {}
        for shard, second in self.rows:
            if second.vitals and second.second >= 0:
                samples.setdefault(shard, []).append((second.second, second.vitals))
        return [vitals_of(seen, shard) for shard, seen in sorted(samples.items())]

    @cached_property
    def verdict(self) -> tuple[Validity, list[dict[str, Any]]]:
        """May the figures be believed, and why not: by the same rules as a campaign's runs."""
        total = self.total
        seen = Seen(
            plan=self.plan,
            total=total,
            series=self.series,
            vitals=self.vitals,
            duration_s=self.duration_s,
            is_whole=not self.is_stopped,
            is_co_located=self._is_co_located(),
        )
        return judge(observe(seen), _LIMITS, headline_us(total))

    @cached_property
    def thresholds(self) -> list[Verdict]:
        """How the plan's rules stand."""
        rows = sorted(self.seconds, key=lambda second: second.second)
        return judge_seconds(self.plan.thresholds, rows, self.duration_s)

    def measurement(self, order: dict[str, Any]) -> Measurement:
        """What the reports draw."""
        endpoint, replies, sessions = order["endpoint"], Counter(), Counter()
        steps = [Total() for _ in self.plan.labels]
        for second in self.seconds:
            if second.second >= 0:
                replies[second.second] += sum(second.statuses.values())
                sessions[second.second] += second.counters.get("sessions_ok", 0)
                steps[second.step].add(second)
        return Measurement(
            plan=self.plan,
            host=endpoint["host"],
            port=endpoint["port"],
            connection_mode=order["connection_mode"],
            total=self.total,
            duration_s=self.duration_s,
            verdict=self.verdict,
            steps=steps,
            warm_up=self.warm_up,
            replies=replies,
            sessions=sessions,
            tls=[entry for end in self.ends for entry in end.tls],
            cpu_us=self.cpu_us,
            cpu_user_us=sum_of(self.ends, "cpu_user_us"),
            connect_burst=most_of(self.ends, "connect_burst"),
            connections_at_once=sum_of(self.ends, "connections_at_once"),
            thresholds=self.thresholds,
            warnings=self.warnings,
            servers=servers_of(self.ends),
            most_in_flight=most_in_flight(self.series),
            sending_s=sending_s_of(self.ends),
            is_stopped=self.is_stopped,
        )

    def _is_co_located(self) -> bool:
        hosts = hosts_of(list(peers_of(self.ends)))
        return any(map(is_loopback, hosts)) or bool(hosts & set(own_addresses()))

    def to_json(self) -> dict[str, Any]:
        """The summary. Names of figures as in domain.shown.metrics, times in ms; what was not timed
        is absent, what cannot be said is null."""
        total = self.total
        validity, reasons = self.verdict
        attempts = sum(end.totals.get(name, 0) for end in self.ends for name in _ENDED)
        return {
            "validity": str(validity),
            "reasons": reasons,
            "warnings": self.warnings,
            "thresholds": [each.to_json() for each in self.thresholds],
            "outcome": "stopped" if self.is_stopped else "complete",
            "metrics": self._metrics(),
            "units": {name: METRICS[name].unit for name in self._metrics() if METRICS[name].unit},
            "timings_ms": {
                name: timing_ms(total.timing(name)) for name in TIMINGS if total.timing(name).n
            },
            "counters": total.counters,
            "errors": total.errors,
            "statuses": total.statuses,
            "warm_up": self.warm_up.counters,
            "tls": [asdict(entry) for end in self.ends for entry in end.tls],
            "peers": peers_of(self.ends),
            "servers": servers_of(self.ends) or [],
            **self._sessions(),
            "cpu_us_per_request": _per(self.cpu_us, attempts),
            "vitals": self._worst_vitals(),
        }

    def _sessions(self) -> dict[str, Any]:
        figures = session_figures(self.total, self.duration_s)
        return {} if figures is None else {"sessions": figures.to_json()}

    def _metrics(self) -> dict[str, float | None]:
        """Percentiles only where enough requests lie beyond them."""
        figures = self.figures
        values = {key: figure.value for key, figure in figures_by_key(figures).items()}
        share = figures.error_share
        values["error_share"] = None if share is None else share * 100
        return {
            name: value if value is None or isinstance(value, int) else round(value, 6)
            for name, value in values.items()
        }

    def _worst_vitals(self) -> dict[str, float]:
        worst: dict[str, float] = {}
        for each in self.vitals:
            for name, value in each["worst"].items():
                worst[name] = max(value, worst.get(name, value))
        return worst


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
