"""What runs under way have measured, added up: no process begins with their first second."""

import json
import zlib
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.domain.measured.series_chunks import chunks_of, points_of_chunks
from campaigns.models.runs import Run


class MeasuredSoFar(models.Model):
    """A run's measurement up to a second. Nothing depends on a row: without it, or where another
    release wrote it, all seconds are added up."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="so_far")
    last_second = models.IntegerField()
    release = models.CharField(max_length=16)
    # Measurement.state as JSON in a zlib stream: jsonb would not keep the order of keys.
    packed = models.BinaryField()
    chunks = ArrayField(models.BinaryField())  # its points, as in RunSummary

    def __str__(self) -> str:
        return f"run {self.run_id} up to second {self.last_second}"

    @property
    def state(self) -> dict[str, Any]:
        return json.loads(zlib.decompress(self.packed))

    @staticmethod
    def columns_of(state: dict[str, Any], points: list) -> dict[str, Any]:
        """The columns of a state and its points, at least one."""
        text = json.dumps(state, separators=(",", ":")).encode()
        return {
            "last_second": points[-1]["second"],
            "packed": zlib.compress(text, 1),
            "chunks": chunks_of(points),
        }

    @property
    def series(self) -> list:
        return points_of_chunks(self.chunks)
