import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.machine import AgentReport, busy_s, watched_s


def report(**fields) -> dict:
    return {"host": "shop-1", "seconds": [{"at_s": 1e9, "did": {"user_s": 0.5}}], **fields}


def faults(**fields) -> dict[str, str]:
    with pytest.raises(InvalidFields) as refused:
        AgentReport.from_json(report(**fields))
    return refused.value.errors


def test_a_report_is_read_with_what_is_known_of_it():
    did = {
        "user_s": 0.5,
        "running": 3,
        "cores": [10, 90.4],
        "processes": {"nginx": {"cpu_s": 0.4, "colour": 7}},
        "of_a_later_release": {"anything": True},
    }
    read = AgentReport.from_json(report(watched=["nginx"], seconds=[{"at_s": 1e9, "did": did}]))
    (second,) = read.seconds
    assert (second.at_s, second.lasted_s) == (1e9, 1.0)
    assert second.did == {
        "user_s": 0.5,
        "running": 3,
        "cores": [10, 90],
        "processes": {"nginx": {"cpu_s": 0.4}},
    }
    assert (read.host, read.watched) == ("shop-1", ("nginx",))


def test_a_fault_is_named_by_its_place():
    for fields, path in [
        ({"host": " "}, "report.host"),
        ({"host": "\u200b"}, "report.host"),
        ({"host": "x" * 101}, "report.host"),
        ({"watched": ["n"] * 21}, "report.watched"),
        ({"watched": [""]}, "report.watched"),
        ({"seconds": "all"}, "report.seconds"),
        ({"seconds": [{"at_s": 1e9}] * 301}, "report.seconds"),
        ({"seconds": [7]}, "report.seconds.0"),
        ({"seconds": [{"did": {}}]}, "report.seconds.0.at_s"),
        ({"seconds": [{"at_s": 1e9, "lasted_s": 61}]}, "report.seconds.0.lasted_s"),
    ]:
        assert path in faults(**fields)


def test_a_figure_that_cannot_be_is_refused():
    for did in [
        {"user_s": -1},
        {"user_s": "0.5"},
        {"user_s": True},
        {"cores": [101]},
        {"cores": [0] * 1025},
        {"processes": {"x" * 101: {}}},
        {"processes": {"nginx": {"cpu_s": -0.1}}},
        {"processes": {"nginx": {"cpu_s": 1e6}}},
        {"processes": {f"n{n}": {} for n in range(21)}},
        {"user_s": 1e6},
        {"sent_bytes": 1e19},
        {"sent_bytes": float("inf")},
        {"running": [[[]]]},
    ]:
        (path,) = faults(seconds=[{"at_s": 1e9, "did": did}])
        assert path.startswith("report.seconds.0.did.")


def test_a_second_is_an_object_with_a_bounded_number_of_figures():
    for did in [[], 7, {str(n): 0 for n in range(201)}]:
        assert list(faults(seconds=[{"at_s": 1e9, "did": did}])) == ["report.seconds.0.did"]


def test_the_answer_to_a_broken_agent_names_the_first_fault_alone():
    bad = {"at_s": 1e9, "did": {"user_s": -1}}
    assert list(faults(seconds=[bad] * 300)) == ["report.seconds.0.did.user_s"]


def test_cpu_time_is_the_machines_own_work_and_that_of_the_chosen_processes():
    did = {"user_s": 0.5, "system_s": 0.25, "interrupts_s": 0.1, "idle_s": 1, "stolen_s": 1}
    assert busy_s(did) == pytest.approx(0.85)
    assert busy_s({"user_s": 0.5}) is None
    assert watched_s(did) is None
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"cpu_s": 0.25}}}) == 0.75
    assert watched_s({"processes": {"a": {"cpu_s": 0.5}, "b": {"memory_bytes": 1}}}) is None
