"""A user's own views of the list of campaigns."""

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import SavedView
from campaigns.services.saved_views import MOST_VIEWS, delete_view, save_view
from tests.factories import make_project

pytestmark = pytest.mark.django_db
QUERY = "state=done&sort=name"


def test_a_view_is_one_s_own_by_user_and_project(project, as_alice, as_vera):
    other = make_project("other", owner=as_alice.user)
    for by, where in ((as_alice, project), (as_alice, other), (as_vera, project)):
        save_view(by=by, project=where, name=" Nightly ", query=QUERY)
    assert set(SavedView.objects.values_list("name", "query")) == {("Nightly", QUERY)}
    assert SavedView.objects.count() == 3


def test_a_name_is_given_once(project, as_alice):
    save_view(by=as_alice, project=project, name="Nightly", query=QUERY)
    with pytest.raises(Refused, match="already have a view named Nightly"):
        save_view(by=as_alice, project=project, name="Nightly", query="view=mine")


@pytest.mark.parametrize("name", ["", "  ", "x" * 41, "\u200b"])
def test_a_view_has_a_short_name(name, project, as_alice):
    with pytest.raises(Refused, match="name of 1 to 40"):
        save_view(by=as_alice, project=project, name=name, query=QUERY)


@pytest.mark.parametrize(("query", "why"), [("", "whole list"), ("name=" + "x" * 1000, "too long")])
def test_a_view_narrows_or_sorts_the_list(query, why, project, as_alice):
    with pytest.raises(Refused, match=why):
        save_view(by=as_alice, project=project, name="Nightly", query=query)


def test_there_are_not_more_than_fit_the_page(project, as_alice):
    for number in range(MOST_VIEWS):
        save_view(by=as_alice, project=project, name=f"View {number}", query=QUERY)
    with pytest.raises(Refused, match="You have 20 views"):
        save_view(by=as_alice, project=project, name="One more", query=QUERY)


def test_only_its_user_deletes_it_and_only_members_save_one(project, as_alice, as_bob, as_charlie):
    view = save_view(by=as_alice, project=project, name="Nightly", query=QUERY)
    with pytest.raises(Forbidden):
        delete_view(by=as_bob, view=view)
    with pytest.raises(Forbidden):
        save_view(by=as_charlie, project=project, name="Nightly", query=QUERY)
    delete_view(by=as_alice, view=view)
    assert not SavedView.objects.exists()
