"""Campaigns: the list with the strip above it of those under way, and the page of one, live and
finished."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.answers import answer_of, gists_of
from campaigns.campaigns.queries.campaign_list import going_on, on_target, trends_of
from campaigns.campaigns.queries.campaigns import (
    campaign_key,
    campaign_keys,
    current_runs_of,
    final_key,
    rows_of_campaign,
)
from campaigns.campaigns.services import campaigns as services
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.views.campaign_new import whole
from campaigns.campaigns.views.campaign_page import badge_of, disturbance
from campaigns.campaigns.views.campaign_tiles import progress_by_campaign
from campaigns.campaigns.views.kept_pages import TEMPLATE, detail_context, ended_campaign, kept_page
from campaigns.compare.queries.arm_pairs import chosen_tests
from campaigns.core.access import (
    actor_of,
    acts_on,
    answers_refusals,
    find,
    rights_in,
    signed_in_get,
)
from campaigns.core.database import without_connection
from campaigns.core.drawings import trend_of
from campaigns.core.permissions import Actor
from campaigns.core.tables import text_stream, unless_known, wants_blocks
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.plan.turns import LONGEST_LIMIT_S
from campaigns.domain.presentation.badges import PILLS, Pill
from campaigns.domain.units import counted, duration
from campaigns.history.views.history_rows import against_cell
from campaigns.items.queries.items import is_first_visit
from campaigns.items.views.items import TRASH, items_context, trash_list
from campaigns.ladder.queries import ladder_metric
from campaigns.live.views import is_asked_again, live_page
from campaigns.matrix.queries import relative_column
from campaigns.models import Campaign, Project, Search
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services.probes import try_again
from campaigns.probes.views import field_page
from campaigns.runs.exports import campaign_tables_file, csv_of_campaign
from campaigns.search.views.search_page import search_context

_COMPARED = ("compare", "with")


@signed_in_get(Project)
def campaign_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    if request.GET.get("view") == TRASH:
        return trash_list(request, "campaign", project)
    if not request.GET and is_first_visit(project):
        return field_page(request, project)
    context = items_context(request, "campaign", project)
    campaigns = context["page"].rows
    n_running, shows_all = context["counts"]["running"], "active" in request.GET
    context |= {
        "campaigns": with_words(campaigns),
        # A column that says nothing of any of them is left out.
        "columns": {name for each in campaigns for name in each.columns},
        "active": active_strip(actor, project, shows_all=shows_all) if n_running else [],
        "shows_all": shows_all,
        "n_active": n_running,
        "may": rights_in(project, actor),
    }
    return render(request, "campaigns/list.html", context)


@signed_in_get
@answers_refusals("campaign-detail")
def campaign_detail(request: HttpRequest, campaign: int) -> HttpResponse:
    actor, is_again = actor_of(request), is_asked_again(request)
    rows = "" if is_again else rows_of_campaign(campaign)  # dear, and read before what it is of
    rows_with_project = Campaign.objects.select_related("project")
    row = find(rows_with_project, actor, pk=campaign)
    if search := Search.objects.select_related("campaign").filter(pk=row.pk).first():
        return _search_page(request, search)
    pair, may = _pair_of(request, row), rights_in(row.project, actor)
    context = partial(detail_context, campaign, actor, request.GET, pair, may)
    if row.finished_at and not is_again:
        page = ended_campaign(campaign, rows, may, request.GET, context)
        return kept_page(request, row.project, may, page)
    version = (*campaign_key(row), *may.values())
    return live_page(request, ("campaign", campaign), TEMPLATE, context, version)


def _search_page(request: HttpRequest, search: Search) -> HttpResponse:
    campaign, actor = search.campaign, actor_of(request)
    may = rights_in(campaign.project, actor)

    def context() -> dict[str, Any]:
        return {
            **search_context(search, actor, request.GET.get("trials", "")),
            **disturbance(campaign, may),
            "stream_url": reverse("campaign-stream", args=[campaign.pk]),
            "project": campaign.project,
            "may": may,
        }

    version = (*campaign_key(campaign), *may.values())
    return live_page(request, ("campaign", campaign.pk), "search/detail.html", context, version)


def _pair_of(request: HttpRequest, campaign: Campaign) -> tuple[int, int] | None:
    """The tests of ?compare=A&with=B; anything else is refused with a message."""
    return _or_404(chosen_tests, campaign, request.GET)


def _or_404(reader: Callable[..., Any], *args: Any) -> Any:
    """What `read` makes of the query string; its fault is refused with a message."""
    try:
        return reader(*args)
    except InvalidFields as fault:
        raise Refused(next(iter(fault.errors.values()))) from None


@acts_on(Campaign, "campaign-detail")
def campaign_start(request: HttpRequest, by: Actor, campaign: Campaign) -> None:
    how = {name: name in request.POST for name in ("anyway", "when_quiet")}
    services.start_campaign(by=by, campaign=campaign, **how)


@acts_on(Campaign, "campaign-detail")
def campaign_try_again(request: HttpRequest, by: Actor, campaign: Campaign) -> None:
    try_again(by=by, campaign=campaign)


@acts_on(Campaign.objects.select_related("project"), "campaign-detail")
def campaign_stop(request: HttpRequest, by: Actor, campaign: Campaign) -> str:
    services.stop_campaign(by=by, campaign=campaign)
    return "Stop requested. Results so far are kept."


@acts_on(Campaign, "campaign-detail")
def campaign_repeat(request: HttpRequest, by: Actor, campaign: Campaign) -> HttpResponse:
    with transaction.atomic():
        copy = services.repeat_campaign(by=by, campaign=campaign)
        if "when_quiet" in request.POST:
            services.start_campaign(by=by, campaign=copy, when_quiet=True)
    if "when_quiet" not in request.POST:
        messages.success(
            request, "Draft created with the same tests. Start it when the target is ready."
        )
    return redirect("campaign-detail", campaign=copy.pk)


@acts_on(Campaign, "campaign-detail")
def campaign_blocks(request: HttpRequest, by: Actor, campaign: Campaign) -> HttpResponse:
    """Add blocks to those that the page showed, and go back to the comparison that it showed."""
    blocks, after, more_s = (
        whole(request.POST.get(name, "")) for name in ("blocks", "after", "more_s")
    )
    more_s = min(more_s, LONGEST_LIMIT_S) or None
    add_blocks(by=by, campaign=campaign, blocks=blocks, after=after, more_s=more_s)
    more = f"{duration(more_s)} more" if more_s else counted(blocks, "blocks")
    messages.success(request, f"{more} added. The campaign runs again.")
    query = urlencode({name: request.GET[name] for name in _COMPARED if name in request.GET})
    return redirect(f"{reverse('campaign-detail', args=[campaign.pk])}?{query}".rstrip("?"))


@answers_refusals("campaign-detail")
@signed_in_get(Campaign)
def campaign_csv(request: HttpRequest, actor: Actor, campaign: Campaign) -> HttpResponseBase:
    """A row per run; with ?format=blocks the tables of the page, one after another."""
    if not _or_404(wants_blocks, request.GET):
        runs = without_connection(csv_of_campaign(campaign))
        name = f"campaign-{campaign.pk}.csv"
        return unless_known(request, final_key(campaign), lambda: text_stream(name, runs))
    params = request.GET
    answer = answer_of(
        campaign, _pair_of(request, campaign), relative_column(params), ladder_metric(params)
    )
    return campaign_tables_file(campaign, answer)


# Of those under way: lines of the strip, and of all that it opens.
STRIP, MOST_ACTIVE = 2, 20
_FAILED = {"broken", "failing", "overloaded"}
_UNREMARKABLE = {"complete", "kept", "draft"}


def with_words(campaigns: Sequence[Campaign]) -> Sequence[Campaign]:
    """Each gets what its row says, and the names of the `columns` in which it says something."""
    keys, trends = campaign_keys(campaigns), trends_of(campaigns)
    gists = gists_of([campaign for campaign in campaigns if campaign.n_done], keys)
    for campaign in campaigns:
        gist, trend = gists.get(campaign.pk), trends.get(campaign.pk)
        campaign.named = keys[campaign.pk].names
        campaign.sentence = gist.sentence if gist else []
        badge = badge_of(campaign, gist)
        against = trend.against if trend else None
        campaign.against = against_cell(against)
        campaign.pill = PILLS.get(against.word) if against else None
        if badge.state in _FAILED:
            campaign.pill = Pill("Failed", "×", "is-bad")
        campaign.is_same = bool(against) and against.word == Word.SAME
        campaign.badge = None if badge.state in _UNREMARKABLE or campaign.pill else badge
        campaign.trend = trend_of(trend.p95s_ms) if trend and campaign.started_at else None
        says = {
            "verdict": campaign.pill or campaign.badge or campaign.is_same,
            "change": campaign.against["against"],
            "trend": campaign.trend,
            "result": campaign.sentence,
            "started": campaign.started_at,
            "source": campaign.branch or campaign.commit,
        }
        campaign.columns = [name for name, what in says.items() if what]
    return campaigns


def active_strip(
    actor: Actor, project: Project, target: int | None = None, *, shows_all: bool = False
) -> list[Campaign]:
    """The first ones, each with its run, how far it is and what it waits for. `target`: with a test
    of this one."""
    campaigns = going_on(actor, project)
    if target:
        campaigns = campaigns.filter(on_target(target))
    campaigns = list(campaigns[: MOST_ACTIVE if shows_all else STRIP])
    current = current_runs_of(campaigns)
    progress = progress_by_campaign(campaigns, current)
    for campaign in campaigns:
        campaign.current = current.get(campaign.pk)
        campaign.progress = progress[campaign.pk]
        campaign.badge = badge_of(campaign, None)
        if campaign.is_held:
            wrong = first_requests_of(campaign, actor).wrong
            campaign.problem = wrong[0].problem if wrong else "a preflight request failed"
    return campaigns
