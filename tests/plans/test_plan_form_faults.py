"""A wrong value in any field of the plan form: said beside that field, nothing typed is lost."""

import re

import pytest
from django.urls import reverse

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.presets import PRESETS
from campaigns.models import SavedPlan
from campaigns.plans.forms.plan_fields import LOAD, PLAN, TIMEOUTS
from campaigns.plans.forms.plan_steps import EXCHANGE, ORDER, VARIABLES
from campaigns.plans.forms.plans import AUTH, SESSION, THINK_TIME, PlanForm, initial_of
from tests.plans.plan_form import as_sent

pytestmark = pytest.mark.django_db
OPEN = {"model": "open", "rate_per_s": "5", "stop": "requests", "requests": "9"}
UNIFORM = {**OPEN, "distribution": "uniform", "uniform_min_s": "1", "uniform_max_s": "2"}
OVER = {"model": "over", "over_s": "5", "requests": "9"}
WINDOW = {"model": "window", "low": "2", "high": "4", "requests": "9"}
SOCKET = {"protocol": "websocket", "connection_mode": "new"}
TWO = {"n_steps": "2", "step2_method": "GET", "step2_path": "/b", "step2_weight": "1"}
FLOWS = {**TWO, "flows": "several", "flow": "browse", "share": "9", "calls_per_session": ""}
FLOWS |= {"step2_flow": "buy", "step2_share": "1"}
# Where a field counts, beside what "ab" has: a closed load of one step.
WHERE = {
    "rate_per_s": OPEN,
    "stages": {**OPEN, "rate_shape": "stages"},
    "uniform_min_s": UNIFORM,
    "uniform_max_s": UNIFORM,
    "over_s": OVER,
    "max_in_flight": OPEN,
    "low": WINDOW,
    "high": WINDOW,
    "hold_s": {**WINDOW, "hold": "keep_s"},
    "duration_s": {"stop": "duration"},
    "block_repeat": {**TWO, "order_kind": "blocks"},
    "weight": {**TWO, "order_kind": "weighted"},
    "step2_weight": {**TWO, "order_kind": "weighted"},
    **dict.fromkeys(("flow", "share", "step2_share"), FLOWS),
    "step2_path": TWO,
    "step2_headers": TWO,
    "step2_checks": TWO,
    "step2_extract": TWO,
    "body": {"body_kind": "multipart"},
    "step2_body": {**TWO, "step2_body_kind": "multipart"},
    "think_mean_s": {"think_kind": "constant"},
    "think_min_s": {"think_kind": "uniform", "think_max_s": "9"},
    "think_max_s": {"think_kind": "uniform", "think_min_s": "1"},
    "connections_per_session": {**OPEN, "arrival_unit": "session"},
    "auth_user": {"auth_kind": "basic", "secret": "s"},
    **dict.fromkeys(
        (
            "ws_path", "ws_headers", "ws_subprotocols", "ws_messages", "ws_size_bytes",
            "ws_rate_per_s", "ws_close_code", "ws_close_timeout_s", "ws_texts", "ws_reply",
            "ws_scenario",
        ),
        SOCKET,
    ),
}  # fmt: skip
PARTS = (PLAN, TIMEOUTS, LOAD, SESSION, THINK_TIME, AUTH, ORDER, VARIABLES, EXCHANGE)
ROWS = {part.form_name(name): row for part in PARTS for name, row in fields_of(part.owner).items()}
NUMBERS = [name for name, row in ROWS.items() if row.is_number] + ["weight", "step2_weight"]
NUMBERS += ["share", "step2_share"]
WRONG = [
    ("name", ""),
    ("path", "no slash"),
    ("headers", "TE: x"),
    ("other_method", "TWO WORDS"),
    ("body", "photo=@missing.png"),
    ("extract", "t = body: (?=a)(b)"),
    ("checks", "Welcome"),
    ("step2_checks", "json: a.b"),
    ("flow", "step 2"),
    ("step2_path", "no slash"),
    ("step2_headers", "no colon"),
    ("step2_body", "photo=@missing.png"),
    ("step2_extract", "nothing"),
    ("stages", "30 seconds"),
    ("stages", f"30: {'9' * 400}"),
    ("shares", "2, 0, 1"),
    ("shares", f"1, {'9' * 400}"),
    ("thresholds", "p95 < 1e400 ms"),
    ("expected_status", "fine"),
    ("csv", "a,b\n1\n"),
    ("generators", "id = guid"),
    ("auth_user", "a:b"),
    ("ws_path", "no slash"),
    ("ws_headers", "Sec-WebSocket-Key: x"),
    ("ws_subprotocols", "not, a token/"),
    ("ws_texts", "\n".join(["again"] * 1001)),
    ("ws_reply", "status: 200"),
    ("ws_scenario", "say hello"),
]


def together(wrong):
    """(where they count, values) for what one page answers: one value of each field."""
    pages = []
    for name, text in wrong:
        place = WHERE.get(name, {})
        same = (values for where, values in pages if where == place and name not in values)
        values = next(same, None)
        if values is None:
            values = {}
            pages.append((place, values))
        values[name] = text
    return pages


TRIED = [*together(WRONG), *together((name, "many") for name in NUMBERS)]
CHOICES = [name for name, row in ROWS.items() if row.is_choice]
CHOICES += ["method", "body_kind", "rate_shape", "stop", "protocol", "ws_kind", "flows"]
TICKS = {name for name, row in ROWS.items() if row.kind is bool} - {"ws_kind"}


def typed_values(**fields):
    """The form as a browser sends it."""
    values = as_sent(initial_of("my plan", PRESETS["ab"].spec) | fields)
    return {name: "on" if value is True else value for name, value in values.items()}


@pytest.fixture
def answer_to(client, project, bob):
    client.force_login(bob)

    def post(**fields):
        data = typed_values(**fields)
        answer = client.post(reverse("plan-new", args=[project.pk]), data)
        return data, answer

    return post


def closed_over_errors(page):
    """Beginnings of the folded parts of the page that hide an error."""
    parts = re.findall(r"<details([^>]*)>(.*?)</details>", page, re.DOTALL)
    return [text[:80] for tag, text in parts if 'class="error"' in text and "open" not in tag]


def test_a_wrong_value_is_answered_at_its_field_and_nothing_is_lost(answer_to):
    for place, wrong in TRIED:
        data, answer = answer_to(**place | wrong)
        assert answer.status_code == 422
        form, page = answer.context["form"], answer.content.decode()
        assert set(wrong) <= set(form.errors), dict(form.errors)
        assert not form.non_field_errors()
        for each, value in data.items():
            if each in form.fields and each not in {"secret"}:
                echo = form[each].value()
                assert echo == value or str(echo) == str(value) or echo is True, each
        assert closed_over_errors(page) == []
        for sentence in (each for name in wrong for each in form.errors[name]):
            assert sentence.split("’")[0].split("'")[0][:25] in page.replace("&#x27;", "'")
        assert not SavedPlan.objects.exists()


def test_faults_of_fields_rules_and_name_are_answered_at_once(answer_to):
    wrong = {"name": "", "path": "no slash", "requests": "0", "thresholds": "p95 <"}
    _, answer = answer_to(**wrong)
    assert set(answer.context["form"].errors) == set(wrong)


def test_a_choice_that_is_none_is_refused_in_words(answer_to):
    for name in CHOICES:
        assert set(PlanForm(typed_values(**{name: "nonsense"})).errors) == {name}
    _, answer = answer_to(**dict.fromkeys(CHOICES, "nonsense"))
    assert answer.status_code == 422
    assert len(answer.context["form"].errors) > len(CHOICES) / 2
    assert closed_over_errors(answer.content.decode()) == []


@pytest.mark.parametrize("protocol", ["http", "websocket"])
def test_a_new_form_is_a_plan_as_it_stands(client, project, bob, protocol):
    client.force_login(bob)
    data = as_sent({field.name: field.value() for field in PlanForm()})
    data |= {"name": "new", "protocol": protocol}
    assert client.post(reverse("plan-new", args=[project.pk]), data).status_code == 302


def test_a_secret_is_never_written_into_the_page_again(answer_to):
    _, answer = answer_to(auth_kind="bearer", secret="hunter2", requests="many")
    assert answer.status_code == 422
    assert "hunter2" not in answer.content.decode()


def test_every_field_of_the_form_is_tried_here():
    names = {name for _, wrong in TRIED for name in wrong} | set(CHOICES)
    free = {"n_steps", "label", "secret", "forget_secret", "kept", *TICKS}
    assert set(PlanForm().fields) - names == free
