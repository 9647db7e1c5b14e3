"""What an event's message says, read from what is stored. Checks no permissions: a message goes to
channels that members of its project have chosen."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.domain.analysis.ratio import Against
from campaigns.domain.presentation.compared import ReferenceState
from campaigns.domain.presentation.history_words import change_interval, levels
from campaigns.domain.presentation.results import Answer
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import change_size, counted, duration
from campaigns.models import Campaign, Search, TestFigures, TriageChange
from campaigns.notifications.domain import MOST_FACTS, EventKind, EventMessage, kind_of_end, turn
from campaigns.notifications.models import Event, NotificationChannel
from campaigns.queries.answers import campaign_answer
from campaigns.queries.baselines import campaign_against
from campaigns.queries.first_requests import first_requests_of
from campaigns.queries.history import HistoryKey, arm_label_of

# So many earlier words of all tests of a campaign are read: the last clear one is among them.
_MOST_EARLIER = 2000


class Announcement(NamedTuple):
    """What is to be told, and as what; `message` is None where it is nothing to tell."""

    kind: EventKind
    message: EventMessage | None = None


def news_of(events: Sequence[Event]) -> Announcement:
    """Of the events of one transaction."""
    ends = [each for each in events if each.kind == EventKind.ENDED]
    changes = [each.change for each in events if each.change]
    event = ends[0] if ends else events[0]
    if event.campaign and event.campaign.deleted_at:
        return Announcement(EventKind(event.kind))
    if event.message is not None:
        return Announcement(EventKind(event.kind), EventMessage.from_json(event.message))
    if event.kind == EventKind.ENDED:
        return _end(event.campaign, changes)
    if event.kind == EventKind.ON_HOLD:
        return _hold(event.campaign)
    return _changes(changes)


def plain_news(event: Event) -> Announcement:
    """What can be said whatever cannot be read."""
    did = "is on hold" if event.kind == EventKind.ON_HOLD else "has ended"
    if event.campaign is None:
        return Announcement(EventKind(event.kind))
    return Announcement(
        EventKind(event.kind), _of_campaign(event.campaign, f"{event.campaign} {did}.", [])
    )


def _of_campaign(
    campaign: Campaign, headline: str, facts: Sequence[tuple[str, str]], **more: Any
) -> EventMessage:
    url = site_url("campaign-detail", campaign.pk)
    data = {
        "project": campaign.project.name,
        "campaign": {"id": campaign.pk, "name": campaign.name, "url": url},
        **more,
    }
    told = tuple((name, text) for name, text in facts if text)
    return EventMessage(headline, told[:MOST_FACTS], url, data=data)


def site_url(name: str, *args: Any) -> str:
    return f"{settings.SITE_URL}{reverse(name, args=args)}"


# --- the end of a campaign -----------------------------------------------------------------------
def _end(campaign: Campaign, changes: Sequence[TriageChange]) -> Announcement:
    answer = campaign_answer(campaign)
    judged = list(_judged(campaign))
    changed = [_Change(each, _turn_of_level(each)) for each in _told(changes)]
    kind = kind_of_end(
        [*(each.turn for each in (*judged, *changed))],
        is_usable=_is_usable(campaign, answer),
        is_stopped=campaign.stop_requested_by_id is not None,
    )
    said = plain_text(answer.sentence)
    against = plain_text(campaign_against(campaign))
    facts = [
        ("Change of level", _levels_words(changed)),
        ("Caveat", " ".join(answer.caveats)),
        ("Stopped", campaign.stop_reason),
        ("Runs", f"{answer.n_done} of {answer.n_runs} in {_took(campaign)}"),
    ]
    if kind == EventKind.NO_RESULT:
        headline = f"{campaign} ended without a usable result."
        facts.insert(0, ("Why", said))
    elif kind in (EventKind.REGRESSION, EventKind.RECOVERED) and against:
        headline = f"{campaign}: {against}"
        facts.insert(0, ("Result", said))
    elif kind in (EventKind.REGRESSION, EventKind.RECOVERED):
        headline = f"{campaign}: {_levels_words(changed)}"
        facts[0] = ("Result", said)
    else:
        headline = f"{campaign}: {said}" if said else f"{campaign} has ended."
        facts.insert(0, ("Baseline", against))
    tests = [each.json for each in judged] + [each.json for each in changed]
    ended = campaign.finished_at and campaign.finished_at.isoformat()
    return Announcement(
        kind, _of_campaign(campaign, headline, facts, tests=tests, finished_at=ended)
    )


def _took(campaign: Campaign) -> str:
    if not (campaign.started_at and campaign.finished_at):
        return duration(0)
    return duration((campaign.finished_at - campaign.started_at).total_seconds())


def _is_usable(campaign: Campaign, answer: Answer) -> bool:
    if search := Search.objects.filter(pk=campaign.pk).first():
        capacity = (search.answer or {}).get("capacity") or {}
        return bool(answer.found_by_search or capacity)
    measured = (value is not None for test in answer.tests for value in test.means_ms)
    return answer.has_word or any(measured)


class _JudgedTest(NamedTuple):
    """A test against its baseline."""

    figures: TestFigures
    against: Against
    turn: EventKind | None

    @property
    def json(self) -> dict[str, Any]:
        each, against = self.figures, self.against
        return {
            "test": _name_of(each),
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


def _judged(campaign: Campaign) -> Iterator[_JudgedTest]:
    rows = TestFigures.objects.filter(campaign=campaign, against__isnull=False)
    rows = list(rows.select_related("plan", "endpoint__target").order_by("test__position"))
    rows = [row for row in rows if not row.endpoint.target.is_reference]
    earlier = _earlier_words(rows) if rows else {}
    for row in rows:
        against = Against.from_json(row.against)
        words = earlier[HistoryKey.read(row), row.baseline_id]
        yield _JudgedTest(row, against, turn(words, _word(row.against)))


def _word(against: dict[str, Any]) -> str:
    """Where the reference moved as well it is the environment's, and says nothing of the test."""
    return "" if against.get("reference") == ReferenceState.MOVED else against["word"]


def _earlier_words(
    rows: Sequence[TestFigures],
) -> dict[tuple[HistoryKey, int | None], list[str]]:
    """Of each test against the same baseline, the newest first."""
    found = {(HistoryKey.read(row), row.baseline_id): [] for row in rows}
    before = TestFigures.objects.filter(
        against__isnull=False,
        plan__in={row.plan_id for row in rows},
        endpoint__in={row.endpoint_id for row in rows},
        baseline__in={row.baseline_id for row in rows},
        started_at__lt=min(row.started_at for row in rows),
    )
    for row in before.order_by("-started_at")[:_MOST_EARLIER]:
        words = found.get((HistoryKey.read(row), row.baseline_id))
        if words is not None:
            words.append(_word(row.against))
    return found


# --- changes of level ----------------------------------------------------------------------------
class _Change(NamedTuple):
    """A change in a test's history."""

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
        each, moved = self.change, "slower" if self.change.ratio > 1 else "faster"
        return (
            f"{_name_of(each)}: p95 {levels(each.before_us, each.after_us)} ms "
            f"since {localtime(each.since_at):%-d %b}, {change_size(each.ratio)} "
            f"{change_interval(each.low, each.high)} %, {moved}"
        )


def _told(changes: Sequence[TriageChange]) -> list[TriageChange]:
    """A reference says something of the environment only."""
    return [each for each in changes if not each.endpoint.target.is_reference]


def _turn_of_level(change: TriageChange) -> EventKind | None:
    if change.ratio > 1:
        return EventKind.REGRESSION
    same = TriageChange.objects.filter(**HistoryKey.read(change).columns)
    before = same.filter(since_at__lt=change.since_at).order_by("-since_at").first()
    return EventKind.RECOVERED if before is not None and before.ratio > 1 else None


def _levels_words(changed: Sequence[_Change]) -> str:
    """The largest first; of many, how many more there are."""
    most = sorted(changed, key=lambda each: -abs(each.change.ratio - 1))
    if not most:
        return ""
    more = f", and {counted(len(most) - 1, 'more tests')}" if len(most) > 1 else ""
    return f"{most[0].words}{more}."


def _changes(changes: Sequence[TriageChange]) -> Announcement:
    """Found without an end, by measurements that came late."""
    changed = [_Change(each, _turn_of_level(each)) for each in _told(changes)]
    turns = [each.turn for each in changed if each.turn]
    if not turns:
        return Announcement(EventKind.CHANGE)
    kind = EventKind.REGRESSION if EventKind.REGRESSION in turns else EventKind.RECOVERED
    project = changed[0].change.entry.project
    data = {"project": project.name, "tests": [each.json for each in changed]}
    url = site_url("triage-list", project.pk)
    return Announcement(
        kind, EventMessage(_levels_words(changed), url=url, link="See the changes", data=data)
    )


# --- others --------------------------------------------------------------------------------------
def _hold(campaign: Campaign) -> Announcement:
    failure = first_requests_of(campaign).failure or "a preflight request failed"
    until = f"{localtime(campaign.canceled_at):%H:%M %Z}" if campaign.held_at else ""
    facts = [("Canceled at", f"{until}, unless somebody decides")] if until else []
    headline = f"{campaign} needs a decision: {failure}."
    message = _of_campaign(campaign, headline, [("Load", "None has been sent"), *facts])
    return Announcement(EventKind.ON_HOLD, message)


def page_of(channel: NotificationChannel) -> str:
    """Where the channel is changed."""
    return site_url("channel-detail", channel.pk)


def test_message(channel: NotificationChannel) -> EventMessage:
    return EventMessage(f"benchsite can reach {channel.label}.")
