from dataclasses import replace

from campaigns.domain.analysis.pair import PairResult, Reason
from campaigns.domain.analysis.ratio import Word, ratio_interval
from campaigns.domain.presentation.sentences import (
    ArmTime,
    Pair,
    overhead_sentence,
    plain_text,
    times_sentence,
)

NARROW = "\u202f"


def pair(http: float, https: float, word=Word.SLOWER, mode="new", plan="", **options) -> Pair:
    noise = options.pop("noise", 0.01)
    around = [1 - noise, 1, 1 / (1 - noise)]
    interval = ratio_interval([http] * 3, [https * each for each in around], paired=True)
    row = PairResult("mean", http, https, interval, word=word, text=options.pop("text", ""))
    return Pair(plan, mode, row, options.pop("has_word", True))


def words(*pairs: Pair, is_final: bool = True, is_crowded: bool = False) -> str:
    html = overhead_sentence(pairs, is_final=is_final, is_crowded=is_crowded)
    return plain_text(html).replace(NARROW, " ")


def test_pairs_of_one_kind_share_a_sentence_with_the_ends_of_each():
    fresh, same = pair(1_060, 4_130), pair(600, 606, Word.SAME, "keep-alive")
    assert words(fresh) == "HTTPS is 3.9 × slower on new connections (3.8 to 4.0 ×)."
    assert words(fresh, pair(10_000, 15_400, mode="resumed"), same) == (
        "HTTPS is 3.9 × slower on new connections (3.8 to 4.0 ×), 54 % slower with resumed TLS "
        "sessions (50 to 58 %) and makes no practical difference with keep-alive (−2 to +4 %)."
    )


def test_others_than_http_are_named_with_their_plans():
    pairs = [replace(pair(1_000, 1_800, plan=plan), names=("A", "B")) for plan in ("list", "index")]
    assert words(*pairs).startswith("B is 80 % slower than A on new connections for list (75 to ")
    assert " and 80 % slower on new connections for index (" in words(*pairs)


def test_what_is_open_is_bounded_and_says_what_would_settle_it():
    for word, bounds in [
        (Word.OPEN, "is too close to call on new connections (97 % faster to 144 × slower)."),
        (Word.NOT_SLOWER, "is not slower on new connections (at most 97 % faster"),
    ]:
        text = words(
            pair(10_000, 20_000, word, noise=0.8, text="About 9 more blocks would settle it.")
        )
        assert bounds in text
        assert text.endswith("About 9 more blocks would settle it.")


def test_a_hidden_part_makes_the_lower_end_a_least_one_unless_others_used_the_cpu():
    whole = pair(10_000, 15_000)
    least = replace(whole, row=replace(whole.row, or_more=True))
    assert words(least).startswith("HTTPS is at least 46 % slower on new connections (best ")
    assert words(least, is_crowded=True).startswith("On this busy machine HTTPS is 50 % slower")


def test_before_the_third_repeat_there_is_no_word_and_the_sentence_says_so():
    text = words(pair(10_000, 20_000, None, has_word=False), is_final=False)
    assert text.startswith("So far HTTPS is about 2.0 × slower on new connections. Verdicts need")


def test_equal_times_without_a_word_are_neither_slower_nor_faster():
    even = pair(10_000, 10_003, None, has_word=False)
    assert words(even).startswith("HTTPS is about as fast on new connections.")
    servers = replace(even, names=("A", "B"))
    assert words(servers).startswith("B is about as fast as A on new connections.")


def test_a_pair_without_a_figure_says_why_or_when_there_will_be_one():
    row = PairResult("mean").without_word(Reason.NO_ROUNDS, "Three rounds are too few.")
    missing, other = (Pair("", mode, row, False) for mode in ("resumed", "new"))
    assert words(missing) == "Three rounds are too few."
    assert words(pair(1_060, 4_130), missing).endswith(
        "(3.8 to 4.0 ×). With resumed TLS sessions: Three rounds are too few."
    )
    assert words(missing, other) == "Three rounds are too few."
    assert words(pair(600, 606, Word.SAME, "keep-alive"), missing, other).endswith(
        " With resumed TLS sessions and on new connections: Three rounds are too few."
    )
    so_far = plain_text(overhead_sentence([missing], is_final=False))
    assert so_far == "Comparisons appear after the first runs."


def test_tests_without_a_verdict_are_told_one_by_one_and_never_as_a_range_over_unlike_plans():
    times = [
        ArmTime("list", "server A", 1330, "1.33 ms on average"),
        ArmTime("detail", "server B", 8560, "8.56 ms on average"),
        ArmTime("detail", "server A", 1490, "1.49 ms on average"),
    ]
    assert plain_text(times_sentence(times, is_final=False)) == (
        "So far list takes 1.33 ms on average (server A). detail takes 1.49 ms on average "
        "(server A), 8.56 ms on average (server B)."
    )
    many = plain_text(times_sentence(times * 2, is_final=True))
    assert many.startswith("list takes")
    assert many.endswith("; 2 more tests.")
