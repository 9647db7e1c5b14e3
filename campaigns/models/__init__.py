"""The tables: one file per noun, no actions."""
# ruff: noqa: F401  (the names that others import from here)

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
