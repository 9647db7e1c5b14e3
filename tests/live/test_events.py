"""Cursors and what a viewer is sent: nothing twice, nothing left out."""

import json

import pytest

from campaigns.live.hub import BEFORE_ALL, Cursor, Snapshot, build_update, encode

QUEUED, RUNNING, DONE = "queued", "running", "done"


def snapshot(*runs, event=10, state="running", is_over=False) -> Snapshot:
    return Snapshot(event, state, is_over, runs)


def points(until: int, first: int = 0):
    """The seconds of every run up to this one, as a hub would give them."""

    def seconds(run, after):
        fresh = list(range(max(first, after + 1), until + 1))
        return {"run": run, "points": {"second": fresh}} if fresh else None

    return seconds


def sent(cursor, now, seconds, state="running"):
    """(id, kind, data) of each event, and the cursor that comes of them."""
    update = build_update(cursor, state, now, seconds, version=1)
    events = []
    for text in update.events.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in text.splitlines())
        events.append((fields["id"], fields["event"], json.loads(fields["data"])))
    assert not events or events[-1][0] == str(update.cursor)
    return events


def seconds_of(event) -> tuple[int, list[int]]:
    _, kind, data = event
    assert kind == "second"
    return data["run"], data["points"]["second"]


def test_a_cursor_reads_back_what_it_wrote_and_nothing_else():
    cursor = Cursor(event=12, run=7, second=-3)
    assert Cursor.parse(str(cursor)) == cursor
    for text in [None, "", "17", "e1.r2", "e1.r2.s3;drop", "e-1.r2.s3", "e1.r2.sx"]:
        assert Cursor.parse(text) is None
    assert Cursor().second == BEFORE_ALL


def test_a_message_is_one_event_with_its_id():
    text = encode("second", {"run": 5, "points": []}, Cursor(1, 5, 2))
    assert text == b'id: e1.r5.s2\nevent: second\ndata: {"run":5,"points":[]}\n\n'


@pytest.mark.parametrize(
    ("cursor", "runs", "seconds"),
    [
        pytest.param(Cursor(10), [(5, RUNNING)], [(5, [-1, 0, 1])], id="new"),
        pytest.param(Cursor(10, 5, 0), [(5, RUNNING)], [(5, [1])], id="returning"),
        pytest.param(Cursor(10, 5, 1), [(5, RUNNING)], [], id="nothing is new"),
        pytest.param(Cursor(10), [(5, QUEUED)], [], id="before the first run"),
        pytest.param(
            Cursor(10, 5, 0),
            [(5, DONE), (6, RUNNING)],
            [(5, [1]), (6, [-1, 0, 1])],
            id="the rest of a run before the next one",
        ),
        pytest.param(
            Cursor(10, 2, 1),
            [*((number, DONE) for number in range(1, 30)), (30, RUNNING)],
            [(run, [-1, 0, 1]) for run in (28, 29, 30)],
            id="away for long: the latest runs only",
        ),
        pytest.param(
            Cursor(10),
            [(1, DONE), (2, RUNNING), (3, DONE), (4, QUEUED)],
            [(2, [-1, 0, 1])],
            id="the active run, also where a later one was cancelled",
        ),
        pytest.param(
            Cursor(10),
            [(1, DONE), (2, DONE), (3, QUEUED)],
            [(2, [-1, 0, 1])],
            id="between runs the last that began",
        ),
    ],
)
def test_a_viewer_is_sent_what_has_come_since(cursor, runs, seconds):
    events = sent(cursor, snapshot(*runs), points(1, first=-1))
    assert [seconds_of(each) for each in events] == seconds


def test_a_change_of_state_comes_after_the_seconds_and_moves_the_cursor():
    events = sent(Cursor(9, 5, 2), snapshot((5, RUNNING), event=10), points(3))
    assert [(name, kind) for name, kind, _ in events] == [
        ("e9.r5.s3", "second"),
        ("e10.r5.s3", "state"),
    ]


def test_a_state_without_an_event_of_a_run_is_sent_too():
    [event] = sent(Cursor(10, 5, 3), snapshot((5, RUNNING), state="stopping"), points(3))
    assert event == ("e10.r5.s3", "state", {"state": "stopping"})


def test_the_end_comes_last():
    now = snapshot((5, DONE), state="done", is_over=True)
    assert [kind for _, kind, _ in sent(Cursor(10, 5, 0), now, points(1))] == [
        "second",
        "state",
        "end",
    ]
