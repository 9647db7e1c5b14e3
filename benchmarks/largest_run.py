"""The finished run of the goals for pages: an hour of four injectors with ten steps, 144,000 stored
seconds of 6,945 requests each, so 10⁹ requests, ended and summarised as the dispatcher does it.
"""

from typing import Any

INJECTORS, STEPS, HOUR_S, REQUESTS_EACH = 4, 10, 3600, 6945


def largest_run(viewer: Any) -> Any:
    """The run, and `viewer`, a user, may see it."""
    from benchmarks.live_page import Watching, run_under_way
    from benchmarks.watched_end import end_run
    from campaigns.models import Run
    from campaigns.permissions import Role
    from tests.factories import make_membership

    run = run_under_way(INJECTORS, STEPS, HOUR_S)
    Watching(run, INJECTORS, STEPS, REQUESTS_EACH).arrive(HOUR_S)
    make_membership(run.campaign.project, viewer, Role.VIEWER)
    end_run(run, HOUR_S)
    ended = Run.objects.get(pk=run.pk)
    assert (ended.state, ended.n) == ("done", INJECTORS * STEPS * HOUR_S * REQUESTS_EACH)
    return ended
