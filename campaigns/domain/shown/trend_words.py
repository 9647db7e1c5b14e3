"""Whether response times rose or fell for good, in a sentence under their chart."""

from campaigns.domain.judged.steady import Steadiness
from campaigns.domain.units import percent, second_text


def trend_words(found: Steadiness | None, left: int, steady: int, *, is_over: bool) -> str:
    """ "" where the seconds do not say. `steady`: the second in which the last level begins;
    `left`: the one in which it was left, where it had been there before."""
    if found is None:
        return ""
    if not found.steady_from:
        # A short stretch in between, or several, may not have been told from noise.
        return f"No lasting change of response times {'was found' if is_over else 'so far'}."
    if found.left_at:
        more = "higher" if found.ratio > 1 else "lower"
        between = f"from {second_text(left)} to {second_text(steady)}"
        size = percent(abs(found.ratio - 1))
        return f"Response times changed and came back: {between} the p50 was {size} {more}."
    change = 1 / found.ratio - 1
    rose = change > 0
    verb = ("rose" if rose else "fell") if is_over else ("are rising" if rose else "are falling")
    more = "higher" if rose else "lower"
    since = second_text(steady)
    return f"Response times {verb}: from {since} on the p50 is {percent(abs(change))} {more}."
