"""The tab Setup of a campaign's page: its plans, how it runs, whether both sides are comparable,
and what its runs say of machines, TLS and connections."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from campaigns.campaigns.queries.cells import arms_by_plan
from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.turns import turns_limit_s
from campaigns.domain.presentation.results import Answer
from campaigns.domain.presentation.setup_facts import CERTIFICATE, TLS, Rows, plan_facts, told_once
from campaigns.domain.units import and_joined, duration, typed_percent
from campaigns.models import Campaign, PlanVersion, Test
from campaigns.probes.queries.first_requests import FirstRequest, FirstResponses

_MOST_PLANS = 4  # each with a group of its own
_NEAR_DAYS = 30


@dataclass(frozen=True, slots=True)
class SetupGroup:
    """`version`: of the plan that it is about. `warned`: the names of rows that need the eye."""

    title: str
    rows: Rows
    version: PlanVersion | None = None
    warned: Collection[str] = ()


def setup_of(
    campaign: Campaign,
    tests: Sequence[Test],
    answer: Answer,
    first_responses: FirstResponses,
    *,
    shows_queries: bool,
) -> list[SetupGroup]:
    """`shows_queries`: whether the reader may see the parameters in paths."""
    requests = first_responses.rows
    # What the preflight requests agreed on.
    alpn = told_once(
        {str(each.probe.endpoint): each.report.alpn for each in requests if each.report}
    )
    of_runs = [
        _certificate(rows, requests)
        if title == CERTIFICATE
        else SetupGroup(title, [*rows, ("ALPN", alpn)] if alpn and title == TLS else rows)
        for title, rows in answer.setup
    ]
    likenesses = [
        each.like_for_like for each in answer.overheads if any(each.like_for_like.values())
    ]
    differ = list(dict.fromkeys(name for each in likenesses for name, *_ in each["different"]))
    of_pairs: dict[str, dict[str, str]] = {}
    for overhead in answer.overheads:
        for name, value in overhead.like_for_like.get("equal", ()):
            of_pairs.setdefault(name.capitalize(), {})[overhead.title] = value
    rows = [("Answer", f"no: {and_joined(differ)}" if differ else "yes")] if likenesses else []
    rows += [(name, told_once(values)) for name, values in of_pairs.items()]
    groups = [
        *_plans(tests, shows_queries=shows_queries),
        SetupGroup("Campaign", _campaign(campaign, tests)),
        SetupGroup("Are both sides comparable?", rows, warned={"Answer"} if differ else ()),
        *of_runs,
    ]
    return [group for group in groups if group.rows]


def _plans(tests: Sequence[Test], *, shows_queries: bool) -> list[SetupGroup]:
    of_plan: dict[PlanVersion, list[Test]] = {}
    for test in tests:
        of_plan.setdefault(test.plan_version, []).append(test)
    plan_by_version = {version: plan for version in of_plan if (plan := _readable(version))}
    if len(plan_by_version) > _MOST_PLANS:
        loads = [
            (str(each), dict(plan_facts(plan))["Load"]) for each, plan in plan_by_version.items()
        ]
        return [SetupGroup("Plans", loads)]
    groups = []
    for version, plan in plan_by_version.items():
        rows = plan_facts(plan, shows_queries=shows_queries)
        if swept := [test for test in of_plan[version] if test.swept]:
            span = f"{swept[0].swept_words} to {swept[-1].swept_words}"
            rows = [*(row for row in rows if row[0] != "Load"), ("Varies", span)]
        groups.append(SetupGroup("Plan", rows, version))
    return groups


def _readable(version: PlanVersion) -> Plan | None:
    """None of what an older release stored otherwise."""
    try:
        return version.value()
    except InvalidPlan:
        return None


def _campaign(campaign: Campaign, tests: Sequence[Test]) -> Rows:
    in_turns = campaign.order == Campaign.Order.SIDE_BY_SIDE
    injectors = {test.injectors for test in tests}
    limits_s = [
        turns_limit_s(plan, len(arms), campaign.limit_s, arms[0].injectors)
        for arms in arms_by_plan(tests).values()
        if (plan := _readable(arms[0].plan_version))
    ]
    stops = "when settled, at most" if campaign.until_settled else "after"
    rows = [
        ("Order", campaign.get_order_display().lower()),
        ("Stops", f"{stops} {duration(max(limits_s))}" if in_turns and limits_s else ""),
        ("Repeats", f"{campaign.repeats} of each test" if campaign.repeats > 1 else ""),
        ("Pause", "" if in_turns else duration(campaign.pause_s)),
        ("Ignores differences", f"below {typed_percent(campaign.practical_threshold)}"),
        (
            "Injector processes per run",
            "" if injectors <= {1} else ", ".join(map(str, sorted(injectors))),
        ),
        ("On errors", "continues" if campaign.keeps_going else ""),
        ("perf record", campaign.perf_scope.words if campaign.profile else ""),
        ("perf stat", campaign.get_perf_display() if campaign.perf else ""),
        ("Seed", str(campaign.seed)),
    ]
    return [(name, value) for name, value in rows if value]


def _certificate(rows: Rows, requests: Sequence[FirstRequest]) -> SetupGroup:
    """With what the preflight requests saw of it."""
    request_by_endpoint = {str(each.probe.endpoint): each for each in requests if each.certificate}

    def row(name: str, of: Callable[[dict[str, Any]], str]) -> tuple[str, str]:
        return name, told_once(
            {place: of(each.certificate) for place, each in request_by_endpoint.items()}
        )

    if not request_by_endpoint:
        return SetupGroup(CERTIFICATE, rows)
    is_near = any(
        each.report.certificate_days_left < _NEAR_DAYS for each in request_by_endpoint.values()
    )
    return SetupGroup(
        CERTIFICATE,
        [
            row("Subject", itemgetter("subject")),
            row("Issued by", lambda of: "itself" if of["self_signed"] else of["issuer"]),
            *rows,
            row("Expires", lambda of: f"{datetime.fromisoformat(of['not_after']):%-d %b %Y}"),
        ],
        warned={"Expires"} if is_near else (),
    )
