"""Share links: create one, list the live ones, and the visitor's page."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from campaigns.accounts import tokens as services
from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.queries.campaigns import campaign_key, run_key
from campaigns.campaigns.views.campaign_page import campaign_context
from campaigns.compare.queries.arm_pairs import chosen_tests
from campaigns.compare.queries.columns import columns_of, live_links, shared_columns
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.compare.views import comparison_context
from campaigns.core.access import (
    actor_of,
    acts_on,
    find,
    render_page,
    saved_by,
    signed_in_get,
    signed_in_post,
)
from campaigns.core.permissions import Action, Actor, require
from campaigns.core.tables import csv_of_tables, text_file
from campaigns.domain.analysis.ratio import Against, Word
from campaigns.domain.errors import InvalidFields
from campaigns.domain.units import ms
from campaigns.history.models import HistoryKey
from campaigns.history.queries.history import latest_figures
from campaigns.live.hub import report_of
from campaigns.live.views import live_page, share_topic
from campaigns.models import Campaign, Project, Run, Search, ShareLink, Test, TestFigures
from campaigns.projects.forms import ShareForm
from campaigns.runs.exports import campaign_tables_file, run_tables_file
from campaigns.runs.queries.reports import MACHINES
from campaigns.runs.views.run_page import run_context
from campaigns.runs.views.runs import find_run
from campaigns.search.views.search_page import search_context


@signed_in_get(Project)
def share_list(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    return render_page(request, "shares/list.html", project, links=live_links(actor, project))


@signed_in_post(Campaign.objects.select_related("project"))
def campaign_share(request: HttpRequest, actor: Actor, campaign: Campaign) -> HttpResponse:
    return _share(request, campaign.project, campaign=campaign)


@signed_in_post
def run_share(request: HttpRequest, run: int) -> HttpResponse:
    row = find_run(actor_of(request), run)
    return _share(request, row.campaign.project, run=row)


@signed_in_post
def comparison_share(request: HttpRequest) -> HttpResponse:
    """The comparison whose columns are in the query, as on its page."""
    try:
        columns = columns_of(actor_of(request), request.GET)
    except InvalidFields:
        columns = None
    if not columns or len(columns) < 2:
        raise Http404
    query = urlencode({column.letter: column.reference for column in columns})
    return _share(request, columns[-1].campaign.project, comparison=query)


def _share(request: HttpRequest, project: Project, **subject: Campaign | Run | str) -> HttpResponse:
    """The page that shows the link once, or the form with its errors."""
    actor = actor_of(request)
    require(actor, Action.SHARE, project)
    form = ShareForm(request.POST)
    share = saved_by(form, services.create_share, by=actor, project=project, **subject)
    link, token = share or (None, None)
    context = {
        "shown": next(iter(subject.values())),
        "noun": next(iter(subject)),
        "form": form,
        "link": link,
        "address": request.build_absolute_uri(reverse("share-view", args=[token])) if token else "",
    }
    response = render_page(request, "shares/made.html", project, **context)
    response["Cache-Control"] = "no-store"
    return response


@signed_in_post
def test_badge(request: HttpRequest, test: int) -> HttpResponse:
    """The page that shows once what to write into a README."""
    actor = actor_of(request)
    rows = Test.objects.select_related("campaign__project", "plan_version__plan", "endpoint")
    row = find(rows, actor, pk=test)
    project, days = row.campaign.project, services.MAX_DAYS
    link, token = services.create_share(by=actor, project=project, test=row, days=days)
    image, page = (
        request.build_absolute_uri(reverse(name, args=[value]))
        for name, value in (("share-badge", token), ("history-test", row.pk))
    )
    name = row.plan_version.plan.name.replace("[", "").replace("]", "")
    context = {
        "project": project,
        "shown": row,
        "noun": "badge",
        "link": link,
        "address": f"[![{name}]({image})]({page})",
    }
    response = render(request, "shares/made.html", context)
    response["Cache-Control"] = "no-store"
    return response


@require_GET
def share_badge(request: HttpRequest, token: str) -> HttpResponse:
    """A picture of the test's latest result, for those who have the link."""
    share = services.open_share(token=token)
    if share is None or not share.test_id:
        raise Http404
    badge = result_badge(
        share.test.plan_version.plan.name, latest_figures(HistoryKey.of(share.test))
    )
    response = render(request, "shares/badge.svg", {"badge": badge}, "image/svg+xml")
    # What shows it elsewhere keeps it for a while.
    response["Cache-Control"] = "public, max-age=300"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


@acts_on(ShareLink.objects.select_related("project"), "share-list", "project_id")
def share_revoke(request: HttpRequest, by: Actor, share: ShareLink) -> str:
    services.revoke_share(by=by, share=share)
    return "The link is revoked. It no longer works."


# The template, what makes its context, and all that decides what a visitor sees.
_SharedPage = tuple[str, Callable[[], dict[str, Any]], tuple]


def _shared_campaign(request: HttpRequest, share: ShareLink, visitor: Actor) -> _SharedPage:
    campaign = find(Campaign.objects.select_related("project"), visitor, pk=share.campaign_id)
    version = campaign_key(campaign)
    if search := Search.objects.select_related("campaign").filter(pk=campaign.pk).first():
        trials = request.GET.get("trials", "")
        return "shares/search.html", partial(search_context, search, visitor, trials), version
    try:
        tests = chosen_tests(campaign, request.GET)
    except InvalidFields:
        raise Http404 from None

    context = partial(campaign_context, campaign, visitor, tests, params=request.GET)
    return "shares/campaign.html", context, version


def _shared_run(request: HttpRequest, share: ShareLink, visitor: Actor) -> _SharedPage:
    run = find_run(visitor, share.run_id)

    def context() -> dict[str, Any]:
        values = run_context(run, visitor)
        if not share.shows_machines:
            facts = [
                (group, rows) for group, rows in values["report"].facts if group not in MACHINES
            ]
            values["report"] = replace(values["report"], facts=facts)
            values["origin"] = f"its {run.frozen.endpoint.scheme.upper()} endpoint"
        return values

    return "shares/run.html", context, run_key(run)


@require_GET
def share_csv(request: HttpRequest, token: str) -> HttpResponse:
    """The tables of what the link shows."""
    share = services.open_share(token=token, counts_view=False)
    if share is None or share.test_id:
        raise Http404
    visitor, shows_machines = Actor(share=share), share.shows_machines
    if share.comparison:
        columns = shared_columns(Actor(user=share.created_by), share.comparison)
        table = comparison_of(columns, shows_machines=shows_machines).table
        response = text_file("comparison.csv", csv_of_tables([table]))
    elif share.campaign_id:
        campaign = find(Campaign.objects.select_related("project"), visitor, pk=share.campaign_id)
        answer = answer_of(campaign, shows_machines=shows_machines)
        response = campaign_tables_file(campaign, answer, shows_machines=shows_machines)
    else:
        run = find_run(visitor, share.run_id)
        run.shows_machine = shows_machines
        response = run_tables_file(run, report_of(run), shows_machines=shows_machines)
    return _for_link_only(response)


def _for_link_only(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


@require_GET
def share_view(request: HttpRequest, token: str) -> HttpResponse:
    """The link's campaign, run or comparison for a visitor: without navigation, names or links."""
    share = services.open_share(token=token)
    if share is None or share.test_id:
        raise Http404
    stream_url = reverse("share-stream", args=[token])
    link = {"shared": True, "may": {}, "stream_url": stream_url, "link": share}
    link["csv_url"] = reverse("share-csv", args=[token])
    if share.comparison:
        # Of what differs a visitor reads only the names: values may be headers or addresses. Nor
        # does the title name the project.
        columns = shared_columns(Actor(user=share.created_by), share.comparison)
        params = {name: request.GET[name] for name in ("show", "test") if name in request.GET}
        shows_machines = share.shows_machines
        result = comparison_of(columns, params.get("test", ""), shows_machines=shows_machines)
        context = comparison_context(columns, replace(result, same=[]), params)
        context |= {"project": None} | link
        response = render(request, "shares/comparison.html", context)
    else:
        handler = _shared_campaign if share.campaign_id else _shared_run
        template, context_maker, version = handler(request, share, Actor(share=share))
        context, version = lambda: context_maker() | link, (share.pk, *version)
        response = live_page(request, share_topic(share), template, context, version)
    return _for_link_only(response)


# A picture on any page, so the colours are the same in light and dark.
_FILLS = {Word.SLOWER: "#bf1d3a", Word.FASTER: "#1a7f4b"}
_MOST_LETTERS, _LETTER_PX = 40, 6.5


@dataclass(frozen=True, slots=True)
class ResultBadge:
    """A name and a value in a picture of 20 px height."""

    name: str
    value: str
    fill: str

    @property
    def words(self) -> str:
        return f"{self.name}: {self.value}"

    @property
    def split(self) -> float:
        return _LETTER_PX * len(self.name) + 12

    @property
    def value_x(self) -> float:
        return self.split + 6

    @property
    def value_width(self) -> float:
        """Without its round end."""
        return _LETTER_PX * len(self.value) + 9

    @property
    def width(self) -> float:
        return self.split + self.value_width + 3


def result_badge(plan: str, figures: TestFigures | None) -> ResultBadge:
    """The median without the injector's part, which a busy machine leaves as it is, and the verdict
    against the baseline."""
    name = plan if len(plan) <= _MOST_LETTERS else f"{plan[: _MOST_LETTERS - 1]}…"
    if figures is None:
        return ResultBadge(name, "no result", "#6b7580")
    against = Against.from_json(figures.against)
    words = [ms(median(figures.typical_us)), against.word if against else ""]
    fill = _FILLS.get(against.word if against else "", "#3b5bdb")
    return ResultBadge(name, ", ".join(filter(None, words)), fill)
