"""Profiles of a target's machine: as an agent tells them, of several runs together, and apart."""

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.profiles import (
    PerfOf,
    Profile,
    ProfiledFunction,
    perf_scope,
    read_profile,
)
from campaigns.domain.presentation.perf_table import compared_profiles_table, profile_table

TOLD = {
    "of": "processes",
    "lasted_s": 58.0,
    "samples": 200,
    "functions": [
        [120, "nginx", "libcrypto.so.3", "aes_gcm_enc"],
        [30, "nginx", "[kernel.kallsyms]", "tcp_sendmsg"],
    ],
}


def profile_of(samples=100, **counts) -> Profile:
    functions = tuple(ProfiledFunction(n, "nginx", "nginx", name) for name, n in counts.items())
    return Profile(PerfOf.PROCESSES, 0, 10, samples, functions)


def test_what_is_stored_is_what_the_agent_told():
    profile = read_profile(TOLD, 1058.0)
    assert Profile.from_json(profile.to_json()) == profile
    assert (profile.began_s, profile.lasted_s, profile.samples) == (1000, 58, 200)
    assert profile.functions[0] == ProfiledFunction(120, "nginx", "libcrypto.so.3", "aes_gcm_enc")


def test_a_profile_beyond_its_bounds_is_refused():
    for changed in [
        {"of": "everything"},
        {"of": ""},
        {"functions": [[1, "a", "b"]]},
        {"samples": 100},
        {"functions": [[1, "a", "b", "c"]] * 31},
        {"functions": [[1, "a", "b", "c" * 201]]},
        {"functions": [[-1, "a", "b", "c"]]},
        {"functions": {}},
        {"lasted_s": -1},
        {"fault": 7},
    ]:
        with pytest.raises(InvalidFields):
            read_profile(TOLD | changed, 1058.0)


def test_a_run_s_table_has_shares_of_all_samples():
    profile = read_profile(TOLD, 1058.0)
    table = profile_table("shop-1", profile, 60)
    assert [row.label for row in table.rows] == ["aes_gcm_enc", "tcp_sendmsg"]
    assert [row.cells[0].value for row in table.rows] == [60.0, 15.0]


def test_a_comparison_without_one_side_s_profile_says_why():
    fault = Profile(PerfOf.PROCESSES, 0, 0, fault="perf is not installed on this machine.")
    table = compared_profiles_table([profile_of(a=1)], [fault], ("old", "new"), "b")
    assert table.rows == ()
    assert "new" in table.note
    assert fault.fault in table.note
    assert compared_profiles_table([], [], ("old", "new"), "b") is None


def test_a_profile_is_of_what_is_counted_else_of_the_watched_processes():
    for perf, is_profiled, scope in [
        ("", False, ""),
        ("", True, "processes"),
        ("machine", True, "machine"),
    ]:
        assert perf_scope(perf, is_profiled=is_profiled) == scope
