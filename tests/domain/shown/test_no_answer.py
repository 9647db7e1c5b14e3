"""What is said of measurements that are not usable: the cause, and no figure."""

from campaigns.domain.judged import trust
from campaigns.domain.judged.criteria import Observed
from campaigns.domain.judged.judgement import judge
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.shown.no_answer import CAUSES, no_answer_words


def judged(code: str, value: float):
    return judge({code: Observed(value)}, Timing.of([10_000] * 2000))


def test_every_reason_has_its_words():
    assert CAUSES.keys() >= (trust.CODES | trust.UNSENT)


def test_the_words_of_a_cause_have_no_figure():
    assert not [words for words in CAUSES.values() if any(map(str.isdigit, words))]


def test_the_most_frequent_cause_is_named_with_its_runs():
    several = [judged("cpu", 0.9), judged("no_seconds", 1), judged("cpu", 0.95)]
    assert no_answer_words(several, 15) == "No answer: the injector had no CPU in 2 of 15 runs"


def test_the_only_run_is_not_counted():
    assert no_answer_words([judged("steal", 0.5)], 1) == (
        "No answer: the hypervisor gave the injector's CPU to other machines"
    )


def test_what_is_still_to_come_may_be_an_answer():
    said = no_answer_words([judged("cpu", 0.9)], 2, so_far=True)
    assert said == "No answer so far: the injector had no CPU in 1 of 2 runs"
