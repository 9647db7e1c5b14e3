"""A campaign that is run again or edited, and the statements of its page."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign
from tests.factories import make_campaign, make_plan, make_test
from tests.values import plan_spec
from tests.views.campaign_form import cells, fields, new_url
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db


def test_run_again_opens_the_form_filled_in(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"), ("https", "keep-alive"))
    as_editor.post(new_url(project), fields(ticked, draft="1", repeats=7, injectors="1, 2"))
    campaign = Campaign.objects.get()
    form = as_editor.get(new_url(project), {"again": campaign.pk}).context["form"]
    known = form.known()
    assert known["name"] == "HTTPS overhead (2)"
    assert (known["cells"], known["repeats"], known["pause_s"]) == (ticked, 7, 1)
    assert (known["injectors"], known["practical_threshold"]) == ((1, 2), 5)
    assert Campaign.objects.count() == 1


def test_run_again_says_what_has_changed_and_can_repeat_exactly(
    as_editor, project, target, version
):
    old = make_campaign(project, "Nightly")
    make_test(old, version, endpoint=target.endpoints.get(scheme="http"))
    make_test(old, make_plan(project, "Gone"), endpoint=target.endpoints.get(scheme="http"))
    newer = version.plan.versions.create(number=2, spec=plan_spec())
    version.plan.project.plans.filter(name="Gone").update(archived_at=timezone.now())
    response = as_editor.get(new_url(project), {"again": old.pk})
    assert reverse("campaign-repeat", args=[old.pk]) in text_of(response)
    assert len(response.context["again"].differences) == 2
    assert response.context["form"].known()["cells"] == [
        f"{newer.pk}.{target.endpoints.get(scheme='http').pk}.new"
    ]


def test_a_draft_is_edited_in_the_form_that_made_it(as_editor, project, target, version):
    ticked = cells(version, target, ("http", "new"))
    as_editor.post(new_url(project), fields(ticked, draft="1"))
    campaign = Campaign.objects.get()
    edit = f"{new_url(project)}?edit={campaign.pk}"
    initial = as_editor.get(edit).context["form"].initial
    assert (initial["name"], initial["repeats"], initial["seed"]) == ("HTTPS overhead", 3, 7)
    assert list(initial["cells"]) == ticked
    more = cells(version, target, ("http", "new"), ("https", "new"))
    as_editor.post(edit, fields(more, name="Both", draft="1"))
    campaign.refresh_from_db()
    assert (Campaign.objects.count(), campaign.name, campaign.tests.count()) == (1, "Both", 2)
    Campaign.objects.update(started_at=timezone.now())
    as_editor.post(edit, fields(ticked, draft="1"))
    campaign.refresh_from_db()
    assert campaign.name == "Both"
