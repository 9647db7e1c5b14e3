"""Reports for the terminal: which there are, and what they have in common.

Figures that ab or httperf define in a way that cannot be right are left out or made right, and the
report says so.
"""

from collections.abc import Callable
from typing import Any

from workers.injector.report_ab import ab
from workers.injector.report_httperf import httperf
from workers.injector.report_plain import plain
from workers.injector.summary import Result

REPORTS: dict[str, Callable[[dict[str, Any], Result], str]] = {
    "ab": ab,
    "httperf": httperf,
    "plain": plain,
}
