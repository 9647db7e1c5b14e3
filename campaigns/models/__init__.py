"""The tables: one file per noun, no actions."""

from campaigns.models.audit import AuditEntry
from campaigns.models.campaigns import Campaign, NamedTest, Test, without_references
from campaigns.models.histories import Baseline, TestFigures, TimeMark
from campaigns.models.hosts import InjectorHost
from campaigns.models.kept_pages import KeptPage
from campaigns.models.load_control import LoadControl
from campaigns.models.machines import Agent, Exporter, MachineSecond, ToolOutput
from campaigns.models.ownership import HostClaim, HostPermit
from campaigns.models.plans import PlanVersion, SavedPlan
from campaigns.models.probes import Probe
from campaigns.models.projects import Membership, Project
from campaigns.models.runs import FailureExample, Run, RunEvent, Shard, ShardSecond
from campaigns.models.searches import Search
from campaigns.models.secrets import PlanSecret
from campaigns.models.shares import ShareLink
from campaigns.models.so_far import MeasuredSoFar
from campaigns.models.summaries import PooledPercentiles, RunSummary
from campaigns.models.targets import Endpoint, Target
from campaigns.models.tls_profiles import OwnTlsProfile
from campaigns.models.tokens import ApiToken
from campaigns.models.triage import TriageChange, TriageEntry, TriageNote
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
