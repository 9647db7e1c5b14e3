"""A search for a capacity: a campaign whose runs follow from each other, one trial after another.

Its trials are the campaign's runs: trial n is the run with repeat n of its only test.
"""

from django.db import models

from campaigns.domain.judged.capacity import Ending
from campaigns.models.campaigns import Campaign
from campaigns.models.visibility import ProjectQuerySet


class Search(models.Model):
    project_path = "campaign__project"

    campaign = models.OneToOneField(
        Campaign, models.CASCADE, primary_key=True, related_name="search"
    )
    start_per_s = models.FloatField()
    limit_per_s = models.FloatField()  # no trial is above it
    trial_s = models.FloatField()  # the measured part of a trial
    deadline = models.DateTimeField()  # no trial begins that would end after it
    # How it ended (domain.judged.capacity.Ending); null while it goes on.
    ending = models.CharField(
        max_length=10, choices=[(str(each), str(each)) for each in Ending], null=True, blank=True
    )
    # Written once, with the ending: domain.judged.capacity.CapacityAnswer with what came of each
    # trial and what limited it (queries.searches.to_store). Null while it goes on, and of searches
    # that ended before answers were stored.
    answer = models.JSONField(null=True, blank=True)
    # Against the baseline of searches when it ended (domain.judged.against.Against); null without.
    against = models.JSONField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(start_per_s__gt=0, limit_per_s__gte=models.F("start_per_s")),
                name="search_starts_within_its_limit",
            ),
            models.CheckConstraint(
                condition=models.Q(answer__isnull=True) | models.Q(ending__isnull=False),
                name="search_has_its_answer_at_its_end",
            ),
        ]

    def __str__(self) -> str:
        return f"search of {self.campaign}"
