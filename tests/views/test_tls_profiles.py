"""The pages of a project's TLS profiles: list, form, deletion, and the choice at an endpoint."""

import re

import pytest
from django.urls import reverse

from campaigns.models import OwnTlsProfile
from tests.factories import make_endpoint, make_target
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db
POSTED = {"name": "our clients", "max_version": "1.2", "groups": "x25519 P-256"}


@pytest.fixture
def profile(project) -> OwnTlsProfile:
    return OwnTlsProfile.objects.create(
        project=project, name="our clients", offers={"groups": "X25519"}
    )


def list_url(project) -> str:
    return reverse("tls-profile-list", args=[project.pk])


def new_url(project) -> str:
    return reverse("tls-profile-new", args=[project.pk])


def test_a_profile_is_created_from_the_form(as_editor, project):
    answer = as_editor.post(new_url(project), POSTED, follow=True)
    assert "our clients created" in text_of(answer)
    assert OwnTlsProfile.objects.get().offers == {"max_version": "1.2", "groups": "X25519:P-256"}


def test_a_copy_starts_with_what_the_other_offers(as_editor, project):
    form = as_editor.get(new_url(project), {"from": "classical"}).context["form"]
    assert form["groups"].value() == "X25519:P-256:P-384"
    assert not form["name"].value()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": ""}, "Give the profile a name"),
        ({"name": "RSA"}, "comes with benchsite"),
        ({"groups": "rot13"}, "no &#x27;rot13&#x27; here"),
        ({"min_version": "1.3"}, "cannot be older"),
    ],
)
def test_a_fault_is_at_its_field_and_nothing_is_lost(as_editor, project, wrong, words):
    answer = as_editor.post(new_url(project), POSTED | wrong)
    assert answer.status_code == 422
    said = answer.content.decode()
    assert words in said
    typed = (POSTED | wrong)["groups"]
    assert f'value="{typed}"' in said
    assert not OwnTlsProfile.objects.exists()


def test_the_form_shows_what_is_stored_and_who_uses_it(as_editor, project, profile):
    make_endpoint(make_target(project, "shop"), "https", tls={"profile": profile.name})
    url = reverse("tls-profile-edit", args=[profile.pk])
    answer = as_editor.get(url)
    assert answer.context["form"]["groups"].value() == "X25519"
    assert "shop" in text_of(answer)
    as_editor.post(url, {"name": "our clients", "groups": "P-256"})
    profile.refresh_from_db()
    assert profile.offers == {"groups": "P-256"}


def test_one_is_deleted_and_one_in_use_says_why_not(as_editor, project, profile):
    endpoint = make_endpoint(make_target(project, "shop"), "https", tls={"profile": profile.name})
    url = reverse("tls-profile-delete", args=[profile.pk])
    assert "is used by 1 endpoint: shop" in text_of(as_editor.post(url, follow=True))
    endpoint.delete()
    assert "our clients deleted" in text_of(as_editor.post(url, follow=True))
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
    assert "profile “our clients”" in text_of(
        as_editor.get(reverse("target-detail", args=[target.pk]))
    )
