"""Two runs side by side."""

from campaigns.domain.results import Comparison
from campaigns.models import Run

__all__ = ["Comparison", "compare_runs"]


def compare_runs(baseline: Run, candidate: Run) -> Comparison:
    """Figures beside each other, and above them what differs in plan, target and environment."""
    raise NotImplementedError
