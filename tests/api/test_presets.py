"""The presets of the pages, ready to be posted as plans."""

from campaigns.domain.plan.presets import PRESETS


def test_every_preset_is_listed_with_its_question(api, project):
    rows = api.get("/api/v1/presets/").json()
    assert [row["key"] for row in rows] == list(PRESETS)
    assert all(row["question"] and row["group"] for row in rows)


def test_a_preset_becomes_a_plan(api, project):
    preset = next(row for row in api.get("/api/v1/presets/").json() if row["key"] == "load")
    plan = {"project": project.pk, "name": preset["name"], "spec": preset["spec"]}
    answer = api.post("/api/v1/plans/", plan, format="json")
    assert answer.status_code == 201
    assert answer.json()["latest"]["spec"]["load"] == preset["spec"]["load"]
