"""A campaign whose runs are all not usable: no place states one of its figures as a result."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.queries.projects import SAMPLE_CAMPAIGN, SAMPLE_PROJECT
from campaigns.queries.reports import tool_report
from tests.factories import make_campaign, make_endpoint, make_plan, make_run, make_target
from tests.factories import make_test as a_test
from tests.queries.measured import measure
from tests.values import plan_spec
from tests.views.pages import html_of
from tests.views.test_shares import make_link

pytestmark = pytest.mark.django_db
FIGURE = "18.9"
SAID = "No answer: replies could not be matched"


@pytest.fixture
def campaign(project):
    """Three repeats by one and by two injector processes, a threshold among them."""
    project.name = SAMPLE_PROJECT
    project.save()
    rules = [{"metric": "mean", "limit": 5, "unit": "ms"}]
    spec = plan_spec(model="over", requests=2000, over_s=10) | {"thresholds": rules}
    campaign = make_campaign(
        project, SAMPLE_CAMPAIGN, started_at=timezone.now(), finished_at=timezone.now()
    )
    version, endpoint = make_plan(project, spec=spec), make_endpoint(make_target(project))
    for injectors in (1, 2):
        test = a_test(campaign, version, endpoint=endpoint, injectors=injectors)
        for repeat in (1, 2, 3):
            measure(make_run(test, repeat), 18_900, counters={"in_doubt": 20})
    return campaign


def answer_in(html: str) -> str:
    """The first line with its grounds, and the tiles."""
    regions = re.findall(
        r'<(section|div)[^>]*data-live="(?:verdict|tiles)">(.*?)</\1>', html, re.DOTALL
    )
    return " ".join(text for _, text in regions)


def of_share(client, campaign):
    return answer_in(
        Client().get(make_link(client, "campaign-share", campaign.pk)).content.decode()
    )


def first_lines_of_terminal(client, campaign):
    return tool_report(campaign.runs.first(), "plain").partition("\n")[0]


PLACES = {
    "campaign": lambda client, it: answer_in(html_of(client, "campaign-detail", it.pk)),
    "run": lambda client, it: answer_in(html_of(client, "run-detail", it.runs.first().pk)),
    "campaign list": lambda client, it: html_of(client, "campaign-list", it.project_id),
    "home": lambda client, it: html_of(client, "project-measure", it.project_id),
    "runs of the project": lambda client, it: html_of(client, "run-list", it.project_id),
    "share": of_share,
    "terminal": first_lines_of_terminal,
    "REST, campaign": lambda client, it: client.get(
        reverse("api-campaign-tables", args=[it.pk])
    ).json()["sentence"],
    "REST, run": lambda client, it: client.get(
        reverse("api-run-tables", args=[it.runs.first().pk])
    ).json()["sentence"],
}


@pytest.mark.parametrize("place", PLACES)
def test_no_place_has_a_figure_of_it_but_says_why(as_editor, campaign, place):
    told = PLACES[place](as_editor, campaign)
    assert SAID in told
    assert FIGURE not in told
    assert "Broken" not in told


def test_a_comparison_states_no_figure_and_gives_no_word(as_editor, campaign):
    first, second = campaign.runs.all()[:2]
    columns = {"a": f"run-{first.pk}", "b": f"run-{second.pk}"}
    told = as_editor.get(reverse("api-comparison"), columns).json()
    assert told["sentences"]
    assert FIGURE not in " ".join([*told["sentences"], *told["grounds"]])
    assert {each["word"] for each in told["tests"]} == {""}
    drawn = as_editor.get(reverse("comparison"), columns).context["curves"]
    assert drawn == {"lines": []}


def test_a_sweep_has_no_speed_up_and_no_curve(as_editor, campaign):
    told = as_editor.get(reverse("api-campaign-tables", args=[campaign.pk])).json()
    (sweep,) = told["sweeps"]
    assert {row["values"]["speed_up"] for row in sweep["rows"]} == {None}
    assert 'class="sweep-dot"' not in html_of(as_editor, "campaign-detail", campaign.pk)
