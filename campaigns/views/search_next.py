"""What a search leaves open, with what answers it; and while it goes on, what comes next."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.analysis.capacity import FEWEST_SEARCHES, MOST_SEARCHES, NARROW, Ending
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.target import TLS_SCHEMES, TLS_TWINS
from campaigns.domain.presentation.capacity_words import Limiter
from campaigns.domain.units import counted, percent
from campaigns.models import Endpoint, Test
from campaigns.queries.searches import SearchReport
from campaigns.services.searches import SILENT_AFTER_S


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
    if twin := _twin_of(test):
        scheme = twin.scheme.upper()
        because = "TLS costs CPU" if limiter.names_machine else f"the same search over {scheme}"
        question = "How much of it is TLS?"
        yield OpenQuestion(question, because, f"Search over {scheme}", _search_of(test, twin))


def _twin_of(test: Test) -> Endpoint | None:
    """The target's endpoint of the same protocol without TLS, or with it."""
    twins = TLS_TWINS | {plain: tls for tls, plain in TLS_TWINS.items()}
    scheme = twins.get(test.endpoint.scheme)
    found = test.endpoint.target.endpoints.filter(archived_at=None, scheme=scheme)
    return found.first()


def _search_of(test: Test, endpoint: Endpoint) -> str:
    """The form, filled in for the same plan over that endpoint."""
    mode = test.connection_mode
    if mode == ConnectionMode.RESUMED and endpoint.scheme not in TLS_SCHEMES:
        mode = ConnectionMode.NEW
    asked = {"plan": test.plan_version.plan_id, "arm": f"{endpoint.pk}.{mode}"}
    return f"{reverse('search-new', args=[test.campaign.project_id])}?{urlencode(asked)}"


def steps_to_come(report: SearchReport) -> list[tuple[str, str]]:
    """[(step, when)] of a search that goes on."""
    asked, n = percent(NARROW, decimals=0), len(report.answer.searches)
    is_on_the_way = not any(each.search for each in report.made)
    steps = []
    if is_on_the_way:
        steps.append(("The rate is doubled, then halved to the limit", "now"))
    if n < FEWEST_SEARCHES:
        left = counted(FEWEST_SEARCHES - n, "searches")
        steps.append((f"{left} around it", "about 4 trials each"))
    more = f"only if the interval is wider than {asked}"
    steps.append((f"More searches, up to {MOST_SEARCHES}", more))
    silent = f"if it does not answer within {SILENT_AFTER_S} s after a trial"
    return [*steps, ("Stops and says so", silent)]
