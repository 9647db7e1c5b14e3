from campaigns.domain.plan.load import stored_load
from campaigns.domain.plan.load_curve import load_curve
from campaigns.views.plans import FLOOR, draw_load


def drawing_of(warm_up_s=0, **load):
    return draw_load(load_curve(stored_load(load), warm_up_s))


def corners_of(path):
    return [tuple(map(float, corner.split())) for corner in path.removeprefix("M").split("L")]


def test_an_even_load_is_one_line_from_edge_to_edge():
    drawing = drawing_of(model="over", requests=100, over_s=10)
    start, end = corners_of(drawing.line)
    assert (start[0], end[0]) == (0, 100)
    assert start[1] == end[1] < FLOOR
    assert drawing.arrivals.count("M") == 100
    assert drawing.arrivals.startswith("M0 156v-7M1 156")
    assert drawing.dotted == ""


def test_ticks_are_round_and_the_highest_is_above_the_curve():
    drawing = drawing_of(model="over", requests=347, over_s=10)
    assert [tick.text for tick in drawing.y_ticks] == ["0", "20", "40"]
    assert [tick.text for tick in drawing.x_ticks] == ["0", "5", "10"]
    assert drawing.y_ticks[0].at == FLOOR
    assert corners_of(drawing.line)[0][1] > drawing.y_ticks[-1].at


def test_a_warm_up_lies_before_zero():
    drawing = drawing_of(5, model="over", requests=100, over_s=15)
    assert drawing.zero == 25
    assert drawing.x_ticks[0].text == "−5"
    assert drawing.x_ticks[0].at == 0


def test_an_open_end_is_dotted_and_has_no_seconds():
    drawing = drawing_of(model="closed", connections=50, requests=1000)
    assert corners_of(drawing.line)[-1] == corners_of(drawing.dotted)[0] == (70, 32.67)
    assert corners_of(drawing.dotted)[-1] == (100, 32.67)
    assert [tick.text for tick in drawing.x_ticks] == ["0"]
