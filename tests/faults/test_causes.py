"""The fault lab takes these for true: they are what the product says, letter by letter."""

import re

from benchmarks.faults import kinds
from campaigns.domain.lifecycle import StopReason
from campaigns.engine.services.endings import STOPPED_BEFORE
from campaigns.engine.services.shards import (
    FINISHED_UNHEARD,
    LOST_BEFORE,
    LOST_SENDING,
    LOST_STORING,
    STOPPED_UNHEARD,
)
from workers.launcher import _why_cut_off
from workers.spool import KILLED


def test_a_cause_is_a_sentence_of_the_product():
    for pattern, sentence in [
        (kinds.HOST_SILENT, LOST_BEFORE),
        (kinds.HOST_SILENT, LOST_SENDING),
        (kinds.HOST_SILENT, LOST_STORING),
        (kinds.LAUNCHER_KILLED, KILLED),
        (kinds.FINISHED_UNHEARD, FINISHED_UNHEARD),
        (kinds.FINISHED_UNHEARD, STOPPED_UNHEARD),
        (kinds.LAUNCHER_FROZEN, _why_cut_off(60.0)),
        (kinds.NO_CONTACT, _why_cut_off(0.0)),
        (kinds.NO_FILES, _why_cut_off(0.0, "this process has all 36 files open that it may")),
        (kinds.DEAD_MAN, StopReason.DEAD_MAN.sentence),
        (kinds.STOPPED, StopReason.USER.sentence),
        (kinds.STOPPED, STOPPED_BEFORE),
    ]:
        assert re.fullmatch(pattern, sentence)
