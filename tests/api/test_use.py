"""What a project uses, and the injector hosts, over REST."""

import pytest

from campaigns.services.caps import measure_use
from tests.factories import make_plan, store_second
from tests.services.engine import host
from tests.values import make_second

pytestmark = pytest.mark.django_db


def test_an_owner_reads_what_the_project_uses_as_it_is_counted(api, project, run):
    make_plan(project)
    host(slots=12)
    project.caps = {"CAMPAIGNS": 0, "LOAD_HOURS": 2, "SLOT_PERCENT": 75}
    project.save()
    store_second(run, make_second(0, [1000]))
    measure_use(run)
    found = api.get(f"/api/v1/projects/{project.pk}/use/").json()
    caps = {each.pop("cap"): each for each in found["caps"]}
    assert (caps["LOAD_HOURS"]["most"], caps["LOAD_HOURS"]["unit"]) == (7200, "s")
    assert (caps["CAMPAIGNS"]["used"], caps["CAMPAIGNS"]["most"]) == (1, None)
    assert (caps["SLOT_PERCENT"]["most"], caps["SLOT_PERCENT"]["of"]) == (9, "75\u202f% of 12")
    assert found["stored"]["n_seconds"] == 1
    assert caps["STORED_GB"]["used"] == found["stored"]["seconds_bytes"] > 0
    (today,) = found["growth"]
    assert (today["n_runs"], today["stored_bytes"]) == (1, found["stored"]["seconds_bytes"])


def test_the_injector_hosts_have_their_slots(api):
    host(slots=4, name="inj-1")
    (found,) = api.get("/api/v1/injectors/").json()
    assert (found["name"], found["online"], found["slots"], found["busy"]) == ("inj-1", True, 4, 0)
