"""The pages that show what projects use of their caps, and set them."""

import pytest
from django.urls import reverse

from campaigns.models import Project
from tests.factories import make_plan
from tests.views.pages import page_text

pytestmark = pytest.mark.django_db


def test_an_owner_finds_use_and_caps_beside_the_members(client, project, alice):
    client.force_login(alice)
    make_plan(project)
    Project.objects.update(caps={"PLANS": 4})
    assert reverse("project-use", args=[project.pk]) in page_text(
        client, "project-members", project.pk
    )
    shown = page_text(client, "project-use", project.pk)
    assert '<td class="num">1</td> <td class="num"></td> <td class="num">4</td>' in shown
    assert 'value="0.250"' in shown


def test_an_administrator_gives_a_project_caps_of_its_own(adam, project):
    address = reverse("caps-edit", args=[project.pk])
    adam.post(address, {"RUNS": "3", "PLANS": "0", "CAMPAIGNS": ""})
    project.refresh_from_db()
    assert project.caps == {"RUNS": 3, "PLANS": 0}
    assert "of 3</span>" in page_text(adam, "caps")
    for wrong in ({"RUNS": "-1"}, {"SLOT_PERCENT": "101"}):
        adam.post(address, wrong)
        project.refresh_from_db()
        assert project.caps == {"RUNS": 3, "PLANS": 0}
