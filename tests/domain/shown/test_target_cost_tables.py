"""What a target's requests cost, in a sentence."""

import pytest

from campaigns.domain.judged.target_cost import RunCost, cost_difference
from campaigns.domain.shown.sentences import plain_text
from campaigns.domain.shown.target_cost_tables import BYTES, CPU, ComparedCost, cost_sentence


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (CPU, "New: HTTPS costs the server 50.1 % less CPU per request than HTTP"),
        (BYTES, "New: HTTPS moves 50.1 % fewer bytes per request than HTTP"),
    ],
)
def test_a_cost_is_less_and_bytes_are_fewer(kind, said):
    baseline, candidate = (
        {block: RunCost(each, 0.001) for block, each in enumerate(amounts)}
        for amounts in ((6.0, 6.1, 5.9), (3.0, 3.02, 2.96))
    )
    difference = cost_difference(baseline, candidate, paired=True, threshold=0.05)
    sentence = cost_sentence(kind, [ComparedCost("New", ("HTTP", "HTTPS"), difference)])
    assert plain_text(sentence).replace("\u202f", " ").startswith(said)
