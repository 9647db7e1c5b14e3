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


def test_the_most_frequent_cause_is_named_with_its_runs():
    several = [judged("cpu", 0.9), judged("no_seconds", 1), judged("cpu", 0.95)]
    assert no_answer_words(several, 15) == "No answer: the injector had no CPU in 2 of 15 runs"
