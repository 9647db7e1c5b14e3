"""What else uses an injector host, in words that blame what uses it."""

import pytest

from campaigns.domain.presentation.host_use import BusyProgram, HostUse, busiest

pytestmark = pytest.mark.pure
QUIET = HostUse("this machine's", others_share=0.5, steal_share=0.05, throttled_share=0.05)
REPORT = BusyProgram("python3 report.py", 0.45)


def said(**use) -> str:
    return HostUse("this machine's", **use).words().replace("\u202f", " ")


def test_one_program_that_uses_most_is_the_cause():
    assert said(others_share=0.53, programs=(REPORT, BusyProgram("sshd", 0.03))) == (
        "python3 report.py uses 45 % of this machine's CPU."
    )


def test_several_programs_are_named_with_their_shares():
    programs = (REPORT, BusyProgram("chromium", 0.31), BusyProgram("postgres", 0.12))
    assert said(others_share=0.91, programs=programs) == (
        "Other programs use 91 % of this machine's CPU: "
        "python3 report.py 45 %, chromium 31 %, postgres 12 %."
    )


def test_without_names_their_sum_is_told():
    use = HostUse("lab-2's", others_share=0.9, programs=(REPORT,)).without_names()
    assert use.words() == "Other programs use 90\u202f% of lab-2's CPU."
    assert "report.py" not in " ".join(use.facts())


def test_hypervisor_and_quota_are_blamed_for_what_they_take():
    assert said(steal_share=0.12) == (
        "The hypervisor gives 12 % of this machine's CPU to other machines."
    )
    assert said(throttled_share=0.3, steal_share=0.12) == (
        "Injectors use up this machine's CPU quota 30 % of the time."
    )


def test_the_busiest_host_is_told_and_a_quiet_one_never():
    one = HostUse("a's", others_share=0.6)
    other = HostUse("b's", others_share=0.9)
    assert busiest([QUIET, one, other]) is other
    assert busiest([QUIET]) is None


def test_an_announcement_is_read_with_shares_of_the_machine():
    use = HostUse.of(
        "a's",
        {
            "cores": 2,
            "load_1min": 5.25,
            "others_share": 0.93,
            "steal_share": 0.01,
            "throttled_share": 0.0,
            "programs": [{"name": "python3 report.py", "cores": 0.9}],
        },
    )
    assert use.programs == (REPORT,)
    assert [each.replace("\u202f", " ") for each in use.facts()] == [
        "load average 5.25",
        "steal 1 %",
        "other programs 93 % of the CPU (python3 report.py 45 %)",
    ]
