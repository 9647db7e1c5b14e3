"""What comparisons say beside their word: one row each, with all of its words. Why there is no word
or no interval, what limits an answer, and what would settle it.

What single runs say is in criteria.py, whose five rules hold here too.
"""

from dataclasses import dataclass
from typing import Any

from campaigns.domain.analysis.repeats import MIN_REPEATS

_IN_BETWEEN = "Whatever else changed in between is part of the difference."
_NOT_IN_TURN = "The two sides did not run in turn."


@dataclass(frozen=True, slots=True)
class Message:
    """`sentence` has the names of its values in braces."""

    sentence: str
    remedy: str = ""


MESSAGES = {
    # Why a comparison has no word: by comparison.Reason.
    "too_few_repeats": Message(
        f"A verdict needs {MIN_REPEATS} usable runs of each side{{have}}.",
        "Add blocks to the side that has fewer.",
    ),
    "no_rounds": Message("An answer takes {needed} rounds. This campaign has {n}."),
    "no_replies": Message("No two rounds had five replies of both {first} and {second}."),
    "errors": Message(
        "{share} of the requests{where} failed, so times are not compared.",
        "Find out first why requests fail.",
    ),
    "not_like_for_like": Message(
        "The two are not set up alike. They differ in: {names}.",
        "Measure both sides with the same settings.",
    ),
    "unlike_load": Message("{why}", "Measure both sides under the same load."),
    "order_confounded": Message(
        f"All runs of one came before those of the other. {_IN_BETWEEN} Repeat them in "
        "counterbalanced blocks.",
    ),
    # Why a figure has no interval.
    "no_runs": Message("One side has no usable runs yet."),
    "interval_of_runs": Message("An interval needs two usable runs of each side."),
    "interval_of_mean": Message("An interval needs two usable repeats."),
    "interval_of_repeats": Message(f"An interval needs {MIN_REPEATS} repeats."),
    "interval_of_blocks": Message(
        f"An interval needs {MIN_REPEATS} blocks in which both have usable runs{{where}}."
    ),
    "no_blocks": Message(
        "Not run in counterbalanced blocks, so the plans' differences have no joint interval."
    ),
    "one_request": Message(
        "The {metric} of all requests is a single request, so it has no interval."
    ),
    "at_a_jump": Message(
        "No interval: {metric} lies at a jump from {low} to {high}, and a run's is now on one "
        "side, now on the other."
    ),
    "few_of_flow": Message("The flow has too few requests for an interval."),
    # What limits an answer.
    "behind": Message("How much cannot be told{at}: {who} {do} not keep up here."),
    "lower_rate": Message("The rate was {rate}/s: {asked}/s were too much for this machine."),
    "load_matters": Message("Load matters: {first} when quieter, {second} when busier."),
    "changed_midway": Message("It changed midway: {first} at first, {second} later."),
    "too_varied": Message("Results varied too much between runs."),
    "not_in_turn": Message(
        f"{_NOT_IN_TURN} {_IN_BETWEEN}", "Confirm runs both sides in turn, in one campaign."
    ),
    "reference_speaks": Message(
        f"{_NOT_IN_TURN} The reference speaks for the target, but only Confirm compares like with "
        "like."
    ),
    "unless": Message("unless something else changed in between"),
    "searches_in_turn": Message(f"Searches run one after the other. {_IN_BETWEEN}"),
    # What would settle it.
    "settle": Message("About {more} would settle it."),
    "settle_most": Message("More than {more} would be needed to settle it."),
    "settle_longer": Message("A pass {times} times as long would settle it."),
}


def say(code: str, **values: Any) -> str:
    return MESSAGES[code].sentence.format(**values)
