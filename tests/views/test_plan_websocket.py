"""A WebSocket exchange in the form of a plan, and in the grid of a campaign."""

import pytest
from django.urls import reverse

from campaigns.domain.errors import Refused
from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan
from campaigns.forms.plans import initial_of
from campaigns.models import PlanSecret, PlanVersion
from campaigns.permissions import Actor
from campaigns.queries.campaigns import grid_of
from campaigns.services.campaigns import CampaignCell, create_campaign
from tests.factories import make_endpoint, make_plan, make_target
from tests.values import plan_spec
from tests.views.plan_form import save

pytestmark = pytest.mark.django_db
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
    version = PlanVersion.objects.get()
    value = version.value()
    assert value.steps == ()
    assert value.exchange.to_json() == {
        "path": "/feed", "headers": [["Origin", "http://shop.test"]], "subprotocols": ["chat"],
        "messages": 5, "size_bytes": 32, "binary": True, "mode": "echo_async", "rate_per_s": 20.0,
        "verify": "length", "close_code": 4000, "close_timeout_s": 2.0,
    }  # fmt: skip
    again = initial_of("again", value.to_json())
    assert {name: again[name] for name in FIELDS} == FIELDS


def test_credentials_and_a_table_go_with_it_and_the_secret_is_shown_nowhere(as_editor, project):
    given = {
        "ws_path": "/${room}", "ws_headers": "", "csv": "room\na\n", "row_order": "random",
        "auth_kind": "basic", "auth_user": "ann", "secret": "hunter2",
    }  # fmt: skip
    save(as_editor, project, **{**FIELDS, **given})
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
    offered = {
        (plan.plan.exchange is not None, arm.endpoint.scheme, str(arm.mode))
        for plan, arm in grid_of(project).cells.values()
    }
    assert {each for each in offered if each[0]} == {
        (True, "ws", "new"), (True, "wss", "new"), (True, "wss", "resumed"),
    }  # fmt: skip
    assert {scheme for is_exchange, scheme, _ in offered if not is_exchange} == {"http", "https"}


@pytest.mark.parametrize(
    ("make", "scheme", "needs"),
    [
        (websocket_plan, "http", "a ws or wss"),
        (websocket_plan, "https", "a ws or wss"),
        (make_plan, "ws", "an http or https"),
    ],
)
def test_a_campaign_refuses_what_an_endpoint_does_not_speak(
    make, scheme, needs, project, target, bob
):
    endpoint = target.endpoints.get(scheme=scheme)
    with pytest.raises(Refused, match=f"needs {needs} endpoint"):
        create(project, bob, CampaignCell(make(project), endpoint, "new"))


def create(project, user, cell):
    return create_campaign(
        by=Actor(user=user), project=project, name="c", cells=[cell], repeats=1, order="blocks",
        pause_s=0,
    )  # fmt: skip


def test_a_preset_that_keeps_connections_opens_new_ones_for_websockets(as_editor, project):
    """What the form had chosen for HTTP is not in sight of an exchange."""
    save(as_editor, project, **{**FIELDS, "connection_mode": "keep-alive"})
    assert PlanVersion.objects.get().value().connection_mode == "new"


def test_what_only_http_has_is_left_out_whatever_its_hidden_fields_say(as_editor, project):
    """A browser posts them as well: somebody typed there before choosing WebSocket."""
    rows = {**fields_of(Plan), **fields_of(Load)}
    hidden = {name: row for name, row in rows.items() if row.http_only and row.kind}
    save(as_editor, project, **FIELDS, **{name: another(row) for name, row in hidden.items()})
    stored = PlanVersion.objects.get().value()
    for name, row in hidden.items():
        assert getattr(stored if hasattr(stored, name) else stored.load, name) == row.default


def another(row: PlanField) -> str:
    """A value that is not the default, as it is typed."""
    if row.is_choice:
        return next(str(each) for each in row.kind if each != row.default)
    return "on" if row.kind is bool else f"{row.high:g}"
