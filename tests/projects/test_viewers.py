"""Who of a run's viewers may go on: read for all of them at once."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from campaigns.accounts.tokens import create_share, revoke_share
from campaigns.compare.queries.columns import Viewer, live_links, who_still_see
from campaigns.core.permissions import Actor, Role
from campaigns.items.queries import items
from campaigns.models import Campaign, Membership, Run, ShareLink
from tests.factories import make_campaign, make_project, make_target

pytestmark = pytest.mark.django_db


def signed_in(user) -> Viewer:
    client = Client()
    client.force_login(user)
    return Viewer(client.session.session_key, user.pk, user.password)


@pytest.fixture
def rows(run):
    return Run.objects.filter(pk=run.pk)


def test_members_with_a_session_and_an_active_account_go_on(rows, vera, django_assert_num_queries):
    viewers = {signed_in(vera) for _ in range(20)}
    with django_assert_num_queries(2):
        assert who_still_see(rows, viewers) == viewers


def test_strangers_do_not_even_with_a_session(rows, charlie):
    assert who_still_see(rows, {signed_in(charlie)}) == set()


def sign_out(viewer, user):
    Session.objects.filter(pk=viewer.session).delete()


def stay_too_long(viewer, user):
    Session.objects.filter(pk=viewer.session).update(expire_date=timezone.now())


def disable_the_account(viewer, user):
    user.is_active = False
    user.save()


def set_a_new_password(viewer, user):
    user.set_password("another-Pass7")
    user.save()


def leave_the_project(viewer, user):
    Membership.objects.filter(user=user).delete()


def test_who_loses_the_right_is_the_only_one_who_does(rows, vera, alice):
    for lose in [
        sign_out,
        stay_too_long,
        disable_the_account,
        set_a_new_password,
        leave_the_project,
    ]:
        leaver, other = signed_in(vera), signed_in(alice)
        lose(leaver, vera)
        assert who_still_see(rows, {leaver, other}) == {other}


def test_a_session_is_no_pass_for_another_account(rows, vera, charlie):
    forgery = Viewer(signed_in(charlie).session, vera.pk, "not vera's")
    assert who_still_see(rows, {forgery}) == set()


@pytest.mark.parametrize("name", ["vera", "charlie", "alice"])
def test_the_viewers_of_rows_are_those_to_whom_they_are_visible(name, rows, run, request):
    user = request.getfixturevalue(name)
    for some in (rows, Campaign.objects.filter(pk=run.campaign_id)):
        is_visible = some.visible_to(Actor(user=user)).exists()
        assert (user.pk in some.viewers()) is is_visible


def test_the_list_holds_live_links_only(as_bob, as_vera, project):
    campaign = make_campaign(project)
    live, old, dead = (
        create_share(by=as_bob, project=project, campaign=campaign, days=1)[0] for _ in range(3)
    )
    yesterday = timezone.now() - timedelta(days=1)
    ShareLink.objects.filter(pk=old.pk).update(expires_at=yesterday)
    revoke_share(by=as_bob, share=dead)
    assert list(live_links(as_vera, project)) == [live]


def test_the_list_is_empty_for_a_stranger_and_holds_no_other_project(as_alice, as_charlie, project):
    campaign = make_campaign(project)
    create_share(by=as_alice, project=project, campaign=campaign, days=1)
    assert not live_links(as_charlie, project).exists()
    assert not live_links(as_alice, make_project(owner=as_alice.user)).exists()


def test_projects_are_counted_without_multiplying(project, as_alice):
    for _ in range(2):
        make_target(project)
        make_campaign(project)
    (row,) = items.list_projects(as_alice)
    assert (row.n_targets, row.n_campaigns, row.n_members) == (2, 2, 3)
    assert row.role == Role.OWNER


def test_the_projects_of_a_stranger_are_none(project, as_charlie):
    assert not items.list_projects(as_charlie).exists()
