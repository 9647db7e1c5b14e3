"""The tables: one file per noun, no actions."""
# ruff: noqa: F401  (the names that others import from here)

from campaigns.models.audit import ApiToken, AuditEntry, ShareLink
from campaigns.models.campaigns import Campaign, NamedTest, Probe, Search, Test, without_references
from campaigns.models.histories import (
    Baseline,
    TestFigures,
    TimeMark,
    TriageChange,
    TriageEntry,
    TriageNote,
)
from campaigns.models.machines import (
    Exporter,
    InjectorHost,
    LoadControl,
    MachineSecond,
    RunProfile,
    ToolOutput,
)
from campaigns.models.notes import Note
from campaigns.models.plans import PlanSecret, PlanVersion, SavedPlan, StoredBody
from campaigns.models.projects import Membership, Project
from campaigns.models.runs import (
    FailureExample,
    RequestsOfShard,
    Round,
    Run,
    RunEvent,
    Shard,
    ShardSecond,
)
from campaigns.models.schedules import Firing, Schedule
from campaigns.models.summaries import KeptMinute, RunSummary, RunUse
from campaigns.models.targets import Endpoint, HostClaim, HostPermit, OwnTlsProfile, Target
