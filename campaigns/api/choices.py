"""The choices of fields, so that the schema gives each set one name."""

from collections.abc import Iterable

from campaigns.domain.judged.capacity import CapacityWord, Ending, TrialResult
from campaigns.domain.judged.comparison import Word
from campaigns.domain.judged.triage import TriageState
from campaigns.domain.lifecycle import (
    Outcome,
    Precision,
    RunState,
    TargetState,
    ThresholdState,
    Trust,
)
from campaigns.domain.measured.perf_counts import PerfOf
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.tls_options import VERSIONS
from campaigns.domain.plan.variables import RowOrder
from campaigns.domain.shown.history_words import HistoryStatus
from campaigns.domain.stop_reasons import BY_ITSELF, StopReason
from campaigns.permissions import Role
from campaigns.queries.campaign_list import STATE_IS


def _pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    return [(str(word), str(word)) for word in words]


CAMPAIGN_STATES = _pairs(STATE_IS)
RUN_STATES = _pairs(RunState)
RUN_STOP_REASONS = _pairs(each for each in StopReason if each not in BY_ITSELF)
OUTCOMES = _pairs(Outcome)
TRUSTS = _pairs(Trust)
TARGET_STATES = _pairs(TargetState)
THRESHOLD_STATES = _pairs(ThresholdState)
PRECISIONS = _pairs(Precision)
CONNECTION_MODES = _pairs(ConnectionMode)
PERF_OF = _pairs(of for of in PerfOf if of)  # or nothing: allow_blank
ROLES = _pairs(Role)
ROW_ORDERS = _pairs(RowOrder)
WORDS = _pairs(Word)
CAPACITY_WORDS = _pairs(CapacityWord)
ENDINGS = _pairs(Ending)
TRIAL_RESULTS = _pairs(TrialResult)
STANDINGS = _pairs(HistoryStatus)
TRIAGE_STATES = _pairs(TriageState)
HTTP_VERSIONS = _pairs(HttpVersion)
TLS_VERSIONS = _pairs(VERSIONS)
