"""PostgreSQL stands still in the middle of a run: each part notices by itself and within its limit,
keeps what it has, and goes on when it is back.
"""

import pytest

from tests.frozen_backends import frozen_backends
from tests.waiting import eventually
from tests.workers.launching import done, in_background, when

pytestmark = pytest.mark.django_db(transaction=True)
SILENCE = "no answer from PostgreSQL within 0.3 s"


@pytest.mark.usefixtures("impatient", "dispatcher", "spool_folder")
def test_a_run_is_complete_although_it_stood_still_while_it_was_measured(run, caplog):
    launching = in_background("--seconds", "20")
    when(run, lambda: run.seconds.exists())
    with frozen_backends():
        for part in (
            "Heartbeat failed",
            "PostgreSQL does not answer; seconds wait in the spool",
            "PostgreSQL does not answer",  # the dispatcher
        ):
            eventually(lambda part=part: f"{part}: {SILENCE}" in caplog.text, 10, part)
    launching.join(30)
    done(run, within_s=30)
    assert (run.outcome, run.reason) == ("complete", "")
    assert run.seconds.count() == 20
