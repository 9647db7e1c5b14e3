"""What to do, on the pages of a failing campaign and of its run."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure
from tests.queries.test_answers import done
from tests.views.pages import text_of
from tests.views.test_shares import make_link

pytestmark = pytest.mark.django_db
REMEDY = "Check the port, and that the server listens on this address"


@pytest.fixture
def run(project):
    seen = {"counters": {"failed": 50}, "errors": {"connect_refused": 50}}
    run = measure(make_run(make_test(make_campaign(project, repeats=1))), 20_000, **seen)
    done(run.campaign)
    return run


def pages_of(client, run) -> list[str]:
    places = [("campaign-detail", run.campaign_id), ("run-detail", run.pk)]
    return [text_of(client.get(reverse(name, args=[pk]))) for name, pk in places]


def test_the_remedy_stands_once_with_the_page_where_it_is_done(as_editor, run):
    target = reverse("target-edit", args=[run.target_id])
    for page in pages_of(as_editor, run):
        assert page.count(REMEDY) == 1
        assert f'href="{target}">Edit the target</a>' in page


def test_a_viewer_and_a_share_have_the_words_without_the_buttons(client, as_editor, vera, run):
    shared = make_link(as_editor, "campaign-share", run.campaign_id)
    client.force_login(vera)
    for page in (*pages_of(client, run), text_of(Client().get(shared, follow=True))):
        assert REMEDY in page
        assert "Edit the target" not in page
