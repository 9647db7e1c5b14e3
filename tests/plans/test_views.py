"""The form of plans: presets, the load, sessions, steps and their order, bodies, versions."""

import json
import re
from functools import reduce
from hashlib import sha256
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from campaigns.core import forms as requests
from campaigns.domain.plan.fields import groups_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS
from campaigns.models import PlanSecret, PlanVersion, StoredBody
from campaigns.plans.forms.plans import GROUPS, MESSAGES, STEPS, PlanForm, initial_of, names_in
from tests.factories import make_plan
from tests.pages import text_of
from tests.plans.plan_form import as_sent, save, typed_plan
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def new(project) -> str:
    return reverse("plan-new", args=[project.pk])


def sent(plan_form: PlanForm) -> dict:
    """What a browser sends of a form as it is shown."""
    return as_sent({field.name: field.value() for field in plan_form})


def stored_spec(form: PlanForm) -> dict:
    assert form.is_valid(), form.errors
    return Plan.from_json(form.spec()).to_json()


def test_a_preset_is_one_click_and_can_be_sent_as_it_is(as_editor, project):
    address = f"{new(project)}?preset=over-10"
    as_editor.post(address, sent(as_editor.get(address).context["form"]))
    assert PlanVersion.objects.get().spec == PRESETS["over-10"].spec
    for preset in PRESETS.values():
        plan_form = PlanForm.of(preset.name, preset.spec)
        assert stored_spec(PlanForm(sent(plan_form))) == preset.spec


def test_a_text_of_too_many_lines_is_refused_before_it_is_read(as_editor, project, monkeypatch):
    turns = []
    monkeypatch.setattr(requests.time, "sleep", turns.append)
    lines = dict.fromkeys(("headers", "extract", "thresholds", "stages"), "a: b\n" * 20_000)
    answer = as_editor.post(new(project), typed_plan(**lines))
    assert answer.status_code == 422
    errors = answer.context["form"].errors.as_data()
    assert {name: error.code for name, (error,) in errors.items()} == dict.fromkeys(
        lines, "max_length"
    )
    assert answer.content.count(b"a: b\n" * 20_000) == len(lines), "nothing typed is lost"
    assert turns == [0, 0] * len(lines), "others have their turns around each long text"


def test_fields_that_the_model_does_not_use_are_ignored(as_editor, project):
    as_editor.post(
        new(project), typed_plan(model="sequential", stop="requests", over_s="9", connections="x")
    )
    load = PlanVersion.objects.get().spec["load"]
    assert (load["model"], load["requests"], load["over_s"]) == ("sequential", 100, None)


KEPT = {"model": "closed", "connections": "2", "connection_mode": "keep-alive"}
SECOND = {"n_steps": "2", "step2_method": "GET", "step2_path": "/list", "step2_weight": "3"}
LINES = 'token = body: value="([^"]+)"\nplace = header Location: /room/(\\d+)'
TYPED_AND_STORED = [
    ({"method": "GET", "other_method": "PURGE"}, {"steps.0.method": "PURGE"}),
    (
        {"model": "closed", "connections": "9", "ramp_up_s": "4.5"},
        {"load.connections": 9, "load.ramp_up_s": 4.5},
    ),
    (
        {"model": "open", "rate_per_s": "5", "distribution": "exponential"},
        {"load.rate_per_s": 5, "load.distribution": "exponential", "load.uniform_min_s": None},
    ),
    (
        {"model": "open", "distribution": "uniform", "stop": "duration"}
        | {"uniform_min_s": "1", "uniform_max_s": "3"},
        {"load.rate_per_s": None, "load.duration_s": None}
        | {"load.uniform_min_s": 1, "load.uniform_max_s": 3},
    ),
    (
        {"model": "open", "rate_shape": "stages", "stages": "30: 10\n60: 10-50"},
        {"load.rate_per_s": None, "load.requests": None}
        | {
            "load.stages": [
                {"duration_s": 30, "from_per_s": 10, "to_per_s": 10},
                {"duration_s": 60, "from_per_s": 10, "to_per_s": 50},
            ]
        },
    ),
    (
        {"model": "closed", "connections": "3", "start_offset_s": "1"},
        {"load.start_offset_s": 1, "load.arrival_unit": "request"},
    ),
    (
        {"model": "open", "rate_per_s": "10", "arrival_unit": "connection"},
        {"load.arrival_unit": "connection", "load.start_offset_s": 0},
    ),
    ({"model": "open", "rate_per_s": "10", "shares": "2, 1, 1"}, {"load.shares": [2, 1, 1]}),
    (
        {"model": "over", "max_in_flight": "7", "when_saturated": "drop"},
        {"load.max_in_flight": 7, "load.when_saturated": "drop"},
    ),
    (
        {"model": "window", "low": "2", "high": "4", "hold": "keep_s", "hold_s": "3"},
        {"load.low": 2, "load.high": 4, "load.hold": "keep_s", "load.hold_s": 3}
        | {"load.connections": None},
    ),
    (
        {"model": "window", "low": "2", "high": "4", "hold": "keep_until_all"},
        {"load.hold": "keep_until_all", "load.hold_s": None},
    ),
    (
        {"model": "open", "rate_per_s": "5", "arrival_unit": "session", "calls_per_session": "6"}
        | {"connections_per_session": "4", "burst_length": "3", "first_call_alone": "on"},
        {"load.arrival_unit": "session", "session.connections_per_session": 4},
    ),
    (
        {**KEPT, "calls_per_connection": "10", "calls_per_session": "5", "cookies": "on"},
        {"session.calls_per_connection": 10, "session.calls_per_session": 5},
    ),
    (
        {**KEPT, "think_kind": "uniform", "think_min_s": "0.5", "think_max_s": "2"},
        {"session.think_time": {"kind": "uniform", "mean_s": 0, "min_s": 0.5, "max_s": 2}},
    ),
    (
        {"auth_kind": "basic", "auth_user": "ann", "secret": "s3cret"},
        {"auth": {"kind": "basic", "user": "ann"}},
    ),
    (
        {"csv": "user\r\nann\r\n", "path": "/${user}", "extract": LINES},
        {"variables.csv": "user\nann\n", "variables.order": "sequential"},
    ),
    (
        {"body_kind": "form", "body": "user=ann\nwords=a b"},
        {"steps.0.form": [["user", "ann"], ["words", "a b"]]},
    ),
    (
        {"generators": "id = uuid\nn=counter 7\nsize = integer 1-9\nkind = choice a, b"},
        {
            "variables.generators": [
                {"name": "id", "kind": "uuid"},
                {"name": "n", "kind": "counter", "low": 7},
                {"name": "size", "kind": "integer", "low": 1, "high": 9},
                {"name": "kind", "kind": "choice", "words": ["a", "b"]},
            ]
        },
    ),
    ({"checks": "text: ok\nno json: $.error"}, {}),
    ({"total_s": "1min", "warm_up_s": "2 min"}, {"timeouts.total_s": 60, "warm_up_s": 120}),
    ({"http_version": "1.0"}, {"http_version": "1.0"}),
    ({"http_version": "2", "streams": "16"}, {"http_version": "2", "streams": 16}),
    ({"resolve": "per_connection"}, {"resolve": "per_connection"}),
    (
        {"resolve": "all_addresses", "redirects": "all"},
        {"resolve": "all_addresses", "redirects": "all"},
    ),
    ({"order_kind": "round_robin", **SECOND}, {"order.kind": "round_robin"}),
    (
        {"order_kind": "blocks", "block_repeat": "1,000", **SECOND},
        {"order.kind": "blocks", "order.block_repeat": 1000},
    ),
    (
        {"order_kind": "random", "block_repeat": "9", **SECOND},
        {"order.block_repeat": 1, "order.weights": []},
    ),
    (
        {"order_kind": "weighted", "weight": "0.5", **SECOND},
        {"order.weights": [0.5, 3.0], "order.block_repeat": 1},
    ),
]


def test_what_is_typed_is_stored_and_comes_back():
    for fields, values in TYPED_AND_STORED:
        data = typed_plan(**{"stop": "requests", "requests": "100"} | fields)
        spec = stored_spec(PlanForm({name: value for name, value in data.items() if value}))
        at = {
            path: reduce(
                lambda spec, name: spec[int(name) if name.isdecimal() else name],
                path.split("."),
                spec,
            )
            for path in values
        }
        assert at == values
        assert stored_spec(PlanForm(sent(PlanForm.of("P", spec)))) == spec


def test_a_body_is_uploaded_from_a_file_and_survives_another_error(as_editor, project):
    upload = SimpleUploadedFile("body.xml", "<a>é</a>".encode())
    page = as_editor.post(
        new(project), typed_plan(path="x", body="", files=upload)
    ).content.decode()
    assert "&lt;a&gt;é&lt;/a&gt;" in page
    as_editor.post(
        new(project), typed_plan(body="old", files=SimpleUploadedFile("a.xml", b"<new/>"))
    )
    assert PlanVersion.objects.get().spec["steps"][0]["body"] == "<new/>"


def test_any_bytes_are_uploaded_stored_once_and_kept_by_errors_and_edits(as_editor, project):
    data = bytes(range(256)) * 300
    upload = SimpleUploadedFile("photo.jpg", data)
    wrong = as_editor.post(new(project), typed_plan(path="x", body_kind="file", files=upload))
    assert "file of 76,800 bytes" in text_of(wrong)
    as_editor.post(new(project), {**sent(wrong.context["form"]), "path": "/photo"})
    version = PlanVersion.objects.get()
    body_file = version.spec["steps"][0]["body_file"]
    assert body_file == {"sha256": sha256(data).hexdigest(), "size_bytes": len(data)}
    page = as_editor.get(reverse("plan-detail", args=[version.plan_id]))
    assert "a file of 76,800 bytes" in text_of(page)
    address = reverse("plan-edit", args=[version.plan_id])
    values = sent(as_editor.get(address).context["form"])
    as_editor.post(address, {**values, "requests": "7"})
    latest = version.plan.latest
    assert (latest.number, latest.spec["steps"][0]["body_file"]) == (2, body_file)
    assert [bytes(each.data) for each in StoredBody.objects.all()] == [data]


def test_fields_with_files_are_typed_as_curl_has_them(as_editor, project):
    lines = "title=a=b\nphoto=@p.png;type=image/png\nm={};type=application/json\n"
    lines += r'two="@a\nb;type=c"'
    upload = SimpleUploadedFile("p.png", b"\x89PNG")
    as_editor.post(new(project), typed_plan(body_kind="multipart", body=lines, files=upload))
    version = PlanVersion.objects.get()
    file = {"name": "photo", "file": "iVBORw==", "filename": "p.png", "content_type": "image/png"}
    own = {"name": "m", "value": "{}", "content_type": "application/json"}
    lines = {"name": "two", "value": "@a\nb;type=c"}
    parts = [{"name": "title", "value": "a=b"}, file, own, lines]
    assert version.spec["steps"][0]["multipart"] == parts
    address = reverse("plan-edit", args=[version.plan_id])
    as_editor.post(address, sent(as_editor.get(address).context["form"]))
    assert PlanVersion.objects.get() == version


@pytest.mark.parametrize("size", [10, 10_000])
def test_an_uploaded_file_is_downloaded_as_it_was(as_editor, project, size):
    data = b"<b>\xff" + bytes(size)
    upload = SimpleUploadedFile("p.html", data)
    body = {"body_kind": "multipart", "body": "photo=@p.html;type=text/html"}
    as_editor.post(new(project), typed_plan(**body, files=upload))
    plan, digest = PlanVersion.objects.get().plan, sha256(data).hexdigest()
    page = as_editor.get(reverse("plan-detail", args=[plan.pk])).content.decode()
    address = reverse("plan-file", args=[plan.pk, digest])
    assert address in page
    for each in (address, f"/api/v1/plans/{plan.pk}/files/{digest}/"):
        answer = as_editor.get(each, HTTP_ACCEPT="text/html")
        assert answer.content == data
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"] == 'attachment; filename="p.html"'
        assert answer["X-Content-Type-Options"] == "nosniff"
    for each in ((plan.pk, "0" * 64), (make_plan(project).plan_id, digest)):
        assert as_editor.get(reverse("plan-file", args=each)).status_code == 404


def test_a_file_of_more_than_8_mib_is_refused_at_its_field(as_editor, project):
    upload = SimpleUploadedFile("big.bin", bytes(8 * 1024 * 1024 + 1))
    answer = as_editor.post(new(project), typed_plan(body_kind="file", files=upload))
    assert list(answer.context["form"].errors) == ["body"]


def test_an_edit_of_the_load_keeps_the_steps_and_their_labels(as_editor, project):
    spec = plan_spec()
    spec["steps"] = [*spec["steps"], {"method": "GET", "path": "/second"}]
    version = make_plan(project, "P", spec)
    data = initial_of("P", version.value().to_json()) | {"requests": "7"}
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), data)
    steps = version.plan.latest.spec["steps"]
    assert [(step["label"], step["path"]) for step in steps] == [
        ("add", "/"),
        ("GET /second", "/second"),
    ]


def test_an_earlier_version_has_its_own_address(as_editor, project):
    version = make_plan(project)
    data = initial_of("P", version.value().to_json()) | {"requests": "7"}
    as_editor.post(reverse("plan-edit", args=[version.plan_id]), data)
    url = reverse("plan-detail", args=[version.plan_id])
    assert as_editor.get(f"{url}?version=1").status_code == 200
    assert as_editor.get(f"{url}?version=9").status_code == 404
    assert as_editor.get(f"{url}?version=x").status_code == 404


def test_a_body_with_markup_is_shown_as_text(as_editor, project):
    version = make_plan(project, spec=plan_spec() | {"steps": [_step("</pre><script>alert(1)")]})
    page = as_editor.get(reverse("plan-detail", args=[version.plan_id])).content.decode()
    assert "<script>alert" not in page


def _step(body: str) -> dict:
    return {"method": "POST", "path": "/", "body": body}


def test_rules_are_written_one_a_line_and_shown_on_the_page(as_editor, project):
    as_editor.post(new(project), typed_plan(thresholds="p95 < 300 ms\nrate>5"))
    version = PlanVersion.objects.get()
    assert [each.rule for each in version.value().thresholds] == ["p95 < 300 ms", "rate > 5 /s"]
    edit = as_editor.get(reverse("plan-edit", args=[version.plan_id])).content.decode()
    assert "p95 &lt; 300 ms\nrate &gt; 5 /s" in edit


def test_a_load_that_ends_by_time_has_no_number_of_requests(as_editor, project):
    spec = plan_spec(model="closed", connections=2, duration_s=10)
    plan = make_plan(project, spec=spec).plan
    page = text_of(as_editor.get(reverse("plan-detail", args=[plan.pk])))
    assert "Requests per run</dt> <dd>depends on the target</dd>" in page


FIELDS = {
    "calls_per_connection": "10",
    "calls_per_session": "5",
    "cookies": "on",
    "think_kind": "uniform",
    "think_min_s": "0.5",
    "think_max_s": "2",
    "burst_length": "3",
    "pipeline_depth": "1",
    "auth_kind": "basic",
    "auth_user": "ann",
    "secret": "s3cret",
}


def test_editors_read_where_the_secret_may_be_sent(as_editor, client, project, vera):
    save(as_editor, project, "ab", **FIELDS)
    secret = PlanSecret.objects.get()
    address = reverse("plan-detail", args=[secret.plan_id])
    PlanSecret.objects.update(origins=["https://shop.example:443", "https://shop.example:8443"])
    page = as_editor.get(address).content.decode()
    assert "https://shop.example:443, https://shop.example:8443" in page
    client.force_login(vera)
    assert "shop.example" not in client.get(address).content.decode()


def test_a_fault_stands_at_its_field(as_editor, project):
    for fields, wrong in [
        ({"think_kind": "uniform", "think_min_s": "2", "think_max_s": "1"}, "think_max_s"),
        ({"connections_per_session": "4"}, "connections_per_session"),
        ({"calls_per_connection": "2", "burst_length": "3"}, "burst_length"),
        ({"auth_kind": "bearer", "secret": "two\nlines"}, "secret"),
        ({"auth_kind": "bearer", "headers": "Authorization: x"}, "auth_kind"),
    ]:
        answer = save(as_editor, project, "ab", **fields)
        assert set(answer.context["form"].errors) == {wrong}


LIST_STEP = {
    "step2_label": "list",
    "step2_method": "GET",
    "step2_path": "/list",
    "step2_headers": "X-Number: 2",
    "step2_body": "",
    "step2_extract": "",
    "step2_weight": "3",
}


def test_a_second_step_is_stored_with_all_that_it_has(as_editor, project):
    save(as_editor, project, label="add", n_steps="2", **LIST_STEP)
    first, second = PlanVersion.objects.get().spec["steps"]
    assert (first["label"], first["method"]) == ("add", "POST")
    assert second == {
        "label": "list",
        "method": "GET",
        "path": "/list",
        "headers": [["X-Number", "2"]],
        "body": "",
        "extract": [],
    }


def test_a_step_without_a_path_is_refused_in_words_and_nothing_is_lost(as_editor, project):
    answer = save(as_editor, project, n_steps="2", **LIST_STEP | {"step2_path": ""})
    form = answer.context["form"]
    assert form.errors.as_data().keys() == {"step2_path"}
    assert "remove the step" in form.errors["step2_path"][0]
    assert [block.is_open for block in form.step_blocks] == [False, True]
    assert form["step2_headers"].value() == LIST_STEP["step2_headers"]
    assert not PlanVersion.objects.exists()


THREE = {"path": "/a", "step2_path": "/b", "step3_path": "/c", "flow": "browse", "share": "9"}


def test_without_script_the_server_arranges_the_steps(as_editor, project):
    for act, paths, flow in [
        ("add", ["/a", "/b", "/c", ""], "browse"),
        ("down 1", ["/b", "/a", "/c"], "browse"),
        ("up 1", ["/a", "/b", "/c"], "browse"),
        ("copy 2", ["/a", "/b", "/b", "/c"], "browse"),
        ("remove 1", ["/b", "/c"], "browse"),
        ("remove 9", ["/a", "/b", "/c"], "browse"),
    ]:
        page = save(as_editor, project, n_steps="3", arrange=act, **THREE)
        blocks = page.context["form"].step_blocks
        assert [block.texts["path"] for block in blocks] == paths
        assert blocks[0].texts["flow"] == flow
        assert not page.context["form"].errors
        assert not PlanVersion.objects.exists()


@pytest.mark.parametrize(("n_steps", "n_open"), [(8, 1), (9, 0)])
def test_of_more_than_eight_steps_none_is_open(as_editor, project, n_steps, n_open):
    spec = plan_spec() | {"steps": [{"method": "GET", "path": f"/{n}"} for n in range(n_steps)]}
    version = make_plan(project, spec=spec)
    form = as_editor.get(reverse("plan-edit", args=[version.plan_id])).context["form"]
    assert sum(block.is_open for block in form.step_blocks) == n_open


@pytest.mark.parametrize("n_steps", ["", "x", "-3", "999999"])
def test_a_made_up_number_of_steps_breaks_nothing(n_steps, as_editor, project):
    save(as_editor, project, n_steps=n_steps)
    assert PlanVersion.objects.count() <= 1


def test_weights_that_choose_no_step_are_said_at_the_order(as_editor, project):
    weights = {**LIST_STEP, "weight": "0", "step2_weight": "0"}
    answer = save(as_editor, project, n_steps="2", order_kind="weighted", **weights)
    assert set(answer.context["form"].errors) == {"order_kind"}


@pytest.fixture
def form_at(as_editor, project):
    address = reverse("plan-new", args=[project.pk])
    return lambda **query: as_editor.get(address, query)


def test_every_group_of_the_registry_is_a_disclosure_with_fields():
    groups = (*GROUPS, STEPS, MESSAGES)
    keys = [each for group in groups for each in group.holds]
    assert sorted(keys) == sorted(set(groups_of(Plan).values()) - {""})
    for group in groups:
        assert set(names_in(group)) & set(PlanForm.base_fields)


def test_a_page_knows_what_its_preset_said(form_at):
    page = form_at(preset="spike").content.decode()
    base = json.loads(unescape(re.search(r'data-base="([^"]*)"', page)[1]))
    assert base["connection_mode"] == {"label": "connections", "value": "new"}
    assert "secret" not in base


def test_a_plan_of_the_project_can_be_copied(form_at, project):
    plan = make_plan(project, "Prices").plan
    answer = form_at(copy=plan.pk)
    assert answer.context["form"].initial["name"] == "Prices copy"


def test_of_a_table_the_preview_knows_the_size_and_of_credentials_the_kind(as_editor, project):
    fields = {"csv_size": "1024", "auth_kind": "bearer"}
    answer = as_editor.post(reverse("plan-preview", args=[project.pk]), fields)
    groups = {each.group.key: each for each in answer.context["disclosures"]}
    assert groups["values"].words == "table of 1,024 bytes"
    assert not groups["auth"].is_usual


def test_what_is_said_on_a_websocket_is_typed_by_line(as_editor, project):
    fields = initial_of("talk", PRESETS["ab"].spec) | {
        "protocol": "websocket",
        "ws_path": "/graphql",
        "ws_messages": "4",
        "ws_texts": '{"id": "1"}\n{"id": "2"}',
        "ws_reply": "json: $.type = complete",
        "ws_scenario": "send: hello\nexpect: text: welcome",
        "ws_deflate": "context_takeover",
    }
    answer = as_editor.post(new(project), as_sent(fields))
    assert answer.status_code == 302, answer.context["form"].errors
    spec = project.plans.get().latest.spec
    assert spec["exchange"]["texts"] == ['{"id": "1"}', '{"id": "2"}']
    assert spec["exchange"]["scenario"] == ["send: hello", "expect: text: welcome"]
    again = initial_of("talk", spec)
    assert {name: again[name] for name in fields if name.startswith("ws_")}.items() >= {
        name: fields[name] for name in ("ws_texts", "ws_reply", "ws_scenario", "ws_deflate")
    }.items()


def test_fields_of_another_think_time_are_ignored(as_editor, project):
    save(as_editor, project, "ab", think_kind="constant", think_mean_s="1", think_min_s="x")
    assert PlanVersion.objects.get().spec["session"]["think_time"]["mean_s"] == 1
