"""Rename, tag, archive, delete and find over REST, the same for four kinds; what a project uses."""

import pytest

from campaigns.campaigns.services.campaigns import look_at_campaigns
from campaigns.items.services import archive_items
from campaigns.operations.services.caps import measure_use
from tests.cast import client_of
from tests.engine.scenes import host, others_use, started
from tests.factories import just_now, make_campaign, make_plan, store_second
from tests.item_kinds import KINDS, make_item
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db


def names(api, address: str) -> list[str]:
    answer = api.get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.json()
    return [each["name"] for each in answer.json()["results"] if each["name"] != "Payments"]


@pytest.mark.parametrize("kind", KINDS)
def test_patch_renames_tags_and_archives(api, project, kind):
    item = make_item(kind, project, "before")
    address = f"/api/v1/{kind}s/{item.pk}/"
    change = {"name": "after", "tags": ["Soak", "nightly"], "archived": True}
    answer = api.patch(address, change, format="json")
    assert answer.status_code == 200
    after = answer.json()
    assert (after["name"], after["tags"]) == ("after", ["nightly", "soak"])
    assert after["archived_at"]
    assert api.patch(address, {"archived": False}, format="json").json()["archived_at"] is None
    assert api.get(address).json()["tags"] == ["nightly", "soak"]


def test_what_is_created_has_its_tags_at_once(api, project):
    host(slots=8)
    origins = [
        {"scheme": scheme, "host": "127.0.0.1", "port": 8131} for scheme in ("http", "https")
    ]
    target = create(api, "targets", project, name="shop", endpoints=origins)
    plan = create(api, "plans", project, name="prices", spec=plan_spec())
    plain, tls = (each["id"] for each in target["endpoints"])
    cell = {"plan": plan["id"], "endpoint": plain, "connection_mode": "new"}
    create(api, "campaigns", project, name="a", cells=[cell])
    create(api, "ladders", project, name="b", plan=plan["id"], endpoint=tls)
    rates = {"start_per_s": 10, "limit_per_s": 100, "objective": ["p95 < 300 ms"]}
    search = post_tagged(api, "searches", project, name="c", cell=cell, **rates)
    campaign = api.get(f"/api/v1/campaigns/{search['campaign']}/").json()
    assert campaign["tags"] == ["nightly", "release"]


def post_tagged(api, kind: str, project, **fields) -> dict:
    body = {"project": project.pk, "tags": ["Release", "nightly"], **fields}
    answer = api.post(f"/api/v1/{kind}/", body, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def create(api, kind: str, project, **fields) -> dict:
    item = post_tagged(api, kind, project, **fields)
    assert item["tags"] == ["nightly", "release"]
    return item


@pytest.mark.parametrize("kind", KINDS)
def test_delete_puts_into_the_trash_and_restore_takes_out(api, project, kind):
    address = f"/api/v1/{kind}s/{make_item(kind, project, 'a').pk}/"
    assert api.post(f"{address}restore/").status_code == 404
    assert api.delete(address).status_code == 204
    for method in (api.get, api.delete):
        assert method(address).status_code == 404
    assert "a" not in names(api, f"{kind}s/")
    assert names(api, f"{kind}s/?trash=true") == ["a"]
    assert "a" not in names(api, f"{kind}s/?trash=false")
    answer = api.post(f"{address}restore/")
    assert (answer.status_code, answer.json()["archived_at"]) == (200, None)
    assert answer.json() == api.get(address).json()


def test_a_change_that_is_refused_in_part_is_not_made_in_part(api, project):
    campaign = started(project)
    address = f"/api/v1/campaigns/{campaign.pk}/"
    refusal = api.patch(address, {"name": "late", "tags": ["x"], "archived": True}, format="json")
    assert refusal.status_code == 409
    row = api.get(address).json()
    assert (row["name"], row["tags"], row["archived_at"]) == ("study", [], None)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_searched_filtered_and_sorted(api, project, kind, as_alice):
    make_item(kind, project, "b", tags=["soak"])
    make_item(kind, project, "a")
    archive_items(by=as_alice, items=[make_item(kind, project, "old")])
    assert names(api, f"{kind}s/?ordering=name&archived=false") == ["a", "b"]
    assert names(api, f"{kind}s/?ordering=-name&archived=false") == ["b", "a"]
    assert names(api, f"{kind}s/?archived=true") == ["old"]
    assert names(api, f"{kind}s/?tag=soak") == ["b"]
    assert names(api, f"{kind}s/?tag=Soak") == ["b"]
    assert names(api, f"{kind}s/?search=SOA") == ["b"]
    wrong = api.get(f"/api/v1/{kind}s/?ordering=colour")
    assert wrong.status_code == 400


def test_campaigns_are_found_by_who_made_them_and_by_who_has_looked(
    api, project, alice, bob, as_bob
):
    make_campaign(project, "hers", created_by=alice)
    his = make_campaign(project, "his", created_by=bob, stop_reason="All failed.", **just_now())
    assert names(api, "campaigns/?by=bob") == ["his"]
    assert names(api, "campaigns/?needs_a_look=true") == ["his"]
    look_at_campaigns(by=as_bob, campaigns=[his])
    assert names(api, "campaigns/?needs_a_look=true") == []
    assert api.get(f"/api/v1/campaigns/{his.pk}/").json()["looked_by"] == "bob"
    assert api.post(f"/api/v1/campaigns/{his.pk}/looked/").json()["looked_by"] == "alice"


def test_an_owner_reads_what_the_project_uses_as_it_is_counted(api, project, run):
    make_plan(project)
    host(slots=12)
    project.caps = {"CAMPAIGNS": 0, "LOAD_HOURS": 2, "SLOT_PERCENT": 75}
    project.save()
    store_second(run, make_second(0, [1000]))
    measure_use(run)
    use = api.get(f"/api/v1/projects/{project.pk}/use/").json()
    caps = {each.pop("cap"): each for each in use["caps"]}
    assert (caps["LOAD_HOURS"]["most"], caps["LOAD_HOURS"]["unit"]) == (7200, "s")
    assert (caps["CAMPAIGNS"]["used"], caps["CAMPAIGNS"]["most"]) == (1, None)
    assert (caps["SLOT_PERCENT"]["most"], caps["SLOT_PERCENT"]["of"]) == (9, "75\u202f% of 12")
    assert use["stored"]["n_seconds"] == 1
    assert caps["STORED_GB"]["used"] == use["stored"]["seconds_bytes"] > 0
    (today,) = use["growth"]
    assert (today["n_runs"], today["stored_bytes"]) == (1, use["stored"]["seconds_bytes"])


def test_the_injector_hosts_have_their_slots(api):
    host(slots=4, name="inj-1")
    (row,) = api.get("/api/v1/injectors/").json()
    assert (row["name"], row["online"], row["slots"], row["busy"]) == ("inj-1", True, 4, 0)


def test_only_who_may_start_campaigns_is_told_names_of_programs(project, alice, vera):
    host(slots=4, use=others_use(0.9))
    (of_alice,) = client_of(alice).get("/api/v1/injectors/").json()
    (of_vera,) = client_of(vera).get("/api/v1/injectors/").json()
    assert of_alice["use"]["programs"] == [{"name": "python3 report.py", "share": 0.9}]
    assert (of_vera["use"]["programs"], of_vera["use"]["is_busy"]) == ([], True)
    assert "report.py" not in str(of_vera)


def test_what_uses_a_host_is_null_where_it_is_not_known(api):
    host(slots=4)
    (row,) = api.get("/api/v1/injectors/").json()
    assert row["use"] is None
