"""What a campaign of a preset's plan looks like: the endpoints, injectors and repeats of the study
that it reproduces. The form of a new campaign is filled in with it.
"""

from dataclasses import dataclass

UNISERVE_SWEEP = (1, 2, 3, 4, 5, 6, 9, 12)


@dataclass(frozen=True, slots=True)
class Proposal:
    """`schemes` are the endpoints to measure, of one target; none: the first endpoint that fits.
    Several `injectors` are a sweep."""

    schemes: tuple[str, ...] = ()
    injectors: tuple[int, ...] = (1,)
    repeats: int = 1
    source: str = ""


_GCUBE = Proposal(("http", "https"), repeats=3, source="the study of gCube measured HTTP and HTTPS")
_LOCAL = Proposal(("http",), repeats=5, source="the study of Uniserve made five runs over HTTP")

PROPOSALS: dict[str, Proposal] = {
    "https": Proposal(("http", "https"), repeats=5),
    "over-100": _GCUBE,
    "over-10": _GCUBE,
    "over-5": _GCUBE,
    "over-1": _GCUBE,
    "ab": Proposal(("https",), source="the benchmark of WMI2 ran ab once over HTTPS"),
    "httperf-1000": Proposal(("https",), source="the benchmark of WMI2 ran httperf with --ssl"),
    "httperf": Proposal(("http",), source="httperf's own example is one run over HTTP"),
    "l1": _LOCAL,
    "l2": _LOCAL,
    "l3": _LOCAL,
    "r99-1": Proposal(
        ("http",),
        (3,),
        source="the study of Uniserve had three injector processes, 1 s after one another",
    ),
    "r99-2": Proposal(
        ("http",),
        UNISERVE_SWEEP,
        source="the study of Uniserve went from 1 to 12 injector processes",
    ),
    "wsperf": Proposal(("ws",), (4,), source="wsperf's example has four workers"),
}


def proposal_for(preset: str) -> Proposal:
    return PROPOSALS.get(preset, Proposal())
