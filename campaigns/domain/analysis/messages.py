"""What answers say beside their word: one row each, with all of its words. Why there is no word or
no interval, what limits an answer, what would settle it; and the sentences of capacity searches,
ladders, sweeps, matrices and histories.

What single runs say is in criteria.py, whose five rules hold here too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from campaigns.domain.analysis.capacity import MOST_OPEN_TRIALS
from campaigns.domain.analysis.changes import MIN_CAMPAIGNS
from campaigns.domain.analysis.ratio import MIN_REPEATS
from campaigns.domain.units import DASH

_IN_BETWEEN = "Whatever else changed in between is part of the difference."
_NOT_IN_TURN = "The two sides did not run in turn."
_RUNS_OF_TARGETS = f"{MIN_REPEATS} usable runs of two targets"
_TREND_NEEDS = f"A trend needs {MIN_CAMPAIGNS} reliable campaigns"


@dataclass(frozen=True, slots=True)
class Message:
    """`sentence` has the names of its values in braces, and what is bold between **. `title`: its
    word for a tile."""

    sentence: str
    remedy: str = ""
    title: str = ""


MESSAGES = {
    # Why a comparison has no word: by comparison.Reason.
    "too_few_repeats": Message(
        f"A verdict needs {MIN_REPEATS} usable runs of each side{{have}}.",
        "Add blocks to the side that has fewer.",
    ),
    "too_few_runs": Message(f"Verdicts need {MIN_REPEATS} usable runs of each test."),
    "no_rounds": Message("An answer takes {needed} rounds; there are {n}."),
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
    "lower_rate": Message("The rate was {sent}/s: {asked}/s were too much for this machine."),
    "load_matters": Message("Load matters: {first} when quieter, {second} when busier."),
    "changed_midway": Message("It changed midway: {first} at first, {second} later."),
    "too_varied": Message("Results varied too much between runs."),
    "not_in_turn": Message(
        f"{_NOT_IN_TURN} {_IN_BETWEEN}", "Measure both side by side, in one campaign."
    ),
    "reference_speaks": Message(
        f"{_NOT_IN_TURN} The reference speaks for the target, but only side by side are both alike."
    ),
    "unless": Message("unless something else changed in between"),
    "searches_in_turn": Message(f"Searches run one after the other. {_IN_BETWEEN}"),
    # What would settle it.
    "settle": Message("About {more} would settle it."),
    "settles": Message("Settles in about {time}."),
    "settle_most": Message("More than {more} would be needed to settle it."),
    "settle_longer": Message("A pass {times} times as long would settle it."),
    # How arms that took turns ended.
    "settled": Message("settled in {time}"),
    "at_limit": Message("ended at its limit of {time}"),
    "after_rounds": Message("ended after {n} rounds"),
    # What capacity searches know.
    "capacity": Message("**{rate}** ({low} to {high}, {searches}) keep {objective}."),
    "capacity_about": Message("**About {rate}** keep {objective}."),
    "capacity_at_least": Message("**At least {rate}** keep {objective}."),
    "capacity_between": Message("The limit lies **between {low} and {rate}**."),
    "capacity_under": Message("The limit lies **below {rate}**."),
    "capacity_below": Message("**Below {rate}**: already this rate does not keep {objective}."),
    "capacity_drifted": Message("**No steady answer:** the server changed{change} from {between}."),
    "capacity_unknown": Message("Couldn't find the limit."),
    "searching": Message("Searching… no results yet."),
    "interval_of_searches": Message("{searches} done; the interval comes with the third."),
    "newest_search": Message(
        "**Capacity {capacity}** in the newest search, for {objective}{against}."
    ),
    "newest_search_empty": Message("**The newest search found no capacity** for {objective}."),
    # How two capacities compare.
    "no_capacities": Message("**No verdict on the capacities**: {why}"),
    "no_search": Message(
        "{first} is no search for a capacity.", "Compare two searches, or single runs."
    ),
    "unlike_searches": Message(
        "the two did not search for the same.",
        "Search with the same objective and plan, then compare.",
    ),
    "no_interval_of": Message("{names} {has} no capacity with an interval.", "Search again."),
    "bounded_rates": Message("{ours} against {theirs} requests/s."),
    "capacities_bounded": Message("**{first} takes {more}** than {second}: {rates}"),
    "capacities_differ": Message("**{first} takes {more}** than {second}: {rates} ({interval})."),
    "capacities_alike": Message("**{word}**: {first} and {second} take {rates} ({interval})."),
    # What the server's machine does for each request.
    "cost_differs": Message("{where}: {first} {costs} **{more}** than {second} ({interval})."),
    "cost_alike": Message("{where}: **{word}**{sure}."),
    # What limited a search: by capacity.Ending.
    "found": Message("The target, or the network on the way to it{cpu}.", title="target side"),
    "target_cpu_full": Message(
        "The target's CPU was likely the limit, at {share}.", title="target CPU"
    ),
    "target_link_full": Message(
        "The target's network link was likely the limit, {share} full.", title="target network"
    ),
    "had_room": Message("The injectors had room."),
    "injector": Message(
        f"This machine was too busy for {MOST_OPEN_TRIALS} trials in a row.",
        "Search again when it is quiet.",
        "busy machine",
    ),
    "limit": Message("The search wasn't allowed to go higher.", title="cap"),
    "limit_at_times": Message("Above that, trials both passed and failed.", title="cap"),
    "drifted": Message("The server's capacity changed between searches.", title="drift"),
    "deadline": Message("The search ran out of time.", title="time"),
    "stopped": Message("The search was stopped.", title="stopped"),
    "silent": Message("The target stopped answering.", title="no reply"),
    "under_way": Message("Appears when the search ends.", title=DASH),
    # What each rung of a protocol ladder costs.
    "rung_about": Message("{place} {rung} takes about {change} over HTTP."),
    "rung_cost": Message("{place} {rung} {verb} **{difference}** {than}({ends})."),
    "rung_adds": Message("{rung} {adds} **{share}**{against} ({ends})."),
    "rung_same": Message("{rung} {makes} **no practical difference**."),
    "rung_bounded": Message("{rung} is {word}: {bounds}.{settle}"),
    "rung_not_taken": Message("{rung} was not measured: {why}"),
    "rungs_in_turns": Message("All rungs took turns. Medians are without what the injector added."),
    "rungs_typical": Message(
        "Times are geometric means over runs, which one outlier moves less than averages."
    ),
    "none_resumed": Message("The server resumed no session."),
    "server_chose": Message("The server chose {chosen}."),
    # How throughput goes with the value of a sweep.
    "sweep_falls": Message("**{arm} falls from {first}** {at} to {last}."),
    "sweep_stays": Message("**{arm} stays {rates}**, from {low} to {high}."),
    "sweep_grows": Message("**Throughput of {arm} grows up to {value}: {rate}**{more}."),
    "sweep_still_grows": Message("**Throughput of {arm} still grows {at}: {rate}**{more}."),
    "sweep_at_least": Message("**{arm} handles at least {rate}** {at}."),
    "sweep_busy": Message("The machine was busy, so it may be more."),
    "sweep_against": Message("{arm} is {word} than {reference} at {n} of {values}{gap}."),
    "no_reference": Message("The reference was not measured at this value."),
    "no_run": Message("No run has ended yet."),
    "target_overloaded": Message(
        "The target was overloaded, so there is no response time to compare."
    ),
    "target_unknown": Message("Nothing is said about the target: no measurement can be trusted."),
    "sweep_more": Message("{sweeps} below."),
    "sweep_too_few": Message("**Too few trusted values for a curve: {arms}.**"),
    "sweep_unknown": Message("**Runs beyond {value} are not trusted.**"),
    # In which order targets come.
    "orders_differ": Message("The order differs between plans."),
    "order": Message("**{order}** at {plans}{gap}."),
    "order_same": Message("**There is no practical difference** at {plans}{such_as}."),
    "order_open": Message("**No target is clearly ahead** at {plans}{such_as}."),
    "order_unknown": Message(f"A verdict at {{plans}} needs {_RUNS_OF_TARGETS}."),
    "mean_of_plans": Message("The mean over all pages needs usable runs of each."),
    "too_few_targets": Message(f"Needs {_RUNS_OF_TARGETS}."),
    # How a run's times moved.
    "no_trend": Message("No lasting change of response times {found}."),
    "trend_back": Message(
        "Response times changed and came back: {between} the p50 was {size} {higher}."
    ),
    "trend": Message("Response times {rose}: from {since} on the p50 is {size} {higher}."),
    # What a history says of its newest campaign.
    "history_empty": Message("No ended campaign of this test matches the filters."),
    "history_uncounted": Message("**The newest campaign does not count**: {why}."),
    "uncounted_no_answer": Message("its measurements aren't reliable"),
    "uncounted_state": Message("the server was {state}"),
    "uncounted_busy": Message(
        "the injector host was busy; the median without the injector's part counts"
    ),
    "uncounted_few": Message("too few requests succeeded for this figure"),
    "history_few": Message(f"**{{value}}** in the newest campaign. {_TREND_NEEDS}; {{n}} so far."),
    "history_unchanged": Message("**Unchanged** over {n_campaigns} since {since}{level}."),
    "history_changed": Message("**{direction} by {size} since {since}**: {levels}{environment}"),
    "history_moved": Message(
        "**Moved: {direction} by {size} since {cause}** ({since}): {levels}; the target may "
        "not be the cause{environment}"
    ),
    "began": Message("it began between campaigns {campaigns}."),
    "environment": Message(", or the environment: the reference moved by {size} as well"),
    "history_outlier": Message(
        "**The newest campaign is an outlier**: {value}, expected {span}. Three in a row make a "
        "new level."
    ),
    "history_outside": Message(
        "The newest campaign, {value}, is outside the expected range ({span}), but close to the "
        "level."
    ),
    "history_expected": Message("The newest campaign, {value}, is as expected ({span})."),
    # What many histories say together.
    "overview_reference": Message("Only the reference was measured in this period."),
    "overview_empty": Message("No campaign ended in this period."),
    "overview_changed": Message("**{changed}** of {tests}{others}."),
    "overview_unchanged": Message("**No change** in {tests}{others}."),
    "overview_uncounted": Message(
        "**No test's newest campaign counts.** The page of each test says why."
    ),
    "overview_few": Message(f"**Not enough data** for {{tests}}. {_TREND_NEEDS}."),
    "entry": Message("**{word} since {since}: {range}** on {target}, {tests}{beside}{environment}"),
}


def sentence(code: str, **values: Any) -> list[tuple[str, bool]]:
    """[(text, is it bold)]"""
    parts = MESSAGES[code].sentence.split("**")
    return [(part.format(**values), bool(n % 2)) for n, part in enumerate(parts) if part]


def advise(code: str, **values: Any) -> str:
    """What it says, and what to do."""
    return f"{say(code, **values)} {MESSAGES[code].remedy}".strip()


def say(code: str, **values: Any) -> str:
    return "".join(text for text, _ in sentence(code, **values))


Sentence = list[tuple[str, bool]]  # (text, is it bold)


def trimmed(sentence: Sentence) -> Sentence:
    """Without the space after the last word."""
    while sentence and not sentence[-1][0].strip():
        sentence = sentence[:-1]
    if not sentence:
        return sentence
    text, is_bold = sentence[-1]
    return [*sentence[:-1], (text.rstrip(), is_bold)]


def joined(sentences: Iterable[Sentence]) -> Sentence:
    """With a space between them; empty ones are left out."""
    first, *others = [each for each in sentences if each] or [[]]
    return [*first, *(part for each in others for part in [(" ", False), *each])]


def so_far(sentence: Sentence) -> Sentence:
    (first, is_bold), *rest = sentence
    return [("So far ", False), (f"{first[:1].lower()}{first[1:]}", is_bold), *rest]
