"""What an event's message says, read from what is stored. Checks no permissions: a message goes to
channels that members of its project have chosen."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.analysis.ratio import Against
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.compared import ReferenceState
from campaigns.domain.presentation.history_words import levels
from campaigns.domain.presentation.intervals import change_interval
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import change_size, counted, duration
from campaigns.history.models import HistoryKey
from campaigns.history.queries.baselines import campaign_against
from campaigns.history.queries.history import arm_label_of
from campaigns.models import Campaign, Search, TestFigures, TriageChange
from campaigns.notifications.domain import MOST_FACTS, EventKind, EventMessage, kind_of_end, turn
from campaigns.notifications.models import Event, NotificationChannel
from campaigns.probes.queries.first_requests import first_requests_of

# So many earlier words of all tests of a campaign are read: the last clear one is among them.
_MOST_EARLIER = 2000


class Announcement(NamedTuple):
    """What is sent, and as what; `message` is None where nothing is."""

    kind: EventKind
    message: EventMessage | None = None


def announcement_of(events: Sequence[Event]) -> Announcement:
    """Of the events of one transaction."""
    event = next((each for each in events if each.kind == EventKind.ENDED), events[0])
    changes = [each.change for each in events if each.change]
    if any(each and each.deleted_at for each in (event.campaign, event.project)):
        return Announcement(EventKind(event.kind))
    if event.message is not None:
        return Announcement(EventKind(event.kind), EventMessage.from_json(event.message))
    if event.kind == EventKind.ENDED:
        return _end(event.campaign, _levels(changes))
    if event.kind == EventKind.ON_HOLD:
        failure = first_requests_of(event.campaign).failure or "a preflight request failed"
        # Somebody may have decided by now.
        until = (
            f"{localtime(event.campaign.canceled_at):%H:%M %Z}" if event.campaign.held_at else ""
        )
        facts = [
            ("Load", "None has been sent"),
            ("Canceled at", until and f"{until}, unless somebody decides"),
        ]
        headline = f"{event.campaign} needs a decision: {failure}."
        return Announcement(EventKind.ON_HOLD, _message(event.campaign, headline, facts))
    # Without an end: measurements came late.
    new_levels = _levels(changes)
    turns = [each.turn for each in new_levels if each.turn]
    if not turns:
        return Announcement(EventKind.CHANGE)
    kind = EventKind.REGRESSION if EventKind.REGRESSION in turns else EventKind.RECOVERED
    project = new_levels[0].change.entry.project
    data = {"project": project.name, "tests": [each.json for each in new_levels]}
    url = site_url("triage-list", project.pk)
    message = EventMessage(_level_words(new_levels), url=url, link="See the changes", data=data)
    return Announcement(kind, message)


def short_announcement(event: Event) -> Announcement:
    """What can be said whatever cannot be read."""
    kind, campaign = EventKind(event.kind), event.campaign
    if campaign is None:
        return Announcement(kind)
    state = "is on hold" if kind == EventKind.ON_HOLD else "has ended"
    return Announcement(kind, _message(campaign, f"{campaign} {state}.", []))


def _message(
    campaign: Campaign, headline: str, facts: Sequence[tuple[str, str]], **more: Any
) -> EventMessage:
    """Facts without a text are left out."""
    url = site_url("campaign-detail", campaign.pk)
    data = {
        "project": campaign.project.name,
        "campaign": {"id": campaign.pk, "name": campaign.name, "url": url},
        **more,
    }
    rows = tuple((name, text) for name, text in facts if text)
    return EventMessage(headline, rows[:MOST_FACTS], url, data=data)


def site_url(name: str, *args: Any) -> str:
    return f"{settings.SITE_URL}{reverse(name, args=args)}"


def page_of(channel: NotificationChannel) -> str:
    """Where the channel is changed."""
    return site_url("channel-detail", channel.pk)


# --- the end of a campaign -----------------------------------------------------------------------
def _end(campaign: Campaign, new_levels: Sequence["_Level"]) -> Announcement:
    answer = campaign_answer(campaign)
    rows = TestFigures.objects.filter(campaign=campaign, against__isnull=False)
    rows = rows.select_related("plan", "endpoint__target").order_by("test__position")
    counted_rows = [row for row in rows if not row.endpoint.target.is_reference]
    # The newest first; one query for all.
    earlier: dict[tuple[HistoryKey, int | None], list[str]] = {_key(r): [] for r in counted_rows}
    if counted_rows:
        before = TestFigures.objects.filter(
            against__isnull=False,
            plan__in={row.plan_id for row in counted_rows},
            endpoint__in={row.endpoint_id for row in counted_rows},
            baseline__in={row.baseline_id for row in counted_rows},
            started_at__lt=counted_rows[0].started_at,
        )
        for row in before.order_by("-started_at")[:_MOST_EARLIER]:
            earlier.get(_key(row), []).append(_word(row))
    judged_tests = [
        _JudgedTest(row, Against.from_json(row.against), turn(earlier[_key(row)], _word(row)))
        for row in counted_rows
    ]
    search = Search.objects.filter(pk=campaign.pk).first()
    turns = [each.turn for each in (*judged_tests, *new_levels)]
    if answer.found_by_search:
        is_usable = answer.found_by_search.trust != Trust.NO_ANSWER
    else:
        means = (value is not None for test in answer.tests for value in test.means_ms)
        is_usable = answer.has_word or any(means)
    kind = kind_of_end(
        [*turns, _turn_of_search(search)] if search else turns,
        is_usable=is_usable,
        is_stopped=campaign.stop_requested_by_id is not None,
    )
    sentence, against = plain_text(answer.sentence), plain_text(campaign_against(campaign))
    level = _level_words(new_levels)
    if kind == EventKind.NO_RESULT:
        headline, first = f"{campaign} ended without a usable result.", ("Why", sentence)
    elif kind == EventKind.ENDED:
        headline = f"{campaign}: {sentence}" if sentence else f"{campaign} has ended."
        first = ("Baseline", against)
    else:
        text = f"{against[:1].lower()}{against[1:]}" or level
        headline, first = f"{campaign}: {text}", ("Result", sentence)
    took = (campaign.finished_at or campaign.started_at) - campaign.started_at
    facts = [
        first,
        ("Change of level", level if against else ""),
        ("Caveat", " ".join(answer.caveats)),
        ("Stopped", campaign.stop_reason),
        ("Runs", f"{answer.n_done} of {answer.n_runs} in {duration(took.total_seconds())}"),
    ]
    data = {
        "tests": [each.json for each in (*judged_tests, *new_levels)],
        "finished_at": campaign.finished_at and campaign.finished_at.isoformat(),
    }
    return Announcement(kind, _message(campaign, headline, facts, **data))


def _turn_of_search(search: Search) -> EventKind | None:
    if not search.against:
        return None
    test = search.campaign.tests.select_related("plan_version").get()
    same = Search.objects.filter(
        against__baseline=search.against["baseline"],
        campaign__finished_at__lt=search.campaign.finished_at,
        campaign__tests__plan_version__plan=test.plan_version.plan_id,
        campaign__tests__endpoint=test.endpoint_id,
        campaign__tests__connection_mode=test.connection_mode,
        campaign__tests__injectors=test.injectors,
    )
    words = same.order_by("-campaign__finished_at").values_list("against__word", flat=True)
    return turn(words[:_MOST_EARLIER], search.against["word"])


class _JudgedTest(NamedTuple):
    """A test against its baseline."""

    figures: TestFigures
    against: Against
    turn: EventKind | None

    @property
    def json(self) -> dict[str, Any]:
        against = self.against
        return {
            "test": _name_of(self.figures),
            "baseline": against.baseline,
            "metric": against.metric,
            "verdict": against.word,
            "change": _change_json(against.ratio, against.low, against.high),
        }


def _change_json(ratio: float | None, low: float | None, high: float | None) -> dict | None:
    """Shares: 0.12 is 12 % more."""
    if ratio is None or low is None or high is None:
        return None
    ends = {"estimate": ratio, "low": low, "high": high}
    return {**{name: round(end - 1, 4) for name, end in ends.items()}, "confidence": 0.95}


def _name_of(row: TestFigures | TriageChange) -> str:
    return f"{row.plan.name}, {arm_label_of(row.endpoint, row.connection_mode, row.injectors)}"


def _key(row: TestFigures) -> tuple[HistoryKey, int | None]:
    """The same test against the same baseline."""
    return HistoryKey.read(row), row.baseline_id


def _word(row: TestFigures) -> str:
    """Where the reference moved as well it is the environment's, and says nothing of the test."""
    is_environment = row.against.get("reference") == ReferenceState.MOVED
    return "" if is_environment else row.against["word"]


# --- changes of level ----------------------------------------------------------------------------
class _Level(NamedTuple):
    """A new level in a test's history."""

    change: TriageChange
    turn: EventKind | None

    @property
    def json(self) -> dict[str, Any]:
        each = self.change
        return {
            "test": _name_of(each),
            "since": each.since_at.isoformat(),
            "metric": "p95",
            "verdict": "slower" if each.ratio > 1 else "faster",
            "change": _change_json(each.ratio, each.low, each.high),
        }

    @property
    def words(self) -> str:
        each = self.change
        return (
            f"{_name_of(each)}: p95 {levels(each.before_us, each.after_us)} ms "
            f"since {localtime(each.since_at):%-d %b}, {change_size(each.ratio)} "
            f"{change_interval(each.ratio, each.low, each.high)} %, "
            f"{'slower' if each.ratio > 1 else 'faster'}"
        )


def _levels(changes: Sequence[TriageChange]) -> list[_Level]:
    """Without those of references, which say something of the environment only; the largest
    first."""
    of_tests = [each for each in changes if not each.endpoint.target.is_reference]
    of_tests.sort(key=lambda each: -abs(each.ratio - 1))
    return [_Level(each, _turn_of_level(each)) for each in of_tests]


def _turn_of_level(change: TriageChange) -> EventKind | None:
    if change.ratio > 1:
        return EventKind.REGRESSION
    same = TriageChange.objects.filter(**HistoryKey.read(change).columns)
    before = same.filter(since_at__lt=change.since_at).order_by("-since_at").first()
    return EventKind.RECOVERED if before is not None and before.ratio > 1 else None


def _level_words(new_levels: Sequence[_Level]) -> str:
    """The largest; and how many more there are."""
    if not new_levels:
        return ""
    more = f", and {counted(len(new_levels) - 1, 'more tests')}" if len(new_levels) > 1 else ""
    return f"{new_levels[0].words}{more}."
