"""Pages of campaigns that have ended, as they were rendered: each process may show them."""

from django.db import models
from django.db.models.functions import Now

from campaigns.models.campaigns import Campaign


class KeptPage(models.Model):
    """The blocks of a page, compressed. Nothing depends on a row: without it, the page is made."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="kept_pages")
    # A digest of all that the page was made from, so that no row can be out of date.
    key = models.CharField(max_length=32)
    content = models.BinaryField()
    kept_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "key"], name="one_kept_page_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.campaign}, {self.key}"
