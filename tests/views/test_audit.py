"""The pages of the audit log, and their files."""

import csv
import io

import pytest
from django.urls import reverse

from campaigns.services import tokens
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def shared(as_bob, project):
    campaign = make_campaign(project, "=nightly")
    tokens.create_share(by=as_bob, project=project, campaign=campaign, days=7)


def test_an_owner_reads_who_did_what(client, alice, project, shared):
    client.force_login(alice)
    page = client.get(reverse("audit", args=[project.pk])).content.decode()
    assert "link to =nightly, 7 days" in page
    assert '<th scope="row">bob' in page


def test_an_administrator_reads_everything_page_by_page(client, as_adam, project, shared):
    for number in range(120):
        tokens.create_token(by=as_adam, name=f"token {number}", scope="read", days=1)
    client.force_login(as_adam.user)
    first = client.get(reverse("audit-all"))
    assert "token 119" in first.content.decode()
    older = client.get(reverse("audit-all"), {"page": first.context["page"].next})
    assert "link to =nightly" in older.content.decode()
    assert project.name in older.content.decode()


def test_the_file_has_a_row_each_and_no_formula(client, alice, project, shared):
    client.force_login(alice)
    answer = client.get(reverse("audit-csv", args=[project.pk]))
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert (row["who"], row["deed"], row["project"]) == ("bob", "shared", project.name)
    assert row["what"].startswith("link to")
