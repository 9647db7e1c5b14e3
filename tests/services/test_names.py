"""Names that look the same are the same, whichever way their letters were typed."""

import pytest

from campaigns.domain.errors import InvalidFields, InvalidTarget
from campaigns.queries.items import matching
from campaigns.services.caps import create_project
from campaigns.services.items import describe_item
from campaigns.services.plans import create_plan
from campaigns.services.targets import create_profile, create_target
from tests.items import KINDS, make_item
from tests.services.engine import create
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
CAFE = "caf\u00e9"  # é in one character
CAFE_IN_TWO = "cafe\u0301"  # e, with an accent after it
ALIKE = [CAFE_IN_TWO, "ca\u00adf\u00e9\u200b", "\u202ecaf\u00e9\u202c"]


def target_of(by, project, name, profile=""):
    endpoint = {"scheme": "https", "host": "10.0.0.5", "port": 443, "tls": {"profile": profile}}
    facts = {"name": name, "environment": [], "endpoints": [endpoint]}
    return create_target(by=by, project=project, **facts)


@pytest.mark.parametrize("alike", ALIKE)
def test_what_may_have_a_name_once_has_it_once(project, as_alice, alike):
    given = {"by": as_alice, "project": project}
    acts = {
        InvalidFields: [
            lambda name: create_plan(**given, name=name, spec=plan_spec()),
            lambda name: create_profile(**given, name=name),
        ],
        InvalidTarget: [lambda name: target_of(as_alice, project, name)],
    }
    for refusal, makers in acts.items():
        for make in makers:
            make(CAFE)
            with pytest.raises(refusal):
                make(alike)


@pytest.mark.parametrize("alike", ALIKE)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_renamed_is_stored_and_found_by_either_spelling(kind, project, as_alice, alike):
    item = make_item(kind, project, "shop")
    describe_item(by=as_alice, item=item, name=alike)
    item.refresh_from_db()
    assert item.name == CAFE
    for text in (CAFE, alike):
        assert type(item).objects.get(matching(type(item), text)) == item


def test_campaigns_and_projects_are_stored_in_one_spelling(project, as_alice):
    assert create(as_alice, project, name=CAFE_IN_TWO).name == CAFE
    assert create_project(by=as_alice, name=f" {CAFE_IN_TWO} ").name == CAFE


def test_an_endpoint_names_a_profile_in_either_spelling(project, as_alice):
    create_profile(by=as_alice, project=project, name=CAFE)
    target = target_of(as_alice, project, "shop", profile=CAFE_IN_TWO)
    assert target.endpoints.get().tls == {"profile": CAFE}
