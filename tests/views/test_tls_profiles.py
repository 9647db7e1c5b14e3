"""The pages of a project's TLS profiles: form, deletion, and the choice at an endpoint."""

import re

import pytest
from django.urls import reverse

from campaigns.models import OwnTlsProfile

pytestmark = pytest.mark.django_db
POSTED = {"name": "our clients", "max_version": "1.2", "groups": "x25519 P-256"}


@pytest.fixture
def profile(project) -> OwnTlsProfile:
    return OwnTlsProfile.objects.create(
        project=project, name="our clients", offers={"groups": "X25519"}
    )


def new_url(project) -> str:
    return reverse("tls-profile-new", args=[project.pk])


def test_a_profile_is_created_from_the_form(as_editor, project):
    as_editor.post(new_url(project), POSTED)
    assert OwnTlsProfile.objects.get().offers == {"max_version": "1.2", "groups": "X25519:P-256"}


@pytest.mark.parametrize("wrong", [{"name": ""}, {"groups": "rot13"}, {"min_version": "1.3"}])
def test_of_a_refused_form_nothing_is_lost(as_editor, project, wrong):
    answer = as_editor.post(new_url(project), POSTED | wrong)
    assert answer.status_code == 422
    typed = (POSTED | wrong)["groups"]
    assert f'value="{typed}"' in answer.content.decode()
    assert not OwnTlsProfile.objects.exists()


def test_the_target_s_form_offers_it_and_shows_what_was_chosen(as_editor, project, profile):
    posted = {
        "name": "shop",
        "scheme": ["https"],
        "host": ["10.0.0.5"],
        "port": ["443"],
        "verify_tls": ["yes"],
        "tls_profile": ["our clients"],
    }
    as_editor.post(reverse("target-new", args=[project.pk]), posted)
    target = project.targets.get()
    form = as_editor.get(reverse("target-edit", args=[target.pk])).content.decode()
    assert re.search(r'<option value="our clients"[^>]* selected>', form)
