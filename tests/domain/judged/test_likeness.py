from types import SimpleNamespace

from campaigns.domain.judged.likeness import ArmRun, Likeness, likeness_among
from campaigns.domain.measured.snapshot import Total
from tests.values import make_second


def replies(n: int = 100, **counted: int) -> ArmRun:
    """A run of `n` replies with these counters."""
    total = Total()
    total.add(make_second(0, [1000] * n, counters=counted))
    figures = SimpleNamespace(attempts=n)
    return ArmRun(None, ("host 1",), SimpleNamespace(total=total, figures=figures))


def reply_of(*arms: ArmRun) -> Likeness:
    return next(each for each in likeness_among([[arm] for arm in arms]) if each.name == "reply")


def test_servers_that_word_their_heads_differently_give_the_same_reply():
    apache = replies(bytes_received=26_200, head_received=22_100)
    nginx = replies(bytes_received=27_900, head_received=23_100, framing_received=700)
    assert reply_of(apache, nginx) == Likeness("reply", ("41 B", "41 B"), True)


def test_another_body_is_another_reply():
    short = replies(bytes_received=26_200, head_received=22_100)
    long = replies(bytes_received=27_200, head_received=22_100)
    assert reply_of(short, long) == Likeness("reply", ("41 B", "51 B"), False)


def test_of_an_injector_that_does_not_tell_parts_all_bytes_count():
    assert reply_of(replies(bytes_received=26_200)).values == ("262 B",)
