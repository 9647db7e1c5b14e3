"""How a process that reads hundreds of summaries at once collects garbage."""

import gc


def collect_seldom() -> None:
    """Leave alone what has been loaded, and look less often: all values of a campaign's end are
    needed until it is done. Otherwise the collector looks through them many times meanwhile, a
    quarter of the time of 2,000 runs that are judged."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
