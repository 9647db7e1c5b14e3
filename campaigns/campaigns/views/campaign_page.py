"""The context of the campaign page, for members and share link visitors."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.queries.campaigns import current_run_of, newest_event, why_archived
from campaigns.campaigns.queries.cells import MAX_REPEATS
from campaigns.campaigns.queries.references import reference_sentence
from campaigns.campaigns.views.campaign_drawings import (
    drawn_ladder,
    drawn_machine_runs,
    drawn_matrix,
)
from campaigns.campaigns.views.campaign_runs import (
    are_crowded,
    drawn_plots,
    has_p99,
    headline_run,
    repeat_table,
    repeats_of,
    run_rows,
    runs_page,
)
from campaigns.campaigns.views.campaign_setup import setup_of
from campaigns.campaigns.views.campaign_tiles import (
    CampaignProgress,
    cards_of,
    drawn_funnel,
    planned_s,
    progress_of,
    ratios_of,
    tiles_of,
)
from campaigns.campaigns.views.open_questions import sweep_questions
from campaigns.compare.queries.side_by_side import pass_under_way
from campaigns.core.drawings import forest_groups, split_bars
from campaigns.core.pages import Page
from campaigns.core.permissions import Actor
from campaigns.core.plots import over_time_charts
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.presentation.badges import Answers, Badge, campaign_badge, on_hold_badge
from campaigns.domain.presentation.host_use import MEANING
from campaigns.domain.presentation.machine_table import resource_tables
from campaigns.domain.presentation.results import Answer, Gist, TestAnswer
from campaigns.domain.presentation.run_points import whole_percent
from campaigns.domain.presentation.sentences import what_is_timed
from campaigns.domain.presentation.what_to_do import Place, Remedy, next_step
from campaigns.domain.units import and_joined, common_nouns, count
from campaigns.engine.queries.engine import waiting_reason
from campaigns.engine.queries.injector_hosts import busy_host
from campaigns.history.queries.baselines import campaign_against, changed_tests, may_be_baseline
from campaigns.ladder.queries import ladder_metric
from campaigns.live.hub import Cursor
from campaigns.machines.queries.machine_runs import runs_beside_each_other, target_resources
from campaigns.machines.queries.target_costs import perf_counters, target_costs
from campaigns.models import Campaign, Run, Test, without_references
from campaigns.probes.queries.first_requests import FirstResponses, first_requests_of
from campaigns.runs.queries.runs import examples_of, programs_beside
from campaigns.runs.views.run_page import errors_section, remedies_context, run_context, worst_test
from campaigns.search.queries import SearchReport
from campaigns.sweep.views import drawn_sweeps


def campaign_context(
    campaign: Campaign,
    actor: Actor,
    pair: tuple[int, int] | None = None,
    relative: int = 1,
    params: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights. `pair`: the
    tests that are compared, candidate and baseline; by default HTTPS against HTTP. `relative`: the
    column that a matrix or sweeps of several arms are relative to, from 1. `params`: its address,
    which also says which runs and which points of sweeps it shows."""
    # Read the cursor first: later changes may be sent twice, but are never missed.
    cursor = Cursor(newest_event(run__campaign=campaign))
    has_machines = actor.sees_machines
    params = params or {}
    answer = answer_of(campaign, pair, relative, ladder_metric(params), shows_machines=has_machines)
    runs = runs_page(campaign, params)
    for run in runs:
        run.shows_machine = has_machines
    current = current_run_of(campaign)
    every = campaign.tests.select_related("endpoint__target", "plan_version__plan")
    tests, references = without_references(every)
    under_way = _under_way(campaign, actor, current)
    turns = under_way["turns"]
    limit_s = turns and turns.limit_s
    cards = cards_of(answer, campaign.practical_threshold, limit_s)
    by_number = {test.pk: test for test in tests}
    context = {
        **under_way,
        **_comparison(campaign, answer, limit_s),
        "matrix": drawn_matrix(answer.matrix, campaign.practical_threshold),
        "repeat_table": None if campaign.repeats < 2 else repeat_table(answer, params),
        "ladder": drawn_ladder(answer.ladder, campaign.practical_threshold),
        # Each sweep as it is drawn, with its `questions`: what it leaves open.
        "sweeps": [
            sweep | {"questions": sweep_questions(campaign, sweep["sweeps"], by_number)}
            for sweep in drawn_sweeps(answer.sweeps)
        ],
        **_of_runs(campaign, actor, answer, runs, params, under_way),
        **_remedies(campaign, answer, tests, under_way["first_responses"]),
        # The stream sends the active run's points, all of them to a new viewer.
        "cursor": cursor,
        "campaign": campaign,
        "answer": answer,
        "disturbed": MEANING,
        "programs": programs_beside(campaign.runs.all(), actor, campaign.project)
        if answer.caveats
        else (),
        "badge": badge_of(campaign, answer),
        "against": campaign_against(campaign),
        "may_be_baseline": campaign.state == "done" and may_be_baseline(campaign),
        "tiles": tiles_of(answer),
        "cards": cards,
        "ratios": ratios_of(answer.overheads, campaign.practical_threshold, has_cards=bool(cards)),
        "errors": errors_section(answer.errors, examples_of(actor, run__campaign=campaign)),
        "many_plans": len({test.plan_label for test in answer.tests}) > 1,
        "twins": _twin_names(answer.tests),
        "choice": _choice_of(answer),
        "noun": common_nouns(test.nouns for test in answer.tests),
        "tests": tests,
        "references": references,
        "why_archived": why_archived(campaign, every),
        "reference": reference_sentence(campaign),
        "setup": setup_of(
            campaign, tests, answer, under_way["first_responses"], shows_queries=actor.share is None
        ),
    }
    if has_machines:
        runs_in_order = runs_beside_each_other(campaign)
        context |= {
            "target_costs": target_costs(campaign, answer),
            "counters": perf_counters(campaign, answer),
            "machine_runs": drawn_machine_runs(runs_in_order, answer.tests),
            "resources": resource_tables(target_resources(campaign, answer), answer.tests),
        }
    return {**context, "tabs": _tabs(context)}


def _under_way(campaign: Campaign, actor: Actor, current: Run | None) -> dict[str, Any]:
    """How far it is, and what it waits for."""
    is_live = campaign.state in {"running", "stopping"}
    responses = first_requests_of(campaign, actor)
    return {
        "is_live": is_live,
        "has_begun": is_live and not campaign.is_before_first_run,
        "planned_s": planned_s(campaign, campaign.repeats) if campaign.state == "draft" else None,
        "waiting": waiting_reason(campaign, actor) if is_live and not current else "",
        "current": current,
        "turns": pass_under_way(campaign) if is_live else None,
        "first_responses": responses,
        # Where they are all that there is.
        "came_back_first": responses.rows and not campaign.opened_at,
    }


def _twin_names(tests: list[TestAnswer]) -> dict[str, str]:
    """The schemes of the tests without and with TLS: HTTP and HTTPS, WS and WSS, or both."""
    kinds = {each.scheme in WEBSOCKET_SCHEMES for each in tests} or {False}
    if len(kinds) > 1:
        return {"plain": "plain", "tls": "TLS"}
    return {"plain": "WS", "tls": "WSS"} if kinds.pop() else {"plain": "HTTP", "tls": "HTTPS"}


def _remedies(
    campaign: Campaign, answer: Answer, tests: Sequence[Test], responses: FirstResponses
) -> dict[str, Any]:
    """What to try: of a campaign on hold, about what came back of its first requests."""
    if not (campaign.is_held and responses.wrong):
        return remedies_context(answer.remedies, worst_test(tests, answer))
    probe = responses.wrong[0].probe
    cells = {(test.plan_version_id, test.endpoint_id): test for test in tests}
    context = remedies_context(
        responses.remedies, cells.get((probe.plan_version_id, probe.endpoint_id))
    )
    if endpoints := responses.answered:
        query = urlencode(
            {"again": campaign.pk, "endpoint": [each.pk for each in endpoints]}, doseq=True
        )
        only = Remedy(f"{and_joined([str(each) for each in endpoints])} answered.", "", Place.AGAIN)
        url = f"{reverse('campaign-new', args=[campaign.project_id])}?{query}"
        context["remedies"].append((only, url, "Measure only this"))
    return context


def _tabs(context: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(panel, title, how many) of those that have something; none before the first requests are
    back."""
    campaign, errors = context["campaign"], context["answer"].errors
    if campaign.is_held:
        return [("result", "Result", ""), ("setup", "Setup", "")]
    if campaign.state == "draft" or campaign.is_before_first_run:
        return []
    n_errors = 0 if errors.is_everything else sum(row.count for row in errors.rows)
    costs = context.get("target_costs")
    has_costs = costs and (costs.network or costs.cpu)
    of_machines = (context.get(name) for name in ("machine_runs", "resources", "counters"))
    has_machine = has_costs or any(of_machines)
    tabs = [
        ("result", "Result", "", True),
        ("runs", "Runs", count(context["runs"].count), True),
        ("errors", "Errors", count(n_errors), n_errors),
        ("machine", "Machine", "", has_machine),
        ("setup", "Setup", "", True),
    ]
    return [(key, title, n) for key, title, n, is_there in tabs if is_there]


def disturbance(campaign: Campaign, may: Mapping[str, bool]) -> dict[str, Any]:
    """Of the page of a campaign that has not ended: what disturbs its measurements now. Only for
    members, and with names of programs for those who may start it."""
    busy = None if campaign.finished_at else busy_host()
    return {"busy_host": busy if busy is None or may["run"] else busy.without_names()}


def _of_runs(
    campaign: Campaign,
    actor: Actor,
    answer: Answer,
    runs: Page,
    params: Mapping[str, str],
    under_way: Mapping[str, Any],
) -> dict[str, Any]:
    """The runs: how far they are, the one that is watched, their curves, their table."""
    current, is_only, repeats = under_way["current"], runs.count == 1, repeats_of(answer, params)
    progress, rows = progress_of(campaign, current), run_rows(runs, answer)
    live_run = current or headline_run(campaign, runs, answer)
    watched_page = run_context(live_run, actor) if live_run else {}
    # One arm of those that take turns would stand for all.
    has_curve = live_run and not under_way["turns"]
    curves = {live_run.test_id: watched_page["report"].curve} if has_curve else {}
    # Crowded charts name the chosen test before all others, then what changed.
    first = [repeats["asked"], *changed_tests(campaign)] if are_crowded(answer) else []
    return {
        **_watching(watched_page, progress, answer, is_only=is_only),
        "progress": progress,
        "plots": drawn_plots(answer, curves, campaign.repeats, first),
        "runs": runs,
        "run_rows": rows,
        "has_p99": has_p99(rows),
        "is_one_block": campaign.repeats == 1 and not any(run.is_alone for run in runs),
        "repeats": repeats,
    }


def _comparison(campaign: Campaign, answer: Answer, limit_s: float | None) -> dict[str, Any]:
    """The two sides of each comparison, with what would settle it. `limit_s` as in `cards_of`."""
    overheads = answer.overheads
    # The compared arms, for titles: HTTP and HTTPS, WS and WSS, or those that were chosen.
    is_chosen = any(each.is_chosen for each in overheads)
    usual = ("baseline", "candidate") if is_chosen else ("plain", "TLS")
    sides = zip(*{each.names for each in overheads} or {("HTTP", "HTTPS")}, strict=True)
    baseline, candidate = (
        own[0] if len(set(own)) == 1 else name for own, name in zip(sides, usual, strict=True)
    )
    title = f"{candidate} against {baseline}" if is_chosen else f"Overhead of {candidate}"
    every = [(each, each.like_for_like.get("different", [])) for each in overheads]
    unlike = [(each, [row for row in rows if row[1:] != [*each.names]]) for each, rows in every]
    settling = {}
    if campaign.state == "done":
        step = next_step(answer.overheads, MAX_REPEATS - campaign.repeats)
        settling = {"next_step": step, "next_s": planned_s(campaign, step.blocks) if step else None}
    return {
        "what": what_is_timed(common_nouns(test.nouns for test in answer.tests)),
        "forest": forest_groups(overheads, campaign.practical_threshold),
        "funnel": drawn_funnel(overheads, campaign.practical_threshold, limit_s),
        "in_turns": campaign.order == Campaign.Order.SIDE_BY_SIDE,
        "confidence": max((each.confidence for each in overheads), default=0.95),
        # Of the average rows.
        "has_forest": any(
            cell.value is not None for each in overheads for cell in each.table.rows[0].cells[:-1]
        ),
        "bars": split_bars(overheads),
        "compared": {"baseline": baseline, "candidate": candidate, "title": title},
        "differences": [(each, rows) for each, rows in unlike if rows],
        **settling,
    }


def _watching(
    page: dict[str, Any], progress: CampaignProgress, answer: Answer, *, is_only: bool
) -> dict[str, Any]:
    """The run that the campaign's page shows like the run's own: the one under way, the only one,
    or the one whose partial figures are all there is. `page` is that run's context, {} for none.
    `run_has_headline`: the campaign has no figures but that run's, so its sentence and tiles are
    the campaign's."""
    if not page:
        return {
            "watched": None,
            "run_has_headline": False,
            "percent": "",
            "is_only": is_only,
            "over_time": over_time_charts("Current run"),
        }
    run, report = page["run"], page["report"]
    percent = report.progress.percent if is_only else whole_percent(progress.share)
    title = "The partial run over time" if run.is_done else "Current run"
    return {
        "watched": page,
        "over_time": over_time_charts("Over time" if is_only else title),
        "is_only": is_only,
        "run_has_headline": run.pk == answer.partial_run
        or (is_only and run.outcome != Outcome.COMPLETE),
        "percent": "" if run.is_done else percent,
    }


def badge_of(campaign: Campaign, answer: Answer | Gist | SearchReport | None) -> Badge:
    if campaign.is_held:
        return on_hold_badge()
    answers = answer.found if answer else Answers()
    is_stopped = campaign.stop_requested_at is not None
    end = answer.end_of_turns if isinstance(answer, Answer) else None
    return campaign_badge(campaign.state, answers, is_stopped=is_stopped, end=end)


def _choice_of(answer: Answer) -> dict[str, Any] | None:
    """The tests to choose from, and the two that are compared; None where there is no choice."""
    if len(answer.tests) < 2:
        return None
    many_plans = len({test.plan_label for test in answer.tests}) > 1
    first = answer.overheads[0] if answer.overheads else None
    return {
        "tests": [
            (test.test_id, f"{test.plan_label}, {test.label}" if many_plans else test.label)
            for test in answer.tests
        ],
        "candidate": first.candidate_test_id if first else answer.tests[1].test_id,
        "baseline": first.baseline_test_id if first else answer.tests[0].test_id,
        "is_chosen": bool(first and first.is_chosen),
        "query": f"?compare={first.candidate_test_id}&with={first.baseline_test_id}"
        if first and first.is_chosen
        else "",
    }
