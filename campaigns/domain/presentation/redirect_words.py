"""The redirects of a run in words."""

from campaigns.domain.metrics.snapshot import HOPS, Total


def hop_words(nth: int) -> str:
    """What the row of one request of those that were redirected is called."""
    return f"redirect {nth}" if nth else "as planned"


def redirects_words(total: Total) -> str:
    """How many there were, of all ok requests; "" for none."""
    followed = sum(total.timing(name).n for name in HOPS[1:])
    if not followed:
        return ""
    n_ok = total.timing("response").n
    redirected = total.timing(HOPS[0]).n
    return f"{followed / n_ok:.2f} redirects on average; {redirected:,} of {n_ok:,} ok had any."
