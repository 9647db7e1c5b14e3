"""Make runs the baseline of their tests, stop comparing with it, and judge campaigns by it."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models.functions import Now

from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.models import Baseline, Campaign, Project, Run, Search, Test, TestFigures
from campaigns.permissions import Action, Actor, require
from campaigns.queries.baselines import against_baselines, counted_of, of_key
from campaigns.queries.compared_searches import against_search, search_columns
from campaigns.queries.history import HistoryKey, key_of
from campaigns.queries.references import references_between
from campaigns.queries.searches import trial_runs

logger = logging.getLogger(__name__)

_LONGEST_NAME = 100
_ONE_SEARCH = "A search must be the only choice. Choose one search, and nothing else."
_NO_CAPACITY = (
    "This search found no capacity with an interval. Choose one that did, or search again."
)


@transaction.atomic
def make_baseline(
    *, by: Actor, project: Project, name: str, tests: Sequence[Test], seen: int | None = None
) -> list[Baseline]:
    """Compare what these tests measure from now on with their runs that count; of a search, what
    later searches find with its capacity. Tests that are the same one in several campaigns become
    one baseline. `seen` is the newest baseline of the project that the user has seen: what somebody
    else chose meanwhile is not replaced. Replaced baselines are kept. Raises InvalidFields, or
    Refused with what to do."""
    require(by, Action.EDIT, project)
    name = _checked(name)
    campaigns = {test.campaign_id for test in tests}
    # Against their deletion meanwhile, see services.items.
    locked = Campaign.objects.select_for_update().filter(pk__in=campaigns, project=project)
    if {each.pk for each in locked.order_by("pk") if each.finished_at} != campaigns:
        elsewhere = Campaign.objects.filter(pk__in=campaigns).exclude(project=project)
        raise Refused(
            "This belongs to another project. Make it a baseline there."
            if elsewhere.exists()
            else "A campaign can be a baseline once it has ended."
        )
    if searches := list(Search.objects.filter(campaign__in=campaigns)):
        return [_make_of_search(by, project, name, searches, tests, seen)]
    groups: dict[HistoryKey, list[Run]] = {}
    rows = (
        counted_of(_newest_versions(tests))
        .select_related("test__plan_version")
        .defer("snapshot", "judgement")
    )
    for run in rows.order_by("campaign_id", "position"):
        groups.setdefault(key_of(run.test), []).append(run)
    if not groups:
        raise Refused(
            "None of these runs counts: they are not complete, not usable, or of an overloaded "
            "target. Choose a campaign that measured something."
        )
    made = [_make(by, project, name, key, runs, seen) for key, runs in groups.items()]
    _judge([pair for baseline in made for pair in _newest_of(baseline)])
    return made


def _make_of_search(
    by: Actor,
    project: Project,
    name: str,
    searches: Sequence[Search],
    tests: Sequence[Test],
    seen: int | None,
) -> Baseline:
    if len(tests) > 1:
        raise Refused(_ONE_SEARCH)
    (column,) = search_columns(searches)
    if column.capacity is None or column.capacity.low is None:
        raise Refused(_NO_CAPACITY)
    runs = trial_runs(searches[0])
    return _make(by, project, name, key_of(column.test), runs, seen, of_search=True)


def _newest_versions(tests: Sequence[Test]) -> list[Test]:
    """A campaign that confirms a change has two versions of a plan. Points of a sweep are no tests
    that come again."""
    newest: dict[tuple[int, HistoryKey], Test] = {}
    rows = Test.objects.filter(pk__in=[test.pk for test in tests], swept="")
    rows = rows.select_related("plan_version")
    for test in rows.order_by("plan_version__number"):
        newest[test.campaign_id, key_of(test)] = test
    return list(newest.values())


def _make(
    by: Actor,
    project: Project,
    name: str,
    key: HistoryKey,
    runs: Sequence[Run],
    seen: int | None,
    *,
    of_search: bool = False,
) -> Baseline:
    current = Baseline.objects.filter(replaced_at=None, of_search=of_search, **of_key(key))
    if seen is not None and (newer := current.filter(pk__gt=seen).first()):
        raise Refused(_meanwhile(newer.name))
    current.update(replaced_at=Now(), replaced_by=by.user)
    try:
        with transaction.atomic():
            baseline = Baseline.objects.create(
                project=project,
                name=name,
                plan_id=key.plan,
                endpoint_id=key.endpoint,
                connection_mode=key.connection_mode,
                injectors=key.injectors,
                of_search=of_search,
                test=runs[-1].test,
                created_by=by.user,
            )
    except IntegrityError:
        raise Refused(_meanwhile("another one")) from None
    baseline.runs.set(runs)
    return baseline


def _meanwhile(name: str) -> str:
    return (
        f"“{name}” has become the baseline since you opened this. Look at it, then decide "
        "whether to replace it."
    )


def _checked(name: str) -> str:
    name = clean_name(name)
    if not name:
        raise InvalidFields({"name": "Give the baseline a name, such as “release 1.4”."})
    if len(name) > _LONGEST_NAME:
        raise InvalidFields({"name": f"At most {_LONGEST_NAME} characters are allowed."})
    return name


def release_baseline(*, by: Actor, baseline: Baseline) -> None:
    """Compare nothing with it any more; then its runs can be deleted. What was said stays."""
    require(by, Action.EDIT, baseline.project)
    current = Baseline.objects.filter(pk=baseline.pk, replaced_at=None)
    current.update(replaced_at=Now(), replaced_by=by.user)


def _newest_of(baseline: Baseline) -> Iterator[tuple[Baseline, Test]]:
    """The newest campaign of the test, so that its history speaks at once."""
    rows = TestFigures.objects.filter(
        plan=baseline.plan_id,
        endpoint=baseline.endpoint_id,
        connection_mode=baseline.connection_mode,
        injectors=baseline.injectors,
        campaign__finished_at__isnull=False,
    )
    newest = rows.order_by("-started_at", "-pk").select_related("test__campaign").first()
    if newest and newest.test.campaign_id != baseline.test.campaign_id:
        yield baseline, newest.test


def judge_by_baselines(campaign: Campaign) -> None:
    """Store what the campaign's tests are against their baselines. May be done any number of
    times; whatever goes wrong, the campaign has ended."""
    try:
        if hasattr(campaign, "search"):
            # Once: a search's answer never changes, nor does what was said of it.
            test = campaign.search.campaign.tests.select_related("plan_version").get()
            current = Baseline.objects.filter(
                replaced_at=None, of_search=True, **of_key(key_of(test))
            )
            current = current.exclude(test__campaign=campaign.search.pk).filter(test__isnull=False)
            if baseline := current.select_related("test").first():
                against = against_search(baseline, campaign.search).to_json()
                Search.objects.filter(pk=campaign.search.pk, against__isnull=True).update(
                    against=against
                )
        else:
            _judge(_with_baselines(campaign))
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("Campaign %s has no verdict against its baseline", campaign.pk)


def _with_baselines(campaign: Campaign) -> list[tuple[Baseline, Test]]:
    """Its tests that have a baseline of another campaign, with that."""
    tests = [
        (key_of(each), each) for each in campaign.tests.select_related("plan_version", "campaign")
    ]
    current = Baseline.objects.filter(
        replaced_at=None,
        of_search=False,
        test__isnull=False,
        plan__in={key.plan for key, _ in tests},
        endpoint__in={key.endpoint for key, _ in tests},
    )
    found = {
        HistoryKey(each.plan_id, each.endpoint_id, each.connection_mode, each.injectors): each
        for each in current.exclude(test__campaign=campaign).select_related("test__campaign")
    }
    return [(found[key], test) for key, test in tests if key in found]


def _judge(pairs: Sequence[tuple[Baseline, Test]]) -> None:
    """In as many statements for 200 tests as for one."""
    between = [(baseline.test.campaign_id, test.campaign_id) for baseline, test in pairs]
    references = references_between(between)
    found = zip(pairs, between, against_baselines(pairs), strict=True)
    rows = [
        TestFigures(
            pk=test.pk,
            baseline=baseline,
            against=replace(against, reference=str(references[campaigns] or "")).to_json(),
        )
        for (baseline, test), campaigns, against in found
    ]
    TestFigures.objects.bulk_update(rows, ["baseline", "against"])
