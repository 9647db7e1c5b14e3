from datetime import timedelta

from django.utils import timezone

from campaigns.models import ShareLink
from campaigns.queries.columns import live_links
from campaigns.services.tokens import create_share, revoke_share
from tests.factories import make_campaign, make_project


def test_the_list_holds_live_links_only(as_bob, as_vera, project):
    campaign = make_campaign(project)
    live, expired, revoked = (
        create_share(by=as_bob, project=project, campaign=campaign, days=1)[0] for _ in range(3)
    )
    yesterday = timezone.now() - timedelta(days=1)
    ShareLink.objects.filter(pk=expired.pk).update(expires_at=yesterday)
    revoke_share(by=as_bob, share=revoked)
    assert list(live_links(as_vera, project)) == [live]


def test_the_list_is_empty_for_a_stranger_and_holds_no_other_project(as_alice, as_charlie, project):
    campaign = make_campaign(project)
    create_share(by=as_alice, project=project, campaign=campaign, days=1)
    assert not live_links(as_charlie, project).exists()
    assert not live_links(as_alice, make_project(owner=as_alice.user)).exists()
