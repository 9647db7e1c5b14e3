"""Whether response times rose or fell for good, in a sentence under their chart."""

from campaigns.domain.judged.steady import Steadiness
from campaigns.domain.units import percent, second_text


def trend_words(found: Steadiness | None, steady_second: int | None, *, is_over: bool) -> str:
    """ "" where the seconds do not say. `steady_second`: where the last level begins."""
    if found is None:
        return ""
    if not found.steady_from:
        # They may have been longer in between, and back before the end.
        return f"No lasting change of response times {'was found' if is_over else 'so far'}."
    change = 1 / found.ratio - 1
    rose = change > 0
    verb = ("rose" if rose else "fell") if is_over else ("are rising" if rose else "are falling")
    more = "higher" if rose else "lower"
    since = second_text(steady_second)
    return f"Response times {verb}: from {since} on the p50 is {percent(abs(change))} {more}."
