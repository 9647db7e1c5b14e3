"""Pages of plans: presets, the form with its load, versions."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from campaigns.domain.plan.presets import PRESETS
from campaigns.forms.plans import initial_of
from campaigns.models import PlanVersion, SavedPlan
from tests.factories import make_plan
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def new(project) -> str:
    return reverse("plan-new", args=[project.pk])


def form(key: str = "over-10", **fields) -> dict:
    return {**initial_of(PRESETS[key].name, PRESETS[key].spec), **fields}


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_is_one_click_and_can_be_sent_as_it_is(key, as_editor, project):
    page = as_editor.get(f"{new(project)}?preset={key}")
    data = {
        name: value for name, value in page.context["form"].initial.items() if value is not None
    }
    as_editor.post(f"{new(project)}?preset={key}", data)
    assert PlanVersion.objects.get().spec == PRESETS[key].spec


def test_all_that_is_wrong_is_answered_beside_its_field_and_nothing_is_lost(as_editor, project):
    wrong = form(path="no slash", over_s="ten", headers="Host: x", expected_status="ok")
    answer = as_editor.post(new(project), wrong)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"path", "over_s", "headers", "expected_status"}
    assert "A path begins with a slash" in page
    assert "Host is set by the injector" in page
    for typed in ('value="no slash"', 'value="ten"', "Host: x", 'value="ok"', "Envelope"):
        assert typed in page
    assert not SavedPlan.objects.exists()


def test_fields_that_the_model_does_not_use_are_ignored(as_editor, project):
    as_editor.post(
        new(project), form(model="sequential", stop="requests", over_s="9", connections="x")
    )
    load = PlanVersion.objects.get().spec["load"]
    assert (load["model"], load["requests"], load["over_s"]) == ("sequential", 100, None)


def test_the_chosen_stop_decides(as_editor, project):
    fields = {"model": "open", "rate_per_s": "5", "requests": "7", "duration_s": "30"}
    as_editor.post(new(project), form(stop="duration", **fields))
    load = PlanVersion.objects.get().spec["load"]
    assert (load["requests"], load["duration_s"]) == (None, 30)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"model": "closed", "connections": "9", "ramp_up_s": "4.5"},
            {"connections": 9, "ramp_up_s": 4.5},
        ),
        (
            {"model": "open", "rate_per_s": "5", "distribution": "exponential"},
            {"rate_per_s": 5, "distribution": "exponential", "uniform_min_s": None},
        ),
        (
            {"model": "open", "distribution": "uniform", "stop": "duration"}
            | {"uniform_min_s": "1", "uniform_max_s": "3"},
            {"rate_per_s": None, "uniform_min_s": 1, "uniform_max_s": 3, "duration_s": None},
        ),
        (
            {"model": "open", "rate_shape": "stages", "stages": "30: 10\n60: 10-50"},
            {
                "rate_per_s": None,
                "requests": None,
                "stages": [
                    {"duration_s": 30, "from_per_s": 10, "to_per_s": 10},
                    {"duration_s": 60, "from_per_s": 10, "to_per_s": 50},
                ],
            },
        ),
        (
            {"model": "closed", "connections": "3", "start_offset_s": "1"},
            {"start_offset_s": 1, "arrival_unit": "request"},
        ),
        (
            {"model": "open", "rate_per_s": "10", "arrival_unit": "connection"},
            {"arrival_unit": "connection", "start_offset_s": 0},
        ),
        (
            {"model": "open", "rate_per_s": "10", "shares": "2, 1, 1"},
            {"shares": [2, 1, 1]},
        ),
        (
            {"model": "over", "max_in_flight": "7", "when_saturated": "drop"},
            {"max_in_flight": 7, "when_saturated": "drop"},
        ),
        (
            {"model": "window", "low": "2", "high": "4", "hold": "keep_s", "hold_s": "3"},
            {"low": 2, "high": 4, "hold": "keep_s", "hold_s": 3, "connections": None},
        ),
        (
            {"model": "window", "low": "2", "high": "4", "hold": "keep_until_all"},
            {"low": 2, "high": 4, "hold": "keep_until_all", "hold_s": None},
        ),
    ],
    ids=lambda each: each.get("model"),
)
def test_every_field_of_a_load_can_be_set_and_comes_back(fields, expected, as_editor, project):
    data = form(**({"stop": "requests", "requests": "100"} | fields))
    answer = as_editor.post(new(project), data, follow=True)
    plan = SavedPlan.objects.get()
    load = plan.latest.spec["load"]
    assert {name: load[name] for name in expected} == expected
    assert answer.status_code == 200
    page = as_editor.get(reverse("plan-edit", args=[plan.pk]))
    shown = {name: page.context["form"].initial.get(name) for name in fields if name != "stop"}
    assert shown == {name: value for name, value in fields.items() if name != "stop"}


@pytest.mark.parametrize("duration", ["", "soon"])
def test_a_missing_stop_is_answered_at_the_field_that_is_shown(duration, as_editor, project):
    answer = as_editor.post(
        new(project), form(model="closed", connections="5", stop="duration", duration_s=duration)
    )
    assert set(answer.context["form"].errors) == {"duration_s"}


def test_a_body_is_uploaded_from_a_file_and_survives_another_error(as_editor, project):
    upload = SimpleUploadedFile("body.xml", "<a>é</a>".encode())
    page = as_editor.post(new(project), form(path="x", body="", body_file=upload)).content.decode()
    assert "&lt;a&gt;é&lt;/a&gt;" in page
    as_editor.post(
        new(project), form(body="old", body_file=SimpleUploadedFile("body.xml", b"<new/>"))
    )
    assert PlanVersion.objects.get().spec["steps"][0]["body"] == "<new/>"


@pytest.mark.parametrize(
    ("content", "words"), [(b"\xff\xfe\x00", "not UTF-8"), (b"x" * 1_048_577, "at most 1 MB")]
)
def test_a_file_that_cannot_be_a_body_is_refused_in_words(content, words, as_editor, project):
    answer = as_editor.post(
        new(project), form(body="", body_file=SimpleUploadedFile("body.bin", content))
    )
    assert words in answer.content.decode()


def test_an_edit_makes_a_version_and_an_unchanged_one_does_not(as_editor, project):
    version = make_plan(project, "P")
    url = reverse("plan-edit", args=[version.plan_id])
    data = initial_of("P", version.value().to_json())
    answer = as_editor.post(url, data, follow=True)
    assert "is still the latest" in answer.content.decode()
    answer = as_editor.post(url, {**data, "requests": "1,000"}, follow=True)
    assert "Version 2 created" in answer.content.decode()
    assert version.plan.latest.spec["load"]["requests"] == 1000


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
    assert "earlier version" in as_editor.get(f"{url}?version=1").content.decode()
    assert as_editor.get(f"{url}?version=9").status_code == 404
    assert as_editor.get(f"{url}?version=x").status_code == 404


def test_a_body_with_markup_is_shown_as_text(as_editor, project):
    version = make_plan(project, spec=plan_spec() | {"steps": [_step("</pre><script>alert(1)")]})
    page = as_editor.get(reverse("plan-detail", args=[version.plan_id])).content.decode()
    assert "<script>alert" not in page


def _step(body: str) -> dict:
    return {"method": "POST", "path": "/", "body": body}


def test_an_archived_plan_leaves_the_list(as_editor, project):
    plan = make_plan(project, "Old one").plan
    as_editor.post(reverse("plan-archive", args=[plan.pk]))
    response = as_editor.get(reverse("plan-list", args=[project.pk]))
    assert "All plans are archived." in response.content.decode()
    assert response.context["plans"] == []


def test_the_list_needs_no_query_a_row(
    as_editor, project, django_assert_max_num_queries, django_assert_num_queries
):
    make_plan(project)
    url = reverse("plan-list", args=[project.pk])
    with django_assert_max_num_queries(13) as few:
        as_editor.get(url)
    for _ in range(5):
        make_plan(project)
    with django_assert_num_queries(len(few.captured_queries)):
        as_editor.get(url)


def test_rules_are_written_one_a_line_and_shown_on_the_page(as_editor, project):
    as_editor.post(new(project), form(thresholds="p95 < 300 ms\nrate>5"))
    version = PlanVersion.objects.get()
    assert [each.rule for each in version.value().thresholds] == ["p95 < 300 ms", "rate > 5 /s"]
    page = as_editor.get(reverse("plan-detail", args=[version.plan_id])).content.decode()
    assert "p95 &lt; 300 ms, rate &gt; 5 /s" in page
    edit = as_editor.get(reverse("plan-edit", args=[version.plan_id])).content.decode()
    assert "p95 &lt; 300 ms\nrate &gt; 5 /s" in edit


def test_a_preset_s_plan_leads_to_its_campaign(as_editor, project):
    answer = as_editor.post(f"{new(project)}?preset=l2", form("l2", then="campaign"))
    plan = SavedPlan.objects.get()
    address = f"{reverse('campaign-new', args=[project.pk])}?plan={plan.pk}&preset=l2"
    assert answer["Location"] == address
    page = as_editor.get(reverse("plan-detail", args=[plan.pk])).content.decode()
    assert address.replace("&", "&amp;") in page
