"""What is deleted leaves nothing behind, in any table. The tables come from the models: a new one
that belongs to a campaign or a project fails here until the world has a row of it.
"""

from collections import defaultdict

import pytest
from django.apps import apps
from django.db.models import SET_NULL, Model
from django.utils import timezone

from campaigns.models import (
    Baseline,
    Campaign,
    FailureExample,
    KeptMinute,
    KeptPage,
    MeasuredSoFar,
    PlanSecret,
    Probe,
    Project,
    RunEvent,
    RunUse,
    Search,
)
from campaigns.permissions import Actor
from campaigns.services.items import delete_items
from tests.access_world import make_world

pytestmark = pytest.mark.django_db
MODELS = apps.get_app_config("campaigns").get_models(include_auto_created=True)
# (model, name of the field, the model it refers to) of all whose rows go with what they refer to.
REFERENCES = [
    (model, field.name, field.related_model)
    for model in MODELS
    for field in model._meta.concrete_fields
    if field.is_relation and field.remote_field.on_delete is not SET_NULL
]


def reaching(root: type[Model]) -> set[type[Model]]:
    """The models whose rows belong, over however many references, to a row of `root`."""
    found = {root}
    while grown := {model for model, _, to in REFERENCES if to in found} - found:
        found |= grown
    return found


def belonging_to(row: Model) -> dict[type[Model], set]:
    """The keys of all rows that belong to this one, by model, itself included."""
    found = defaultdict(set, {type(row): {row.pk}})
    n_before = 0
    while n_before != (n_before := sum(map(len, found.values()))):
        for model, name, to in REFERENCES:
            rows = model._base_manager.filter(**{f"{name}__in": found[to]})
            found[model] |= set(rows.values_list("pk", flat=True))
    return {model: keys for model, keys in found.items() if keys}


@pytest.fixture
def world():
    """One of everything, with all campaigns at their end."""
    rows = make_world().rows
    run = rows["run"]
    RunUse.objects.get_or_create(run=run, defaults={"project": rows["project"]})
    PlanSecret.objects.create(plan=rows["plan"], ciphertext="x")
    Probe.objects.create(endpoint=rows["endpoint"], campaign=rows["campaign"], request={})
    RunEvent.objects.create(run=run, kind="run_done")
    KeptMinute.objects.create(run=run, minute=0, step=0, packed=b"")
    MeasuredSoFar.objects.create(run=run, last_second=0, packed=b"", chunks=[])
    KeptPage.objects.create(campaign=rows["campaign"], key="k", content=b"")
    texts = {"request": "GET /", "reply": "", "detail": ""}
    FailureExample.objects.create(
        run=run, shard=0, second=0, step=0, kind="status", status=500, at_us=1, **texts
    )
    Search.objects.create(
        campaign=rows["campaign"],
        start_per_s=1,
        limit_per_s=9,
        trial_s=5,
        deadline=timezone.now(),
        ending="stopped",
    )
    # A baseline that was replaced; the runs of a current one are not deleted.
    Baseline.objects.update(replaced_at=timezone.now())
    Campaign.objects.update(finished_at=timezone.now())
    return rows


@pytest.mark.parametrize("noun", ["campaign", "project"])
def test_nothing_that_belongs_to_it_is_left(world, noun):
    row = world[noun]
    others = Campaign.objects.exclude(pk=world["campaign"].pk).count()
    before = belonging_to(row)
    assert reaching(type(row)) == before.keys(), "the world has a row of each"
    owner = Actor(world["project"].memberships.get(role="owner").user)
    delete_items(by=owner, items=[row])
    left = {
        model: keys
        for model, gone in before.items()
        if (keys := gone & set(model._base_manager.values_list("pk", flat=True)))
    }
    assert left == {}
    assert Campaign.objects.count() == (others if noun == "campaign" else 0)
    assert Project.objects.filter(name="Charlie's own").exists()
