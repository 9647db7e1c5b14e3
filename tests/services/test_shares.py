import pytest

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import AuditEntry, Campaign, Run, ShareLink
from campaigns.permissions import Actor, Role, Scope
from campaigns.services.tokens import create_share, create_token, open_share, revoke_share
from tests.factories import make_campaign, make_project, make_run, make_test


@pytest.fixture
def made(as_bob, project, campaign):
    return create_share(by=as_bob, project=project, campaign=campaign, days=30, note="for Mia")


def test_the_token_has_256_bits_and_is_not_in_the_database(made):
    share, token = made
    assert len(token) == 43
    assert token not in repr(ShareLink.objects.filter(pk=share.pk).values().get())


def test_it_opens_with_its_token_and_counts_the_view(made):
    share, token = made
    assert open_share(token=token) == share
    open_share(token=token)
    share.refresh_from_db()
    assert share.n_views == 2
    assert share.last_used_at is not None


def test_a_look_whether_it_still_lives_is_no_view(made):
    share, token = made
    assert open_share(token=token, counts_view=False) == share
    share.refresh_from_db()
    assert share.n_views == 0


def test_any_editor_revokes_a_link_and_it_is_dead_at_once(made, as_alice):
    share, token = made
    revoke_share(by=as_alice, share=share)
    assert open_share(token=token) is None


def test_no_scope_of_a_token_lets_it_share(as_alice, alice, project, campaign):
    token, _ = create_token(by=as_alice, name="job", scope=Scope.WRITE, days=1)
    with pytest.raises(Forbidden, match="scope write"):
        create_share(by=Actor(user=alice, token=token), project=project, campaign=campaign, days=1)


def test_a_link_sleeps_while_its_creator_may_not_share(made, bob, project):
    share, token = made
    membership = project.memberships.get(user=bob)
    membership.role = Role.VIEWER
    membership.save()
    assert open_share(token=token) is None
    membership.role = Role.EDITOR
    membership.save()
    assert open_share(token=token) == share
    membership.delete()
    assert open_share(token=token) is None


def test_a_link_dies_with_its_creators_account(made, bob):
    bob.delete()
    assert open_share(token=made[1]) is None


def test_a_campaigns_link_shows_that_campaign_and_no_run_page(made, project, campaign):
    run = make_run(make_test(campaign))
    make_campaign(project)
    visitor = Actor(share=made[0])
    assert list(Campaign.objects.visible_to(visitor)) == [campaign]
    assert run not in Run.objects.visible_to(visitor)


def test_a_runs_link_shows_that_run_only(as_bob, project, campaign):
    test = make_test(campaign)
    run, _ = make_run(test, repeat=1), make_run(test, repeat=2)
    share, _ = create_share(by=as_bob, project=project, run=run, days=1)
    visitor = Actor(share=share)
    assert list(Run.objects.visible_to(visitor)) == [run]
    assert not Campaign.objects.visible_to(visitor).exists()


@pytest.mark.parametrize("days", [0, 366])
def test_it_refuses_a_link_that_lives_too_long_or_not_at_all(as_bob, project, campaign, days):
    with pytest.raises(Refused, match="365"):
        create_share(by=as_bob, project=project, campaign=campaign, days=days)


def test_it_refuses_to_share_nothing_and_two_things(as_bob, project, campaign):
    run = make_run(make_test(campaign))
    for things in ({}, {"campaign": campaign, "run": run}):
        with pytest.raises(Refused, match="either"):
            create_share(by=as_bob, project=project, days=1, **things)


def test_it_refuses_to_share_what_belongs_to_another_project(as_bob, project):
    foreign = make_campaign(make_project())
    with pytest.raises(Refused, match="belongs to another project"):
        create_share(by=as_bob, project=project, campaign=foreign, days=1)
    with pytest.raises(Refused, match="belongs to another project"):
        create_share(by=as_bob, project=project, run=make_run(make_test(foreign)), days=1)


def test_a_link_is_revoked_once(made, as_alice, as_bob):
    share, _ = made
    revoke_share(by=as_alice, share=share)
    share.refresh_from_db()
    first = share.revoked_at
    revoke_share(by=as_bob, share=share)
    share.refresh_from_db()
    assert share.revoked_at == first
    assert AuditEntry.objects.filter(deed=AuditEvent.SHARE_REVOKED).count() == 1
