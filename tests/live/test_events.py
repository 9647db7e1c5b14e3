"""Cursors and what a viewer is told: nothing twice, nothing left out."""

import json

from campaigns.live.events import (
    BEFORE_ALL,
    Cursor,
    Look,
    Message,
    News,
    RunLook,
    current_run,
    news,
)

QUEUED, RUNNING, DONE = "queued", "running", "done"


def look(*runs, event=10, state="running", is_over=False) -> Look:
    return Look(event, state, is_over, tuple(RunLook(*run) for run in runs))


def points(until: int, first: int = 0):
    """News of every run up to a second, as a feed would give them."""

    def news_of(run, after):
        fresh = list(range(max(first, after + 1), until + 1))
        return News(run=run, points={"second": fresh}) if fresh else None

    return news_of


def told(cursor, now, news_of, seen_state="running"):
    return list(news(cursor, seen_state, now, news_of))


def seconds(message: Message) -> list[int]:
    return message.data["points"]["second"]


def test_a_cursor_reads_back_what_it_wrote():
    cursor = Cursor(event=12, run=7, second=-3)
    assert Cursor.parse(str(cursor)) == cursor


def test_what_is_not_a_cursor_is_none():
    for text in [None, "", "17", "e1.r2", "e1.r2.s3;drop", "e-1.r2.s3", "e1.r2.sx"]:
        assert Cursor.parse(text) is None


def test_a_message_is_one_event_with_its_id():
    text = Message("second", News(run=5, points=[]), Cursor(1, 5, 2)).encode()
    assert text == b'id: e1.r5.s2\nevent: second\ndata: {"run":5,"points":[]}\n\n'


def test_a_new_viewer_gets_all_points_of_the_current_run():
    (message,) = told(Cursor(event=10), look((5, RUNNING)), points(3, first=-1))
    assert seconds(message) == [-1, 0, 1, 2, 3]
    assert message.cursor == Cursor(10, 5, 3)


def test_a_returning_viewer_gets_what_came_since():
    (message,) = told(Cursor(10, 5, 1), look((5, RUNNING)), points(3))
    assert seconds(message) == [2, 3]


def test_without_news_and_before_the_first_run_nothing_is_said():
    assert told(Cursor(10, 5, 3), look((5, RUNNING)), points(3)) == []
    assert told(Cursor(event=10), look((5, QUEUED)), points(3)) == []


def test_the_rest_of_a_run_comes_before_the_next_one():
    now = look((5, DONE), (6, RUNNING))
    first, second = told(Cursor(10, 5, 1), now, points(3))
    assert (first.data["run"], seconds(first)) == (5, [2, 3])
    assert (second.data["run"], seconds(second)) == (6, [0, 1, 2, 3])


def test_a_viewer_who_was_away_for_long_gets_the_latest_runs_only():
    runs = [(number, DONE) for number in range(1, 30)] + [(30, RUNNING)]
    messages = told(Cursor(10, 2, 1), look(*runs), points(1))
    assert [message.data["run"] for message in messages] == [28, 29, 30]


def test_a_change_of_state_comes_after_the_points_and_moves_the_cursor():
    messages = told(Cursor(9, 5, 2), look((5, RUNNING), event=10), points(3))
    assert [message.kind for message in messages] == ["second", "state"]
    assert messages[-1].cursor == Cursor(10, 5, 3)


def test_a_state_without_an_event_of_a_run_is_told_too():
    (message,) = told(Cursor(10, 5, 3), look((5, RUNNING), state="stopping"), points(3))
    assert json.loads(message.encode().partition(b"data: ")[2]) == {"state": "stopping"}


def test_the_current_run_is_the_active_one_else_the_last_made():
    runs = look((1, DONE), (2, RUNNING), (3, QUEUED)).runs
    assert current_run(runs).id == 2
    assert current_run(look((1, DONE), (2, DONE), (3, QUEUED)).runs).id == 2
    assert current_run(look((3, QUEUED)).runs) is None


def test_a_new_cursor_lies_before_every_second():
    assert Cursor().second == BEFORE_ALL
