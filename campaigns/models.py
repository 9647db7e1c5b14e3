"""The tables: one file per noun, no actions."""
# ruff: noqa: F401  (the names that others import from here)

from campaigns.campaigns.models import Campaign, NamedTest, Probe, Search, Test, without_references
from campaigns.history.models import Baseline, TestFigures, TimeMark, TriageChange, TriageEntry
from campaigns.machines.models import (
    Exporter,
    InjectorHost,
    LoadControl,
    MachineSecond,
    RunProfile,
    ToolOutput,
)
from campaigns.notes.models import Note
from campaigns.operations.models import ApiToken, AuditEntry, ShareLink
from campaigns.plans.models import PlanSecret, PlanVersion, SavedPlan, StoredBody
from campaigns.projects.models import Membership, Project
from campaigns.runs.models import (
    FailureExample,
    KeptMinute,
    RequestsOfShard,
    Round,
    Run,
    RunEvent,
    RunSummary,
    RunUse,
    Shard,
    ShardSecond,
)
from campaigns.schedules.models import Firing, Schedule
from campaigns.targets.models import Endpoint, HostClaim, HostPermit, OwnTlsProfile, Target
