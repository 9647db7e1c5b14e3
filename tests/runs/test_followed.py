"""A run that many watch is read once: each second when it has come, and no later one twice."""

import pytest
from django.utils import timezone

from campaigns.domain.presentation.run_points import LAST_S, MOST_POINTS
from campaigns.live import hub
from campaigns.live.hub import BEFORE_ALL, points_so_far, report_of, seconds_after
from campaigns.live.notify import SIGNAL
from campaigns.models import Run, ShardSecond
from tests.factories import begin_run, make_campaign, make_run, make_test, store_second
from tests.kept_rows import forget
from tests.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Another test's rows have the same numbers."""
    forget()


@pytest.fixture
def run(project) -> Run:
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())))
    begin_run(run)
    return run


def numbers(data) -> list[int]:
    return data["points"]["second"]


def test_a_second_is_decoded_once_for_a_hundred_viewers(run, monkeypatch):
    seconds_read, real = [], ShardSecond.value
    monkeypatch.setattr(
        ShardSecond, "value", lambda row: seconds_read.append(row.second) or real(row)
    )
    store_second(run, make_second(0, [10_000]))
    for _ in range(100):
        assert numbers(seconds_after(run.pk, BEFORE_ALL)) == [0]
    store_second(run, make_second(1, [10_000]))
    SIGNAL.notify()
    for _ in range(100):
        assert numbers(seconds_after(run.pk, 0)) == [1]
    assert report_of(run).tiles
    assert [point["second"] for point in points_so_far(run.pk)] == seconds_read == [0, 1]


def test_what_was_only_partly_read_is_read_anew(run, monkeypatch):
    real, begins_anew = hub.measurement_so_far, []

    def read(of, known):
        begins_anew.append(known is None)
        measurement = real(of, known)
        if len(begins_anew) == 2:
            raise ConnectionError
        return measurement

    monkeypatch.setattr(hub, "measurement_so_far", read)
    store_second(run, make_second(0, [10_000]))
    points_so_far(run.pk)
    store_second(run, make_second(1, [10_000]))
    SIGNAL.notify()
    with pytest.raises(ConnectionError):
        points_so_far(run.pk)
    assert [point["ok"] for point in points_so_far(run.pk)] == [1, 1]
    assert begins_anew == [True, False, True]


def test_a_finished_run_is_sent_with_its_late_seconds(project):
    run = make_run(make_test(make_campaign(project)))
    store_second(run, make_second(12, [10_000]))
    assert numbers(seconds_after(run.pk, BEFORE_ALL)) == [12]
    measure(run, 12_000)
    SIGNAL.notify()
    assert numbers(seconds_after(run.pk, 8)) == [9, 12]


def test_a_long_run_is_sent_anew_every_five_minutes_in_a_thousand_points(run):
    n_seconds = MOST_POINTS + LAST_S
    row = store_second(run, make_second(0, [10_000]))
    names = [each.attname for each in row._meta.fields if each.name != "pk"]
    fields = {name: getattr(row, name) for name in names}
    ShardSecond.objects.bulk_create(
        ShardSecond(**fields | {"second": each}) for each in range(1, n_seconds)
    )
    whole = seconds_after(run.pk, BEFORE_ALL)
    assert whole["all"]
    assert len(numbers(whole)) <= MOST_POINTS
    last = seconds_after(run.pk, n_seconds - 2)
    assert (last["all"], numbers(last)) == (False, [n_seconds - 1])
    beyond = seconds_after(run.pk, (n_seconds - 1) // LAST_S * LAST_S - 2)
    assert (beyond["all"], numbers(beyond)[0]) == (True, 0)
