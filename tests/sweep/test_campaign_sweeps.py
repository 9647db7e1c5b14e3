"""A sweep in the form of a campaign: which number, and its values."""

import pytest
from django.urls import reverse

from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import Campaign
from tests.campaigns.campaign_form import cells, fields, new_url
from tests.factories import just_now, make_endpoint, make_plan, make_run, make_target
from tests.kept_rows import undone
from tests.measured import measure, spoil
from tests.pages import text_of
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


@pytest.fixture
def version(project):
    return make_plan(project, spec=plan_spec(model="open", rate_per_s=10, duration_s=5))


@pytest.fixture
def ticks(version, target):
    return cells(version, target, ("http", "new"))


def test_the_estimate_follows_the_values(as_editor, project, ticks):
    data = fields(ticks, repeats=1, sweep_field="rate_per_s", sweep_values="100, 300")
    context = as_editor.post(reverse("campaign-estimate", args=[project.pk]), data).context
    assert (context["estimate"].n_tests, context["estimate"].requests) == (2, 5 * 400)


def test_the_study_of_several_servers_is_one_choice(as_editor, project, ticks):
    targets = [make_target(project, name) for name in ("apache", "nginx")]
    for each in targets:
        make_endpoint(each, host="127.0.0.1")
    data = {"study": "file-sets", "targets": [each.pk for each in targets]}
    page = as_editor.post(new_url(project), data, follow=True)
    form = page.context["form"]
    assert (form["name"].value(), form["repeats"].value()) == ("File sets: apache, nginx", 5)
    assert len(form.cells) == 6
    assert page.context["estimate"].n_runs == 30


CLOSED = plan_spec(model="closed", connections=4, duration_s=5)
MESSAGES = {
    "load": {"model": "closed", "connections": 2, "duration_s": 5},
    "exchange": {"messages": 10, "size_bytes": 64},
}
THINKING = CLOSED | {"session": {"think_time": {"kind": "constant", "mean_s": 0.1}}}
SWEPT = [
    ("rate_per_s", plan_spec(model="open", rate_per_s=10, duration_s=5), "a rate of 4 requests/s"),
    ("connections", CLOSED, "4 connections"),
    ("injectors", CLOSED, "4 injector processes"),
    ("over_s", plan_spec(model="over", requests=10, over_s=2), "a spread over 4 s"),
    ("exchange.size_bytes", MESSAGES, "a message size of 4 B"),
    ("session.calls_per_connection", CLOSED, "4 requests per connection"),
    ("session.think_time.mean_s", THINKING, "a mean think time of 4 s"),
]


def test_each_number_goes_from_the_form_to_table_curves_and_sentence(as_editor, project):
    """Throughput doubles with the value."""
    for field, spec, words in SWEPT:
        with undone():
            scheme = "ws" if "exchange" in spec else "http"
            target = make_target(project, "shop")
            make_endpoint(target, scheme=scheme, port=8081)
            mode = "keep-alive" if field == "session.calls_per_connection" else "new"
            ticks = cells(make_plan(project, "Swept", spec), target, (scheme, mode))
            sweep = {"sweep_field": field, "sweep_values": "1, 2, 4"}
            if field == "injectors":
                sweep = {"injectors": "1, 2, 4"}
            answer = as_editor.post(new_url(project), fields(ticks, repeats=1, draft="1", **sweep))
            assert answer.status_code == 302, text_of(answer)
            campaign = Campaign.objects.get()
            Campaign.objects.update(**just_now())
            for test, n in zip(campaign.tests.order_by("position"), (100, 200, 400), strict=True):
                spoil(measure(make_run(test), 10_000, n=n))
            page = as_editor.get(reverse("campaign-detail", args=[campaign.pk]))
            sentence = plain_text(page.context["answer"].sentence)
            assert f"{words}: 40.0 requests/s" in sentence
            (group,) = page.context["sweeps"]
            titles = [panel.title for panel in group["charts"].panels]
            is_divided = field in {"connections", "injectors"}
            assert titles == [
                "Throughput",
                "Response time",
                *(["Speed-up", "Efficiency"] if is_divided else []),
            ]
            table = group["table"]
            under_way = [column.key for column in table.columns].index("under_way")
            assert [row.cells[under_way].value for row in table.rows] == pytest.approx(
                [0.1, 0.2, 0.4], 0.1
            )
            assert ", 4.0 times as much as with 1 " in sentence or not is_divided
