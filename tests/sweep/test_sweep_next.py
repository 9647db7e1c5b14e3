"""What a finished sweep leaves open, and where each answer begins."""

import pytest
from django.urls import reverse

from tests.factories import just_now, make_campaign, make_plan
from tests.measured import spoil
from tests.sweep.test_sweeps import measure_each, sweep, sweep_of_rate
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
CLOSED = plan_spec(model="closed", connections=1, requests=10)


@pytest.fixture
def campaign(project):
    return make_campaign(project, repeats=1, **just_now())


@pytest.fixture
def questions(as_editor, campaign):
    """What the page asks: {question: the address where its answer begins}."""

    def questions() -> dict[str, str]:
        page = as_editor.get(reverse("campaign-detail", args=[campaign.pk]))
        (group,) = page.context["sweeps"]
        return {each.question: each.address for each in group["questions"]}

    return questions


def test_values_that_are_not_trusted_are_repeated_from_the_last_one_that_is(
    as_editor, campaign, questions
):
    runs = measure_each(sweep(campaign, [1, 2, 4, 8]), [1000, 1900, 3000, 3000])
    for run in runs[2:]:
        spoil(run, cpu=0.99)
    address = questions()["What comes at 4 and 8?"]
    form = as_editor.get(address).context["form"]
    assert form["injectors"].value() == "2, 4, 8"


def test_growth_that_has_not_ended_is_swept_on(as_editor, campaign, questions):
    measure_each(sweep_of_rate(campaign, [100, 200], "apache"), [1000, 2000])
    address = questions()["Where does apache stop growing?"]
    form = as_editor.get(address).context["form"]
    assert (form["sweep_field"].value(), form["sweep_values"].value()) == (
        "rate_per_s",
        "200, 400, 800",
    )


def test_a_search_tells_which_rate_keeps_an_objective(as_editor, campaign, questions):
    version = make_plan(campaign.project, spec=CLOSED)
    measure_each(sweep(campaign, [1, 2], version=version), [1000, 1900])
    address = questions()["Which rate keeps an objective?"]
    assert list(as_editor.get(address).context["form"].picks.plans) == [str(version.pk)]
