"""Text reports in the style of the classic tools and in our own, for the terminal, the run page and
download, all from the same measurement.

Figures that a tool defines incorrectly are left out or corrected, and the report says so.
"""

from collections.abc import Callable

from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.other_tools.ab import ab
from campaigns.domain.other_tools.httperf import httperf
from campaigns.domain.other_tools.jmeter import jmeter
from campaigns.domain.other_tools.plain import plain
from campaigns.domain.other_tools.report_words import ReportHead
from campaigns.domain.other_tools.wsperf import wsperf
from campaigns.domain.plan.plan import Plan

__all__ = ["REPORTS", "STYLE_WORDS", "ReportHead", "styles_for"]

REPORTS: dict[str, Callable[[Measurement, ReportHead], str]] = {
    "ab": ab,
    "httperf": httperf,
    "jmeter": jmeter,
    "plain": plain,
    "wsperf": wsperf,
}
STYLE_WORDS = {
    "ab": "ab",
    "httperf": "httperf",
    "jmeter": "JMeter",
    "plain": "our own format",
    "wsperf": "wsperf",
}


def styles_for(plan: Plan) -> list[str]:
    """The styles that fit the plan, best first."""
    if plan.exchange is not None:
        return ["wsperf", "ab", "plain"]
    return ["ab", "httperf", "jmeter", "plain"]
