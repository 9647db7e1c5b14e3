"""What a target's machine did during runs: as exporters told it, and as tools printed it. Machines
that run injectors, each announces itself every few seconds; and whether load is on."""

from django.conf import settings
from django.db import models

from campaigns.domain.metrics.profiles import Profile
from campaigns.domain.plan.target import MOST_NAME, ExporterAddress
from campaigns.projects.models import ProjectQuerySet
from campaigns.runs.models import Run
from campaigns.targets.models import Target

THE_ROW = 1


class LoadControl(models.Model):
    is_on = models.BooleanField(default=True)
    reason = models.CharField(max_length=300, blank=True)  # a sentence: why load is off
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    changed_at = models.DateTimeField(null=True)
    # The dispatcher begins and ends all runs; every few seconds it says here that it works.
    dispatcher_seen_at = models.DateTimeField(null=True)
    # The table's own identity when a dispatcher last led: a restored table has another.
    identity = models.CharField(max_length=60, blank=True)

    def __str__(self) -> str:
        return "load is on" if self.is_on else "load is off"


class InjectorHost(models.Model):
    name = models.CharField(max_length=100, unique=True)
    slots = models.PositiveIntegerField()
    seen_at = models.DateTimeField()
    started_at = models.DateTimeField()
    facts = models.JSONField(default=dict)  # CPU, cores, memory, OS, versions, limits
    # What else used it lately (workers/host_use.py); null where it is not known. Names of programs
    # are only for those who may start a campaign.
    use = models.JSONField(null=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


EXPORTER_PROBLEM = "exporter_problem"  # the kind of a run's event


class Exporter(models.Model):
    """A Prometheus exporter of a target, such as our agent, which the injector host of each run
    scrapes; and what came of it last. Its seconds have its name as their source."""

    project_path = "target__project"
    encrypted = ("token",)

    target = models.ForeignKey(Target, models.CASCADE, related_name="exporters")
    name = models.CharField(max_length=MOST_NAME)
    url = models.CharField(max_length=600)  # domain.plan.target.ExporterAddress, written whole
    verify_tls = models.BooleanField(default=True)
    ca_pem = models.TextField(default="", blank=True)  # trusted instead of the host's authorities
    # Whether the process that answers is what is measured; node_exporter is not.
    is_server = models.BooleanField(default=False)
    # Sent as a bearer token; encrypted by projects.services. Only orders to scrape carry it.
    token = models.TextField(default="", blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # domain.metrics.machine.machine_of: another exporter of the same machine tells the same.
    machine = models.CharField(max_length=60, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)  # a check that is not answered yet
    told_at = models.DateTimeField(null=True, blank=True)  # when it last told something
    offers = models.JSONField(default=list)  # what it told then, in words
    problem = models.TextField(blank=True)  # why it told nothing since; what to do
    problem_at = models.DateTimeField(null=True, blank=True)  # the first time

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["target", "name"], name="one_exporter_per_name")
        ]

    def __str__(self) -> str:
        return f"exporter {self.name} of {self.target}"

    @property
    def address(self) -> ExporterAddress:
        return ExporterAddress.read(self.url)

    @property
    def has_token(self) -> bool:
        return bool(self.token)


class MachineSecond(models.Model):
    """What a machine of the target did in a second of a run. May be written twice."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="machine_seconds")
    source = models.CharField(max_length=100)  # the exporter's name
    second = models.IntegerField()  # of the run, in which its middle is
    lasted_s = models.FloatField()
    # Of all cores, and of the chosen processes; beside `did`, so that the database can add them up.
    busy_s = models.FloatField(null=True)
    watched_s = models.FloatField(null=True)
    did = models.JSONField()  # domain.metrics.machine

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "source", "second"], name="one_machine_second")
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} machine {self.source} second {self.second}"


class RunProfile(models.Model):
    """What perf record found on a machine of the target in a run. May be written twice."""

    pk = models.CompositePrimaryKey("run_id", "source")
    run = models.ForeignKey(Run, models.CASCADE, related_name="profiles", db_index=False)
    source = models.CharField(max_length=100)  # the machine's name
    data = models.JSONField()  # domain.metrics.profiles.Profile

    def __str__(self) -> str:
        return f"run {self.run_id} profile of {self.source}"

    def value(self) -> Profile:
        return Profile.from_json(self.data)


class ToolOutput(models.Model):
    """What a tool printed on the target's machine during a run, as somebody added it. Never
    changed."""

    MOST_TOOL = 40  # characters
    project_path = "run__campaign__project"

    run = models.ForeignKey(Run, models.CASCADE, related_name="tool_outputs")
    tool = models.CharField(max_length=MOST_TOOL)
    text = models.TextField()
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.tool} of run {self.run_id}"
