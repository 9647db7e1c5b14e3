"""The verdict on a campaign that has ended, or waits for somebody to decide. Checks no permissions:
callers pass rows found with visible_to."""

from collections.abc import Iterator, Sequence

from campaigns.campaigns.queries.answers import overheads_of_arms
from campaigns.compare.queries.overheads import overhead_answer
from campaigns.domain.presentation.compared_words import baseline_sentence
from campaigns.domain.presentation.results import Answer
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.presentation.verdicts import (
    CampaignVerdict,
    ComparedArms,
    broken_rules,
    worst_first,
)
from campaigns.history.queries.baselines import against_of, compared_with_baselines, search_against
from campaigns.models import Baseline, Campaign, Search, Test
from campaigns.probes.queries.first_requests import first_requests_of


def verdict_on_held(campaign: Campaign) -> CampaignVerdict:
    failure = first_requests_of(campaign).failure or "A preflight request failed"
    return CampaignVerdict(False, f"{failure}.", f"On hold: {failure}. No load has been sent.")


def campaign_verdict(
    campaign: Campaign, answer: Answer, pairs: Sequence[tuple[Baseline, Test]]
) -> CampaignVerdict:
    """`pairs` as from `with_baselines`."""
    labels = {each.test_id: f"{each.plan_label}, {each.label}" for each in answer.tests}
    against, said = [], []
    for (baseline, test), overhead in zip(pairs, compared_with_baselines(pairs), strict=True):
        if test.pk in labels:  # a reference counts in nothing
            label, found = labels[test.pk], overhead_answer(overhead, is_final=True)
            against.append(ComparedArms.of(found, label, baseline.name))
            said.append((label, against_of(baseline, overhead)))
    if search := Search.objects.filter(pk=campaign.pk).first():
        sentence = [*answer.sentence, (" ", False), *search_against(search)]
    else:
        sentence = baseline_sentence(said) or answer.sentence
    is_measured = not campaign.stop_reason and _has_figures(answer)
    return CampaignVerdict(
        is_measured,
        "" if is_measured else campaign.stop_reason or plain_text(answer.sentence),
        plain_text(sentence if is_measured else answer.sentence).strip(),
        worst_first(against or list(_of_arms(campaign, answer, labels))),
        broken_rules(answer.thresholds),
        sum(row.count for row in answer.errors.rows),
        answer.errors.n_attempts,
    )


def _of_arms(campaign: Campaign, answer: Answer, labels: dict[int, str]) -> Iterator[ComparedArms]:
    for each in overheads_of_arms(campaign) if answer.matrix else answer.overheads:
        yield ComparedArms.of(each, labels[each.candidate_test_id])


def _has_figures(answer: Answer) -> bool:
    means = (ms for test in answer.tests for ms in test.means_ms)
    return any(ms is not None for ms in means) or any(each.word for each in answer.overheads)
