"""What is kept of a run's seconds once they were removed by age."""

from typing import Any

import django_filters
from rest_framework import serializers

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import WholeFilter
from campaigns.api.runs import TimingSerializer
from campaigns.models import KeptMinute, Run


class MinuteSerializer(serializers.ModelSerializer):
    """A minute of a run at one step: its seconds and injector processes added up. `minute` 0 has
    the seconds 0 to 59; the warm-up is negative. Absent counters are 0."""

    counters = serializers.DictField(child=serializers.IntegerField())
    errors = serializers.DictField(child=serializers.IntegerField())
    statuses = serializers.DictField(child=serializers.IntegerField())
    timings = serializers.DictField(child=TimingSerializer())

    class Meta:
        model = KeptMinute
        fields = ("minute", "step", "counters", "errors", "statuses", "timings")
        read_only_fields = fields

    def to_representation(self, row: KeptMinute) -> dict[str, Any]:
        return super().to_representation(row.told | {"minute": row.minute, "step": row.step})


class MinuteFilterSet(django_filters.FilterSet):
    step = WholeFilter(min_value=0, max_value=1000)
    after = WholeFilter("minute", lookup_expr="gt", min_value=-100_000, max_value=10_000_000)

    class Meta:
        model = KeptMinute
        fields = ()


class MinuteViewSet(VisibleViewSet):
    """The kept minutes in order; none while the run still has its seconds."""

    model = KeptMinute
    serializer_class = MinuteSerializer
    filterset_class = MinuteFilterSet

    def get_queryset(self):
        # Minutes have no permissions of their own: `list` has found their run.
        minutes = KeptMinute.objects.filter(run=self.kwargs.get("pk"))
        return minutes.order_by("minute", "step")

    def list(self, request, pk):
        find(Run, request, pk=pk)
        return super().list(request)
