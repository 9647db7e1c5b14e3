"""What the plan form says of one run: on the page, and anew for what is filled in by now. A
WebSocket exchange in the form of a plan, and in the grid of a campaign."""

import time

import pytest
from django.urls import reverse

from campaigns.campaigns.queries.campaign_grid import grid_of
from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.domain.errors import Refused
from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan
from campaigns.models import PlanSecret, PlanVersion
from campaigns.plans.forms.plans import initial_of
from tests.engine.scenes import create
from tests.factories import make_endpoint, make_plan, make_target
from tests.plans.plan_form import as_sent, save, typed_plan
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
# What a preview may cost the server, whatever the plan, as a multiple of the smallest plan's.
MOST_TIMES = 3


@pytest.fixture
def preview(as_editor, project):
    """Asks for the preview of a preset's form with these fields; answers context and text."""

    def ask(key="over-10", **fields):
        data = as_sent(typed_plan(key, **fields))
        answer = as_editor.post(reverse("plan-preview", args=[project.pk]), data)
        assert answer.status_code == 200
        return answer.context, answer.content.decode()

    return ask


def test_a_load_says_duration_requests_and_highest_percentile(preview):
    summary = preview(requests="1,000", warm_up_s="5")[0]["preview"]
    assert (summary.duration, summary.requests, summary.percentile) == ("15 s", "1,000", "p99")


def test_stages_are_counted_and_drawn(preview):
    stages = {"rate_shape": "stages", "stages": "30: 10\n60: 10-50\n5: 0"}
    summary = preview(model="open", **stages)[0]["preview"]
    assert summary.requests == "2,100"
    (chart,) = summary.charts.panels
    assert list(chart.series[0].y) == [10, 10, 10, 50, 0, 0]


@pytest.mark.parametrize(
    "fields", [{"over_s": "ten"}, {"requests": ""}, {"model": "none of these"}]
)
def test_of_what_is_wrong_the_last_preview_stays(preview, fields):
    context, page = preview(**fields)
    assert context["problem"]
    assert context["preview"] is None
    assert 'data-live="one-run"' not in page


def test_what_a_preview_does_not_depend_on_need_not_be_right(preview):
    summary = preview(path="no slash", headers="Host: x", expected_status="ok")[0]["preview"]
    assert summary.requests == "100"


def test_the_page_shows_the_preview_before_a_script_asks_for_one(as_editor, project):
    page = as_editor.get(reverse("plan-new", args=[project.pk]) + "?preset=over-10")
    assert page.context["preview"].requests == "100"
    blank = as_editor.get(reverse("plan-new", args=[project.pk]))
    assert blank.context["problem"] == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"requests": "100000000", "over_s": "43200", "n_steps": "50"},
        {
            "model": "open",
            "requests": "100000000",
            "rate_per_s": "100000",
            "stop": "requests",
            "distribution": "exponential",
        },
        {
            "model": "open",
            "distribution": "uniform",
            "uniform_min_s": "0",
            "uniform_max_s": "0.1",
            "requests": "100000000",
        },
        {
            "model": "open",
            "rate_shape": "stages",
            "stages": "\n".join(["100: 0-10000"] * 100),
        },
        {"model": "closed", "connections": "20000", "requests": "100000000", "per_injector": "on"},
    ],
)
def test_the_largest_plans_are_previewed_in_a_moment(preview, fields):
    assert preview(**fields)[0]["problem"] == ""  # and the templates are compiled

    def least_cpu_s(**values):
        took_s = []
        for _ in range(3):
            began = time.process_time()
            preview(**values)
            took_s.append(time.process_time() - began)
        return min(took_s)

    assert least_cpu_s(**fields) < MOST_TIMES * least_cpu_s()


def test_what_only_the_target_decides_is_said_to_depend_on_it(preview):
    summary = preview(model="closed", connections="5", stop="duration", duration_s="30")[0][
        "preview"
    ]
    depends = "depends on the target"
    assert (summary.duration, summary.requests, summary.percentile) == ("30 s", depends, depends)


EXCHANGE = {"path": "/feed", "messages": 5, "size_bytes": 32, "subprotocols": ["chat"]}
FIELDS = {
    "protocol": "websocket", "ws_path": "/feed", "ws_messages": "5", "ws_size_bytes": "32",
    "ws_kind": "binary", "ws_mode": "echo_async", "ws_rate_per_s": "20", "ws_verify": "length",
    "ws_headers": "Origin: http://shop.test", "ws_subprotocols": "chat", "ws_close_code": "4000",
    "ws_close_timeout_s": "2",
}  # fmt: skip


def websocket_plan(project, **exchange):
    spec = {**plan_spec(), "steps": [], "connection_mode": "new"}
    return make_plan(project, spec={**spec, "exchange": {**EXCHANGE, **exchange}})


def test_an_exchange_is_stored_and_comes_back_into_the_form(as_editor, project):
    save(as_editor, project, **FIELDS)
    value = PlanVersion.objects.get().value()
    assert value.steps == ()
    assert value.exchange.to_json() == {
        "path": "/feed", "headers": [["Origin", "http://shop.test"]], "subprotocols": ["chat"],
        "messages": 5, "size_bytes": 32, "binary": True, "mode": "echo_async", "rate_per_s": 20.0,
        "verify": "length", "close_code": 4000, "close_timeout_s": 2.0,
        "texts": [], "reply": "", "scenario": [], "deflate": "none",
    }  # fmt: skip
    again = initial_of("again", value.to_json())
    assert {name: again[name] for name in FIELDS} == FIELDS


def test_credentials_and_a_table_go_with_it_and_the_secret_is_shown_nowhere(as_editor, project):
    credentials = {
        "ws_path": "/${room}", "ws_headers": "", "csv": "room\na\n", "row_order": "random",
        "auth_kind": "basic", "auth_user": "ann", "secret": "hunter2",
    }  # fmt: skip
    save(as_editor, project, **{**FIELDS, **credentials})
    version = PlanVersion.objects.get()
    value = version.value()
    assert (value.auth.user, value.variables.csv) == ("ann", "room\na\n")
    assert PlanSecret.objects.get().plan == version.plan
    for name in ("plan-detail", "plan-edit"):
        page = as_editor.get(reverse(name, args=[version.plan_id])).content.decode()
        assert "hunter2" not in page


def test_an_http_plan_becomes_one_of_websocket_and_back(as_editor, project):
    version = make_plan(project)
    edit = reverse("plan-edit", args=[version.plan_id])
    data = initial_of(version.plan.name, version.value().to_json())
    as_editor.post(edit, {**data, **FIELDS})
    assert version.plan.latest.value().exchange
    as_editor.post(edit, {**data, "protocol": "http"})
    assert version.plan.latest.value().exchange is None
    assert version.plan.latest.value().steps


@pytest.fixture
def target(project):
    target = make_target(project)
    for port, scheme in enumerate(("http", "https", "ws", "wss"), 8001):
        make_endpoint(target, scheme, port)
    return target


def test_the_grid_offers_exchanges_on_websocket_endpoints_only(project, target):
    make_plan(project, name="http plan")
    websocket_plan(project)
    pairs = {
        (plan.plan.exchange is not None, arm.endpoint.scheme, str(arm.mode))
        for plan, arm in grid_of(project).cells.values()
    }
    assert {each for each in pairs if each[0]} == {
        (True, "ws", "new"), (True, "wss", "new"), (True, "wss", "resumed"),
    }  # fmt: skip
    assert {scheme for is_exchange, scheme, _ in pairs if not is_exchange} == {"http", "https"}


@pytest.mark.parametrize(
    ("make", "scheme", "needs"),
    [
        (websocket_plan, "http", "a ws or wss"),
        (websocket_plan, "https", "a ws or wss"),
        (make_plan, "ws", "an http or https"),
    ],
)
def test_a_campaign_refuses_what_an_endpoint_does_not_speak(
    make, scheme, needs, project, target, as_bob
):
    endpoint = target.endpoints.get(scheme=scheme)
    with pytest.raises(Refused, match=f"needs {needs} endpoint"):
        create(as_bob, project, cells=[CampaignCell(make(project), endpoint, "new")])


def test_a_preset_that_keeps_connections_opens_new_ones_for_websockets(as_editor, project):
    """What the form had chosen for HTTP is not in sight of an exchange."""
    save(as_editor, project, **{**FIELDS, "connection_mode": "keep-alive"})
    assert PlanVersion.objects.get().value().connection_mode == "new"


def test_what_only_http_has_is_left_out_whatever_its_hidden_fields_say(as_editor, project):
    """A browser posts them as well: somebody typed there before choosing WebSocket."""
    rows = {**fields_of(Plan), **fields_of(Load)}
    http_rows = {name: row for name, row in rows.items() if row.http_only and row.kind}
    save(as_editor, project, **FIELDS, **{name: another(row) for name, row in http_rows.items()})
    plan = PlanVersion.objects.get().value()
    for name, row in http_rows.items():
        assert getattr(plan if hasattr(plan, name) else plan.load, name) == row.default


def another(row: PlanField) -> str:
    """A value that is not the default, as it is typed."""
    if row.is_choice:
        return next(str(each) for each in row.kind if each != row.default)
    return "on" if row.kind is bool else f"{row.high:g}"
