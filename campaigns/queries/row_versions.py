"""Which versions of its rows a page of what has ended was made from.

PostgreSQL stores a changed row as a new one, with another place (ctid) and the transaction that
wrote it (xmin). So a digest of both changes with every write, whoever wrote and whatever they
wrote, and no writer has to remember it.
"""

from django.db import connection

from campaigns.domain.tags import REFERENCE_TAG
from campaigns.models import Run

# The newest earlier measurements of a reference that a page looks for the one before in.
_REFERENCES = 20
# The tables that pages of campaigns and runs read, with the rows that such a page can show.
# `tests/views/test_kept_pages.py` fails for a table that is missing here.
_ROWS = """
WITH asked AS (
    SELECT id, project_id, started_at FROM campaigns_campaign WHERE id = %(campaign)s
), run AS (
    SELECT id FROM campaigns_run
    WHERE campaign_id = %(campaign)s AND (%(run)s::bigint IS NULL OR id = %(run)s)
), test AS (
    SELECT id, endpoint_id, plan_version_id FROM campaigns_test WHERE campaign_id = %(campaign)s
), reference AS (
    SELECT endpoint.id FROM campaigns_endpoint endpoint
    JOIN campaigns_target target ON target.id = endpoint.target_id
    WHERE endpoint.id IN (SELECT endpoint_id FROM test) AND target.tags @> %(reference)s::varchar[]
), row_version AS (
    SELECT tableoid, ctid, xmin FROM campaigns_campaign WHERE id = %(campaign)s
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_project WHERE id IN (SELECT project_id FROM asked)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_baseline
    WHERE project_id IN (SELECT project_id FROM asked)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_baseline_runs WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_search WHERE campaign_id = %(campaign)s
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_test WHERE campaign_id = %(campaign)s
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_testfigures WHERE campaign_id = %(campaign)s
    UNION ALL
    (
        SELECT tableoid, ctid, xmin FROM campaigns_testfigures
        WHERE project_id IN (SELECT project_id FROM asked)
            AND endpoint_id IN (SELECT id FROM reference)
            AND started_at < (SELECT started_at FROM asked)
            AND EXISTS (SELECT 1 FROM reference)
        ORDER BY started_at DESC LIMIT %(references)s
    )
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_probe WHERE campaign_id = %(campaign)s
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_endpoint
    WHERE id IN (SELECT endpoint_id FROM test)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_target
    WHERE id IN (
        SELECT target_id FROM campaigns_endpoint WHERE id IN (SELECT endpoint_id FROM test)
    )
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_planversion
    WHERE id IN (SELECT plan_version_id FROM test)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_plan
    WHERE id IN (
        SELECT plan_id FROM campaigns_planversion WHERE id IN (SELECT plan_version_id FROM test)
    )
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_run WHERE id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_shard WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_runevent WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_runsummary WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_runuse WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_machinesecond WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_tooloutput WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM campaigns_failureexample WHERE run_id IN (SELECT id FROM run)
    UNION ALL
    SELECT tableoid, ctid, xmin FROM auth_user
    WHERE id IN (SELECT added_by_id FROM campaigns_tooloutput WHERE run_id IN (SELECT id FROM run))
)
SELECT count(*), sum(hashtextextended(ctid::text || ' ' || xmin::text, tableoid::bigint))
FROM row_version
"""


def rows_of_campaign(campaign: int) -> tuple[int, int]:
    """Another value after each write of a row that the campaign's page can show. Read it before the
    rows: then what was made of them may be newer than it says, and never older."""
    return _digest(campaign, None)


def rows_of_run(run: int) -> tuple[int, int]:
    """The same for a run's page."""
    campaign = Run.objects.filter(pk=run).values_list("campaign", flat=True).first()
    return _digest(campaign, run) if campaign else (0, 0)


def _digest(campaign: int, run: int | None) -> tuple[int, int]:
    asked = {"campaign": campaign, "run": run}
    asked |= {"reference": [REFERENCE_TAG], "references": _REFERENCES}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, asked)
        n_rows, total = cursor.fetchone()
    return n_rows, int(total or 0)
