"""Two sides of a comparison as they were set up: what differs, what that forbids, what is alike."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.judged.comparison import Reason
from campaigns.domain.measured.injector_end import tls_libraries_of
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.shown.compared import Difference
from campaigns.domain.shown.plan_changes import changed_fields, field_name
from campaigns.domain.units import rate
from campaigns.queries.arm_pairs import ArmPair, MeasuredTest
from campaigns.queries.columns import ComparisonSide
from campaigns.queries.measured import MeasuredRun
from campaigns.queries.overheads import Blocker, Overhead, unlike_by_accident

# Parts of a plan that change neither what is sent nor how hard.
_HARMLESS = ("plan.thresholds", "plan.warm_up_s", "plan.load.duration_s", "plan.load.max_in_flight")


@dataclass(frozen=True)
class ComparedPair:
    """A test and its partner, with their columns. `is_found`: by plan and arm, not by choice."""

    columns: tuple[ComparisonSide, ComparisonSide]
    arms: ArmPair
    is_found: bool

    @property
    def label(self) -> str:
        return f"{self.arms.candidate.plan_label}: {self.arms.candidate.label}"

    @property
    def letter(self) -> str:
        return self.columns[1].letter

    @property
    def is_of_reference(self) -> bool:
        return all(each.test.is_of_reference for each in self.arms)


def changes_of(pair: ComparedPair) -> dict[str, tuple[str, str]]:
    """The settings that differ, by path; {} while one of the two has no run."""
    runs = [next(iter([*each.counted, *each.runs]), None) for each in pair.arms]
    if None in runs:
        return {}
    return changed_fields(*(_facts_of(each) for each in runs))


def _facts_of(each: MeasuredRun) -> dict:
    """The run's settings and what its injectors said of the setting that they found."""
    ends = each.measurement.ends if each.measurement else []
    # All that may differ between two runs beside their results, secrets as digests.
    frozen = each.run.frozen
    # The plan; bodies, headers and tables, which may be secret or long, as size and digest.
    steps = [
        {**step, "headers": _told_apart(step["headers"]), "body": _told_apart(step["body"])}
        for step in frozen.plan_json["steps"]
    ]
    exchange = frozen.plan_json.get("exchange")
    if exchange:
        exchange = {**exchange, "headers": _told_apart(exchange["headers"])}
    variables = frozen.plan_json.get("variables")
    if variables:
        variables = {**variables, "csv": _told_apart(variables["csv"])}
    apart = {"steps": steps, "exchange": exchange, "variables": variables}
    return {
        "target": frozen.target,
        "plan name": frozen.plan_label,
        "connection mode": str(frozen.connection_mode),
        "injector processes": each.run.n_shards,
        "endpoint": frozen.endpoint.to_json(),
        "environment": dict(frozen.environment),
        "plan": {**frozen.plan_json, **apart, "connection_mode": None},
        "TLS agreed": sorted({tls.agreed for end in ends for tls in end.tls}),
        "Certificate": sorted({tls.certificate for end in ends for tls in end.tls} - {None}),
        "TLS library": tls_libraries_of(ends),
        "server names": sorted({name for end in ends for name in end.servers or ()}),
    }


def blockers_of(pair: ComparedPair, changes: dict[str, tuple[str, str]]) -> list[Blocker]:
    loads = [name for name in changes if _forbids(name) and name.startswith("plan.load.")]
    others = [name for name in changes if _forbids(name)] if pair.is_found else []
    if loads:
        reason, what = Reason.UNLIKE_LOAD, "The plans ask for different loads"
    elif others:
        reason, what = Reason.NOT_LIKE_FOR_LIKE, "The plans send different requests"
    else:
        return []
    names = ", ".join(dict.fromkeys(field_name(name) for name in loads or others))
    return [(reason, f"{what}: {names}.")]


def _forbids(path: str) -> bool:
    """Whether a plan with another value there asks something else of the target."""
    return (
        path.startswith("plan.") and not path.startswith(_HARMLESS) and not path.endswith(".label")
    )


def differences_of(
    pairs: Sequence[ComparedPair],
    changes: Sequence[dict[str, tuple[str, str]]],
    overheads: Sequence[Overhead],
) -> list[Difference]:
    """What differs, each fact once with the tests that it concerns; what forbids a word first."""
    found: dict[tuple[str, str, str, str, bool], list[str]] = {}
    for pair, changed, overhead in zip(pairs, changes, overheads, strict=True):
        for path, (one, other) in changed.items():
            forbids = _forbids(path) and (pair.is_found or path.startswith("plan.load."))
            key = (field_name(path), pair.letter, one, other, forbids)
            found.setdefault(key, []).append(pair.label)
        for name, one, other in overhead.likeness["different"]:
            if name in _MEASURED:
                forbids = name in unlike_by_accident(pair.arms, overhead.likeness)
                key = (_MEASURED[name], pair.letter, one, other, forbids)
                found.setdefault(key, []).append(pair.label)
    n_tests = {pair.letter: sum(p.letter == pair.letter for p in pairs) for pair in pairs}
    rows = [
        Difference(
            name,
            letter,
            one,
            other,
            () if len(labels) == n_tests[letter] else tuple(labels),
            forbids,
        )
        for (name, letter, one, other, forbids), labels in found.items()
    ]
    return sorted(rows, key=lambda each: not each.forbids)


# Measured facts of domain.judged.likeness, as they are called here; the settings have the others.
_MEASURED = {
    "host": "Address reached",
    "injector hosts": "Injector hosts",
    "reply": "Bytes per reply",
    "status": "Statuses",
    "requests a run": "Requests per run",
}


_SAME = ("plan", "target", "host", "injector hosts", "reply", "status")


def same_of(pairs: Sequence[ComparedPair], overheads: Sequence[Overhead]) -> list[tuple[str, str]]:
    """What all tests have alike on both sides: (name, value), and the load that they reached."""
    alike = [dict(each.likeness["same"] + each.likeness["equal"]) for each in overheads]
    found = [
        (name, ", ".join(dict.fromkeys(each[name] for each in alike)))
        for name in _SAME
        if alike and all(name in each for each in alike)
    ]
    loads = dict.fromkeys(load for pair in pairs if (load := _load(pair)))
    return [*found, *([("requests sent", ", ".join(loads))] if loads else [])]


def _load(pair: ComparedPair) -> str:
    """Such as "99.9 and 99.9/s"; "" where one side sent nothing."""
    rates = [_rate(each) for each in pair.arms]
    return f"{' and '.join(rates)}/s" if all(rates) else ""


def _rate(test: MeasuredTest) -> str:
    measurements: list[Measurement] = [each.measurement for each in test.counted]
    known = [each.sent_per_s for each in measurements if each.sent_per_s is not None]
    return rate(sum(known) / len(known)) if known else ""


def _told_apart(value: Any) -> str:
    if not value:
        return ""
    text = json.dumps(value)
    return f"{len(text):,} characters, #{hashlib.sha256(text.encode()).hexdigest()[:8]}"
