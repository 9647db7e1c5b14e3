"""What a sweep leaves open, each question with what answers it."""

from collections.abc import Iterator, Mapping, Sequence

from django.urls import reverse
from django.utils.http import urlencode

from campaigns.domain.plan.load import Model
from campaigns.domain.plan.sweep import at_point, text_of_values, values_words
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.sweep_points import end_of_growth
from campaigns.models import Campaign, Test
from campaigns.services.campaign_cells import cell_of
from campaigns.views.search_new import address_of_search
from campaigns.views.search_next import OpenQuestion

_MOST_ARMS = 3  # of which each question is asked
_FURTHER = (2, 4)  # times the highest value


def sweep_questions(
    campaign: Campaign, group: Sequence[SweepAnswer], tests: Mapping[int, Test]
) -> list[OpenQuestion]:
    """Of the arms of one finished sweep, for those who may start another campaign. `tests`: by
    their numbers."""
    if campaign.finished_at is None:
        return []
    arms = [
        question
        for sweep in group[:_MOST_ARMS]
        for question in _about_growth(campaign, sweep, _name(sweep, group, tests))
    ]
    return [
        *_about_doubts(campaign, group),
        *arms,
        *_about_rates(tests[group[0].points[0].test_id]),
    ]


def _name(sweep: SweepAnswer, group: Sequence[SweepAnswer], tests: Mapping[int, Test]) -> str:
    """A single arm needs no name beside its target's."""
    if len(group) > 1:
        return sweep.name
    return tests[sweep.points[0].test_id].endpoint.target.name


def _about_doubts(campaign: Campaign, group: Sequence[SweepAnswer]) -> Iterator[OpenQuestion]:
    points = [point for each in group for point in each.points]
    untrusted = sorted({point.value for point in points if point.why})
    if untrusted:
        lower = [point.value for point in points if point.value < untrusted[0]]
        yield OpenQuestion(
            f"What comes at {values_words(untrusted)}?",
            "not all runs there are trusted",
            "Repeat these",
            _again(campaign, [*([max(lower)] if lower else []), *untrusted]),
        )


def _about_growth(campaign: Campaign, sweep: SweepAnswer, name: str) -> Iterator[OpenQuestion]:
    found = end_of_growth(sweep.points)
    if found is None:
        return
    (point, has_ended), points = found, sweep.points
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
