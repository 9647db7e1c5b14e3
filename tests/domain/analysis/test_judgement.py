import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from campaigns.domain.analysis.criteria import CRITERIA, TARGET_MACHINE, Aspect, Limits
from campaigns.domain.analysis.judgement import LIMITS, Judgement, LimitsByCode, Observation, judge
from campaigns.domain.analysis.messages import MESSAGES
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.presentation.intervals import difference_words
from campaigns.domain.presentation.what_to_do import REMEDIES, STATUS_REMEDIES, words_of

TRUSTED, BUSY, NO_ANSWER = Trust
FATAL = {"no_seconds", "lost_shards", "injector_exhausted", "injector_failed"}
FATAL |= {"little", "missing_seconds", "in_doubt"}
HEALTHY, CHANGING, OVERLOADED, FAILING = TargetState


def judgement_of(us: int = 10_000, n: int = 5000, limits=LIMITS, **values) -> Judgement:
    """The judgement of these values by code, and of n response times of `us`."""
    observations = {
        code: each if isinstance(each, Observation) else Observation(each)
        for code, each in values.items()
    }
    return judge(observations, Timing.of(np.full(n, us)), limits)


def codes(finding) -> list[str]:
    return [reason.code for reason in finding.reasons]


def test_nothing_to_complain_about_is_trusted_healthy_and_fine():
    judgement = judgement_of(cpu=0.3, errors=0.0, late=100)
    assert (judgement.measurement.state, judgement.target.state) == (TRUSTED, HEALTHY)
    assert judgement.precision.state is Precision.FINE
    assert not judgement.measurement.reasons + judgement.target.reasons + judgement.notes


# Every code of the injectors, with a value that is fine, one that is a note, one that decides.
MEASUREMENT = {
    "no_seconds": (0, None, 1),
    "lost_shards": (0, None, 1),
    "own_time": (400, 401, 10_001),
    "own_time_p99": (3_000, 3_001, 10_001),
    "late": (3_000, 3_001, 10_001),
    "stall": (100_000, 100_001, None),
    "cpu": (0.60, 0.61, 0.86),
    "throttled": (0.01, 0.02, 0.26),
    "steal": (0.05, 0.051, 0.11),
    "open_files": (0.70, 0.71, None),
    "ports": (0.70, 0.71, None),
    "swapped": (0, 1, None),
    "clock_step": (50_000, 50_001, None),
    "starts_apart": (100_000, 100_001, None),
    "link": (0.80, 0.81, None),
    "packets_lost": (0.01, 0.011, None),
    "injector_exhausted": (0, None, 1),
    "injector_failed": (0, None, 1),
    "little": (0.05, 0.06, 0.21),
    "missing_seconds": (0.0, 0.005, 0.011),
    "in_doubt": (0.0, 0.001, 0.011),
}
# Every code of the target, with a value that is fine, one that is not, and its state then.
TARGET = {
    "no_success": (0, 1, FAILING),
    "errors": (0.01, 0.011, FAILING),
    "errors_at_limit": (0.01, 0.011, OVERLOADED),
    "extract_missed": (0, 1, FAILING),
    "only_redirects": (0.0, 1.0, HEALTHY),
    "sent_share": (0.999, 0.9989, OVERLOADED),
    "dropped": (0.001, 0.002, OVERLOADED),
    "slot_wait": (0.001, 0.002, OVERLOADED),
    "in_flight_growing": (0.02, 0.03, OVERLOADED),
    "resent": (0.01, 0.011, OVERLOADED),
    "target_cpu": (4, 5, OVERLOADED),
    "target_link": (4, 5, OVERLOADED),
    "listen_overflows": (0.001, 0.0011, OVERLOADED),
    "slowing_down": (0.0, 0.8, CHANGING),
    "warming_up": (0.0, 0.9, CHANGING),
    "longer_for_a_while": (0.0, 0.3, CHANGING),
    "shorter_for_a_while": (0.0, 0.3, CHANGING),
    "body_changed": (0.01, 0.011, CHANGING),
}


def test_every_criterion_is_tried():
    by_question = {
        question: {code for code, row in CRITERIA.items() if row.aspect == question}
        for question in Aspect
    }
    assert by_question[Aspect.MEASUREMENT] == set(MEASUREMENT)
    assert by_question[Aspect.TARGET] == {*TARGET, "target_saturated"}


def test_a_fault_of_an_injector_costs_the_figures_that_it_spoils():
    """A busy machine spoils mean and tail, and leaves the median without its part."""
    for code in MEASUREMENT:
        fine, mild, severe = MEASUREMENT[code]
        assert not judgement_of(**{code: fine}).measurement.reasons
        for value, state in ((mild, TRUSTED), (severe, NO_ANSWER if code in FATAL else BUSY)):
            if value is not None:
                judgement = judgement_of(**{code: value})
                assert (judgement.measurement.state, codes(judgement.measurement)) == (
                    state,
                    [code],
                )
                assert judgement.is_busy is (code not in FATAL)


def test_each_fault_of_the_target_is_a_result_of_a_trusted_measurement():
    for code in TARGET:
        fine, bad, state = TARGET[code]
        assert judgement_of(**{code: fine}).target.state is HEALTHY
        judgement = judgement_of(**{code: bad})
        assert (judgement.target.state, codes(judgement.target)) == (state, [code])
        assert judgement.measurement.state is TRUSTED


def test_a_target_on_the_injectors_machine_is_a_note():
    judgement = judgement_of(co_located=1.0)
    assert (judgement.measurement.state, judgement.target.state) == (TRUSTED, HEALTHY)
    assert [note.code for note in judgement.notes] == ["co_located"]


def test_of_several_states_failing_goes_before_overloaded_and_overloaded_before_changing():
    judgement = judgement_of(warming_up=0.3, slot_wait=0.5, errors=0.5)
    assert codes(judgement.target) == ["errors", "slot_wait", "warming_up"]
    assert judgement_of(warming_up=0.3, slot_wait=0.5).target.state is OVERLOADED


def test_unsent_requests_are_the_injectors_while_it_is_in_doubt():
    for code in ["sent_share", "dropped", "slot_wait"]:
        judgement = judgement_of(cpu=0.7, **{code: 0.5})
        assert set(codes(judgement.measurement)) == {"cpu", code}
        assert judgement.target.state is None


def test_what_was_answered_is_told_even_of_a_starved_injector():
    judgement = judgement_of(cpu=0.9, only_redirects=1.0, errors=0.5)
    assert (judgement.target.state, codes(judgement.target)) == (
        FAILING,
        ["errors", "only_redirects"],
    )
    assert judgement_of(cpu=0.9).target.state is HEALTHY


def test_overload_is_not_claimed_where_the_machine_may_be_the_cause():
    judgement = judgement_of(cpu=0.9, in_flight_growing=0.5)
    assert (judgement.target.state, codes(judgement.target)) == (None, ["not_known"])
    assert judgement_of(cpu=0.9, in_flight_growing=0.5, errors=0.5).target.state is FAILING


def test_dropped_requests_beyond_the_second_limit_saturate_the_target():
    assert not judgement_of(dropped=0.01).is_saturated
    judgement = judgement_of(dropped=0.05, late=100)
    assert judgement.is_saturated
    assert codes(judgement.target) == ["target_saturated"]


def test_dropped_requests_of_a_late_injector_are_not_held_against_the_target():
    judgement = judgement_of(dropped=0.05, late=3_500)
    assert judgement.measurement.state is BUSY
    assert not judgement.is_saturated


def test_few_requests_cost_precision_and_no_trust():
    for n, precision in [(0, "none"), (1, "coarse"), (999, "coarse"), (1000, "fine")]:
        judgement = judgement_of(n=n)
        assert judgement.precision.state == precision
        assert judgement.measurement.state is TRUSTED


def test_without_any_request_nothing_is_said_about_the_target():
    judgement = judgement_of(n=0, no_requests=1)
    assert (judgement.measurement.state, judgement.target.state) == (TRUSTED, None)
    assert judgement.precision.state is Precision.NONE


def test_lateness_counts_against_the_run_s_own_percentile():
    late = [Observation(us, measure="p99", whole=100_000) for us in (9_900, 10_200, 25_200)]
    findings = [judgement_of(100_000, late=each).measurement for each in late]
    assert [each.state for each in findings] == [TRUSTED, TRUSTED, BUSY]
    assert [len(each.reasons) for each in findings] == [0, 1, 1]


def test_lateness_without_an_effect_on_the_p99_is_no_doubt():
    harmless = Observation(900, measure="p99", whole=2_000)
    assert not judgement_of(late=12_500, own_time_p99=harmless).measurement.reasons
    only_typical = Observation(100, measure="p50", whole=2_000)
    assert codes(judgement_of(late=12_500, own_time=only_typical).measurement) == ["late"]


def test_what_the_injector_added_counts_against_what_the_times_are_without_it():
    for own_us, p99_us, answer in [
        (2_999, 1_000, (TRUSTED, 0)),  # what any client may have on a machine of virtual cores
        (3_001, 1_000, (TRUSTED, 1)),
        (4_900, 100_000, (TRUSTED, 0)),
        (5_100, 100_000, (TRUSTED, 1)),
        (24_900, 100_000, (TRUSTED, 1)),
        (25_100, 100_000, (BUSY, 1)),
    ]:
        own = Observation(own_us, measure="p99", whole=p99_us)
        judgement = judgement_of(us=p99_us + own_us, own_time_p99=own).measurement
        assert (judgement.state, len(judgement.reasons)) == answer


def test_a_handshake_is_one_more_wait_that_any_client_has():
    for waits, n_notes in [(1, 1), (2, 0)]:
        own = Observation(600, measure="p50", whole=3_000, waits=waits)
        assert len(judgement_of(us=3_600, own_time=own).measurement.reasons) == n_notes


def test_a_reason_has_value_limit_and_worst_second():
    (reason,) = judgement_of(cpu=Observation(0.9, second=12, injector=2)).measurement.reasons
    assert reason.state == BUSY
    assert (reason.value, reason.limit, reason.second) == (0.9, 0.85, 12)


def test_a_value_reads_neither_as_its_limit_nor_as_none_or_all_of_it():
    for code, value, words in [
        ("sent_share", 0.9986, "Only 99.86 % of the planned requests were sent (limit 99.9 %)"),
        ("stall", 100_200, "stalled for 100.2 ms (limit 100 ms)"),
        ("missing_seconds", 1 / 36_000, "0.003 % of the seconds are missing."),
        ("errors", 0.99997, "99.997 % of the requests failed"),
    ]:
        reasons = [each for each in judgement_of(**{code: value}).reasons if each.code == code]
        assert words in reasons[0].text.replace("\u202f", " ")


def test_the_worst_reason_comes_first():
    assert codes(judgement_of(steal=0.06, cpu=0.9).measurement) == ["cpu", "steal"]


def test_settings_may_move_a_limit_but_not_invent_one():
    limits = LimitsByCode.with_overrides({"co_located": (None, None), "cpu": (0.9, 0.99)})
    assert limits["cpu"] == Limits(0.9, 0.99)
    judgement = judgement_of(limits=limits, co_located=1.0, cpu=0.8)
    assert (judgement.measurement.state, judgement.notes) == (TRUSTED, ())
    with pytest.raises(KeyError, match="unknown codes: mood"):
        LimitsByCode.with_overrides({"mood": (1, 2)})


class TestWithoutTheMachine:
    """For those who may not know what the target's machine did."""

    FULL = Observation(20, measure=" from 0:42 on")

    def test_the_answer_stays_and_its_reason_is_that_nothing_is_shown(self):
        for code in TARGET_MACHINE:
            judgement = judgement_of(**{code: self.FULL}).without_machine().target
            assert judgement.state is OVERLOADED
            assert codes(judgement) == ["machine_untold"]

    def test_another_reason_for_the_same_answer_is_enough(self):
        judgement = judgement_of(target_cpu=self.FULL, in_flight_growing=0.5).without_machine()
        assert codes(judgement.target) == ["in_flight_growing"]

    def test_what_is_left_of_a_worse_answer_is_its_own_reason(self):
        judgement = judgement_of(target_cpu=self.FULL, errors=0.5).without_machine()
        assert (judgement.target.state, codes(judgement.target)) == (FAILING, ["errors"])

    def test_a_judgement_without_the_machine_is_the_same(self):
        for judgement in (judgement_of(errors=0.5), judgement_of(cpu=0.9), judgement_of()):
            assert judgement.without_machine() == judgement


# Every message with example values. After a change of words: BENCHSITE_WRITE_SNAPSHOTS=1 make
# test-fast, and read the difference.
SNAPSHOT = Path(__file__).with_name("messages.txt")
_VALUES = {"s": 20.0, "us": 140_000.0, "": 0.9, "requests": 3.0, "pages": 120.0}
_MEASURES = {
    "no_success": "connection refused",
    "errors": "status 503",
    "errors_at_limit": "status 503",
    "target_cpu": " from 0:42 on",
    "target_link": " for 20 s from 0:10",
    "listen_overflows": " 3 times, first at 0:07",
    "longer_for_a_while": "from second 12 on",
    "shorter_for_a_while": "from second 12 on",
}


_EXAMPLES = {
    "have": "; 2 can be used", "needed": 16, "n": 9, "first": "nginx", "second": "apache",
    "share": "12 % and 0 %", "where": "", "names": "certificate", "metric": "p99", "low": "2.1",
    "high": "8.0 ms", "at": " at 200/s", "who": "apache", "do": "does", "sent": 100, "asked": 200,
    "more": "5 more blocks", "time": "22 s", "times": 3, "why": "1,000 and 2,000 requests a run.",
}  # fmt: skip
_OF_SEARCHES = {
    "rate": "1,850 requests/s", "low": "1,790", "high": "1,910", "searches": "5 searches",
    "objective": "p95 below 300 ms", "change": " by −12 %", "cpu": "; its CPU was at 42 %",
    "between": "the first search to the last", "share": "94 %", "capacity": "1,850 requests/s",
    "against": ": takes more, +12 % against the one before", "rates": "1,850 against 1,650",
    "more": "12 % more", "interval": "95 % interval +9 to +15 %", "word": "Too close to call",
    "where": "New connection", "costs": "costs the server", "first": "HTTPS", "second": "HTTP",
    "why": "the searches drifted.", "names": "campaign #3",
    "ours": "at least 2,000", "theirs": "998 (972 to 1,024)", "has": "has",
    "sure": " (95 % interval −2 to +4 %)",
}  # fmt: skip
_OF_SHAPES = {
    "place": "On a new connection", "rung": "TLS 1.3", "change": "+54 %", "verb": "is",
    "difference": "54 % slower", "than": "than HTTP ", "against": " against HTTP/2",
    "ends": "52 to 56 %", "adds": "adds",
    "share": "4.2 %", "makes": "makes", "word": "not slower", "bounds": "at most 4 % slower",
    "settle": " About 40 s more would settle it.",
    "why": "the server chose TLS 1.2.", "chosen": "TLS 1.2", "arm": "nginx", "at": "with 1 user",
    "first": "900 requests/s", "last": "200 with 16", "rates": "at 500 requests/s",
    "value": "8 users", "rate": "390 requests/s", "more": ", 3.9 times as much as with 2 users",
    "reference": "apache", "n": 3, "values": "4 values", "gap": ", by 0.4 to 0.5 ms",
    "arms": "nginx",
    "sweeps": "2 more sweeps", "order": "nginx is faster than apache", "plans": "L1 and L2",
    "such_as": ": nginx against apache, 3 % faster to 2 % slower", "low": "1 user", "high": "16",
}  # fmt: skip
_OF_HISTORIES = {
    "found": "was found", "between": "from second 10 to second 20", "size": "12 %",
    "higher": "higher", "rose": "rose", "since": "14 Nov 2026", "why": "the server was failing",
    "state": "overloaded", "value": "29.1 ms", "n": 3, "campaigns": "#5 and #6",
    "n_campaigns": "12 campaigns", "level": ": p95 26.0 ms", "word": "Slower",
    "direction": "slower", "levels": "29.1 instead of 26.0 ms",
    "environment": "", "beside": "; at the same time: version 4 of the plan",
    "cause": "version 4 of the plan", "span": "25.1 to 27.0 ms",
    "changed": "2 slower", "tests": "7 tests", "others": "; 4 unchanged", "range": "+9 to +12 %",
    "target": "nginx",
}  # fmt: skip
# From which message on they are the examples.
_FROM = {"capacity": _OF_SEARCHES, "rung_about": _OF_SHAPES, "no_trend": _OF_HISTORIES}
# (ratio, low, high)
_ANSWERS = {
    Word.SLOWER: (1.24, 1.19, 1.29),
    Word.FASTER: (0.80, 0.76, 0.85),
    Word.SAME: (1.01, 0.98, 1.04),
    Word.NOT_SLOWER: (0.97, 0.91, 1.04),
    Word.NOT_FASTER: (1.03, 0.97, 1.12),
    Word.OPEN: (1.01, 0.90, 1.12),
}


def _judged_by(code: str) -> Judgement:
    value = _VALUES.get(CRITERIA[code].unit, 2.0)
    observation = Observation(value, 12, 2, _MEASURES.get(code, "p99"), 20_000)
    return judge({code: observation}, Timing.of([20_000] * 500))


def test_a_judgement_is_stored_without_words_and_read_as_it_was():
    for code in CRITERIA:
        for nouns in ["requests", "connections"]:
            judgement = _judged_by(code).said_of(nouns)
            row = json.loads(json.dumps(judgement.to_row()))
            assert Judgement.from_row(row) == judgement
            findings = (
                row["measurement"],
                row["target"],
                row["precision"],
                {"reasons": row["notes"]},
            )
            assert {each["text"] for finding in findings for each in finding["reasons"]} == {""}


def test_a_judgement_of_release_0_2_0_keeps_its_words():
    old = judgement_of(cpu=Observation(0.9, 3)).to_json()
    old["measurement"]["reasons"][0]["text"] = "The injector was at its limit."
    assert Judgement.from_row(old).measurement.text == "The injector was at its limit."


def _messages() -> Iterator[str]:
    for code, row in CRITERIA.items():
        judgement = _judged_by(code)
        yield f"# {code}"
        for reason in judgement.reasons:
            if (reason.code == "too_few_requests") == (code == "too_few_requests"):
                yield f"{reason.state or 'note'}: {reason.text}"
        yield from (
            f"{name}: {text}" for name in ("cause", "remedy") if (text := getattr(row, name))
        )
    examples = _EXAMPLES
    for code, message in MESSAGES.items():
        examples = _FROM.get(code, examples)
        yield f"# {code}"
        yield message.sentence.format(**examples)
        yield from (
            f"{name}: {text}" for name in ("remedy", "title") if (text := getattr(message, name))
        )
    for word, ends in _ANSWERS.items():
        words, bounds = difference_words(word, *ends)
        least, best = difference_words(word, *ends, at_least=True)
        yield f"# {word}"
        yield from dict.fromkeys([f"{words} ({bounds})", f"{least} ({best})"])
    for kind in Kind:
        yield f"# {kind}"
        yield f"{words_of(kind)}: {REMEDIES.get(kind, '')}"
    for status, text in STATUS_REMEDIES.items():
        yield f"# status {status}"
        yield text


def test_every_message_is_as_it_was_read():
    text = "\n".join(_messages()).replace("\u202f", " ") + "\n"
    if os.environ.get("BENCHSITE_WRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()
