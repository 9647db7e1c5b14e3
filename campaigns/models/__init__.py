"""The tables: one file per noun, no actions."""

from campaigns.models.audit import ApiToken, AuditEntry
from campaigns.models.campaigns import Campaign, NamedTest, Search, Test, without_references
from campaigns.models.histories import (
    Baseline,
    TestFigures,
    TimeMark,
    TriageChange,
    TriageEntry,
    TriageNote,
)
from campaigns.models.hosts import InjectorHost, LoadControl
from campaigns.models.machines import Agent, Exporter, MachineSecond, ToolOutput
from campaigns.models.plans import PlanVersion, SavedPlan
from campaigns.models.probes import Probe
from campaigns.models.projects import Membership, Project
from campaigns.models.runs import FailureExample, Round, Run, RunEvent, Shard, ShardSecond
from campaigns.models.secrets import PlanSecret
from campaigns.models.shares import ShareLink
from campaigns.models.summaries import KeptPage, MeasuredSoFar, PooledPercentiles, RunSummary
from campaigns.models.targets import Endpoint, HostClaim, HostPermit, OwnTlsProfile, Target
from campaigns.models.use import KeptMinute, RunUse

__all__ = [
    "Agent",
    "ApiToken",
    "AuditEntry",
    "Baseline",
    "Campaign",
    "Endpoint",
    "Exporter",
    "FailureExample",
    "HostClaim",
    "HostPermit",
    "InjectorHost",
    "KeptMinute",
    "KeptPage",
    "LoadControl",
    "MachineSecond",
    "MeasuredSoFar",
    "Membership",
    "NamedTest",
    "OwnTlsProfile",
    "PlanSecret",
    "PlanVersion",
    "PooledPercentiles",
    "Probe",
    "Project",
    "Round",
    "Run",
    "RunEvent",
    "RunSummary",
    "RunUse",
    "SavedPlan",
    "Search",
    "Shard",
    "ShardSecond",
    "ShareLink",
    "Target",
    "Test",
    "TestFigures",
    "TimeMark",
    "ToolOutput",
    "TriageChange",
    "TriageEntry",
    "TriageNote",
    "without_references",
]
