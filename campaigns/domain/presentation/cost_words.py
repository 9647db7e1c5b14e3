"""What a campaign will cost, in words: its estimate's facts and what the sums leave out."""

from collections.abc import Mapping

from campaigns.domain.percentiles import HighestPercentile
from campaigns.domain.plan.estimates import Estimate
from campaigns.domain.units import DASH, count, counted, duration

DEPENDS = "depends on the target"


def cost_facts(estimate: Estimate) -> list[tuple[str, str]]:
    """[(name, words)] of what is known before the start."""
    n_tests, nouns = estimate.n_tests, estimate.nouns
    if not n_tests:
        return []
    tests = [f"{n_tests}, side by side" if estimate.settled_s is not None else f"{n_tests}"]
    if estimate.repeats > 1:
        tests.append(f"{estimate.repeats} times each")
    if estimate.has_reference:
        tests.append("with a control run")
    fewest, most = estimate.fewest_in_a_run, estimate.most_in_a_run
    if most is None:
        in_a_run = DEPENDS if estimate.n_runs else DASH
    else:
        in_a_run = count(most) if fewest == most else f"{count(fewest)} to {count(most)}"
    return [
        ("Tests", ", ".join(tests)),
        (nouns.capitalize(), requests_words(estimate)),
        *([(f"{nouns.capitalize()} in a run", in_a_run)] if n_tests > 1 else []),
        ("Highest percentile", _percentile(estimate.highest_pooled, nouns)),
    ]


def duration_words(estimate: Estimate) -> str:
    if estimate.settled_s is not None and estimate.settled_s < estimate.duration_s:
        most = duration(estimate.duration_s)
        return f"about {duration(estimate.settled_s)} on a quiet machine, at most {most}"
    return _sum(estimate, duration(estimate.duration_s), estimate.runs_of_unknown_duration)


def requests_words(estimate: Estimate) -> str:
    return _sum(estimate, count(estimate.requests), estimate.runs_of_unknown_requests)


def _sum(estimate: Estimate, words: str, n_unknown: int) -> str:
    """A sum that leaves out what only the target decides."""
    if n_unknown == estimate.n_runs:
        return DEPENDS
    return f"more than {words}" if n_unknown else words


def cost_notes(estimate: Estimate) -> list[str]:
    """A sentence for each sum that only the target decides, and one for what comes on top."""
    notes = []
    if n_runs := estimate.runs_of_unknown_duration:
        notes.append(
            f"Plus {counted(n_runs, 'runs')} that {_end(n_runs)} after a number of "
            f"{estimate.nouns}. How long that takes depends on the target."
        )
    if n_runs := estimate.runs_of_unknown_requests:
        notes.append(
            f"Plus the {estimate.nouns} of {counted(n_runs, 'runs')} that {_end(n_runs)} after "
            "a time."
        )
    if estimate.sessions:
        notes.append(f"Sessions by flow: about {sessions_words(estimate.sessions)}.")
    if n_runs := estimate.n_alone:
        notes.append(
            f"Includes {counted(n_runs, 'runs')} of single arms. They tell what each arm costs the "
            "watched machine."
        )
    return notes


def sessions_words(sessions: Mapping[str, int]) -> str:
    """900 browse, 100 buy"""
    return ", ".join(f"{count(n)} {flow}" for flow, n in sessions.items())


def _end(n_runs: int) -> str:
    return "ends" if n_runs == 1 else "end"


def _percentile(highest: HighestPercentile | None, nouns: str) -> str:
    """p99.9 (12 beyond it), or why there is none."""
    if highest is None:
        return DASH
    if not highest.label:
        return f"none: {counted(highest.n, nouns)} {'is' if highest.n == 1 else 'are'} too few"
    return f"{highest.label} ({highest.beyond:,} beyond it)"
