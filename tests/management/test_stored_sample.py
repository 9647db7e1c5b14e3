"""The stored sample: loaded once, answered like any campaign, measured by nobody again."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.answers import answer_of
from campaigns.campaigns.services.blocks import add_blocks
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Trust
from campaigns.domain.presentation.sentences import plain_text
from campaigns.items.queries.items import SAMPLE_CAMPAIGN, is_first_visit, stored_sample
from campaigns.management.commands.sample import FILE, load_sample
from campaigns.models import Campaign, Project
from campaigns.projects.services import create_project
from tests.factories import make_campaign
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored(as_alice) -> Campaign:
    return load_sample(as_alice)


def test_its_answer_is_made_of_its_rows(stored):
    answer = answer_of(stored)
    assert plain_text(answer.sentence).startswith("HTTPS is ")
    assert len(answer.overheads) == 3
    assert {run.trust for run in stored.runs.all()} == {Trust.TRUSTED}
    assert stored.finished_at < timezone.now()


def test_it_is_loaded_once_and_small(stored, as_alice):
    assert load_sample(as_alice) == stored
    assert Campaign.objects.count() == 1
    assert FILE.stat().st_size < 300_000


def test_its_pages_work_and_measure_nothing_more(stored, as_alice, client, alice):
    client.force_login(alice)
    pages = [reverse("campaign-detail", args=[stored.pk])]
    pages += [reverse("run-detail", args=[run.pk]) for run in stored.runs.all()]
    pages += [reverse("campaign-new", args=[stored.project_id]) + f"?again={stored.pk}"]
    assert [client.get(page).status_code for page in pages] == [200] * 7
    listed = reverse("campaign-list", args=[stored.project_id])
    assert stored.name in text_of(client.get(f"{listed}?view="))
    with pytest.raises(Refused, match="archived"):
        add_blocks(by=as_alice, campaign=stored, after=stored.repeats)


def test_a_stranger_does_not_see_it(stored, as_charlie):
    assert stored_sample(as_charlie) is None


def test_a_first_visit_ends_with_the_first_campaign_that_is_no_sample(stored, as_alice, client):
    client.force_login(as_alice.user)
    project = create_project(by=as_alice, name="Shop")
    address = reverse("campaign-list", args=[project.pk])
    page = client.get(address)
    assert page.context["stored"] == stored
    assert len(page.context["cards"]) == 3
    make_campaign(Project.objects.get(pk=stored.project_id), SAMPLE_CAMPAIGN)
    assert is_first_visit(stored.project)
    make_campaign(project, "Nightly", started_at=timezone.now())
    assert "Nightly" in text_of(client.get(address))
