"""What a result leaves open, and where each question is answered: of a search that has ended, of a
sweep, and of a search under way the steps to come."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.cells import CampaignCell, cell_of
from campaigns.domain.analysis.capacity import FEWEST_SEARCHES, MOST_SEARCHES, NARROW, Ending
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.sweep import at_point, text_of_values, values_words
from campaigns.domain.plan.target import TLS_SCHEMES, TLS_TWINS, WEBSOCKET_SCHEMES
from campaigns.domain.presentation.capacity_words import Limiter
from campaigns.domain.presentation.sweeps import SweepAnswer, end_of_growth
from campaigns.domain.units import counted, percent
from campaigns.models import Campaign, Test
from campaigns.search.queries import SILENT_AFTER_S, SearchReport


def address_of_search(cell: CampaignCell) -> str:
    """The form, filled in for this plan on this arm."""
    plan = cell.plan_version.plan
    arm = f"{cell.endpoint.pk}.{cell.connection_mode}"
    query = urlencode({"plan": plan.pk, "arm": arm})
    return f"{reverse('search-new', args=[plan.project_id])}?{query}"


def address_of_ladder(cell: CampaignCell) -> str:
    """The form, filled in for this plan on this endpoint."""
    plan = cell.plan_version.plan
    query = urlencode({"plan": plan.pk, "endpoint": cell.endpoint.pk})
    return f"{reverse('ladder-new', args=[plan.project_id])}?{query}"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """`address`: where `label` leads."""

    question: str
    because: str
    label: str
    address: str


def open_questions(
    report: SearchReport, test: Test, limiter: Limiter, *, knows_machine: bool
) -> Iterator[OpenQuestion]:
    """Of a search that has ended, for those who may start another. `knows_machine`: the target's
    CPU is known."""
    again = f"{reverse('search-new', args=[test.campaign.project_id])}?again={test.campaign_id}"
    if report.ending == Ending.INJECTOR:
        because = "two trials cannot be trusted: see “What limited it”"
        yield OpenQuestion("How much more can it take?", because, "Search again", again)
    if report.ending == Ending.LIMIT:
        because = "no higher rate was allowed: raise “Never above”"
        yield OpenQuestion("How much more can it take?", because, "Search again", again)
    if report.ending == Ending.BELOW:
        because = "already the first rate was too high: start lower"
        yield OpenQuestion("Which rate does it keep?", because, "Search again", again)
    if report.ending in (Ending.DEADLINE, Ending.STOPPED):
        yield OpenQuestion("Where is the limit?", "the search was cut short", "Search again", again)
    if test.endpoint.target.archived_at:
        return
    if not knows_machine and report.ending != Ending.LIMIT:  # where nothing but it was the limit
        machine = f"{reverse('target-detail', args=[test.endpoint.target_id])}#agents"
        because = "no agent reported its machine's CPU"
        yield OpenQuestion("Is it the target's CPU?", because, "Start its agent", machine)
    twins = TLS_TWINS | {plain: tls for tls, plain in TLS_TWINS.items()}
    scheme = twins.get(test.endpoint.scheme)
    endpoints = test.endpoint.target.endpoints.filter(archived_at=None, scheme=scheme)
    if twin := endpoints.first():
        scheme = twin.scheme.upper()
        because = "TLS costs CPU" if limiter.names_machine else f"the same search over {scheme}"
        question = "How much of it is TLS?"
        mode = test.connection_mode
        if mode == ConnectionMode.RESUMED and twin.scheme not in TLS_SCHEMES:
            mode = ConnectionMode.NEW
        query = {"plan": test.plan_version.plan_id, "arm": f"{twin.pk}.{mode}"}
        yield OpenQuestion(
            question,
            because,
            f"Search over {scheme}",
            f"{reverse('search-new', args=[test.campaign.project_id])}?{urlencode(query)}",
        )


def steps_to_come(report: SearchReport) -> list[tuple[str, str]]:
    """[(step, when)] of a search that goes on."""
    narrow, n = percent(NARROW, decimals=0), len(report.answer.searches)
    is_on_the_way = not any(each.search for each in report.made)
    steps = []
    if is_on_the_way:
        steps.append(("The rate is doubled, then halved to the limit", "now"))
    if n < FEWEST_SEARCHES:
        searches_to_come = counted(FEWEST_SEARCHES - n, "searches")
        steps.append((f"{searches_to_come} around it", "about 4 trials each"))
    more = f"only if the interval is wider than {narrow}"
    steps.append((f"More searches, up to {MOST_SEARCHES}", more))
    silent = f"if the server doesn't recover within {SILENT_AFTER_S} s"
    return [*steps, ("Stops", silent)]


_MOST_ARMS = 3  # of which each question is asked
_FURTHER = (2, 4)  # times the highest value


def sweep_questions(
    campaign: Campaign, group: Sequence[SweepAnswer], tests: Mapping[int, Test]
) -> list[OpenQuestion]:
    """Of the arms of one finished sweep, for those who may start another campaign. `tests`: by
    their numbers."""
    if campaign.finished_at is None:
        return []
    first = tests[group[0].points[0].test_id]
    # A single arm needs no name beside its target's.
    names = [each.name for each in group] if len(group) > 1 else [first.endpoint.target.name]
    arms = [
        question
        for sweep, name in zip(group[:_MOST_ARMS], names, strict=False)
        for question in _about_growth(campaign, sweep, name)
    ]
    return [*_about_doubts(campaign, group), *arms, *_about_rates(first)]


def _about_doubts(campaign: Campaign, group: Sequence[SweepAnswer]) -> Iterator[OpenQuestion]:
    points = [point for each in group for point in each.points]
    doubtful = sorted({point.value for point in points if point.why})
    if doubtful:
        lower = [point.value for point in points if point.value < doubtful[0]]
        yield OpenQuestion(
            f"What comes at {values_words(doubtful)}?",
            "not all runs there are trusted",
            "Repeat these",
            _again(campaign, [*([max(lower)] if lower else []), *doubtful]),
        )


def _about_growth(campaign: Campaign, sweep: SweepAnswer, name: str) -> Iterator[OpenQuestion]:
    end = end_of_growth(sweep.points)
    if end is None:
        return
    (point, has_ended), points = end, sweep.points
    if has_ended and point.value > points[0].value:
        yield OpenQuestion(
            f"What stops {name}?",
            f"no more growth {at_point(sweep.field, point.value)}; its run says who was busy",
            "See that run",
            reverse("run-detail", args=[point.run_id]),
        )
    elif point is points[-1]:
        further = [point.value, *(point.value * times for times in _FURTHER)]
        yield OpenQuestion(
            f"Where does {name} stop growing?",
            f"still growing {at_point(sweep.field, point.value)}",
            "Sweep on",
            _again(campaign, further),
        )


def _about_rates(test: Test) -> Iterator[OpenQuestion]:
    """A search sends the plan at one rate after another."""
    if test.endpoint.scheme in WEBSOCKET_SCHEMES:
        return
    is_open = test.plan_version.value().load.model == Model.OPEN
    yield OpenQuestion(
        "Which rate keeps an objective?",
        "only between these values" if is_open else "a load that waits for replies cannot tell",
        "How much can it take?",
        address_of_search(cell_of(test)),
    )


def _again(campaign: Campaign, values: Sequence[float]) -> str:
    query = urlencode({"again": campaign.pk, "values": text_of_values(values)})
    return f"{reverse('campaign-new', args=[campaign.project_id])}?{query}"
