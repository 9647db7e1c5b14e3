"""What all rungs of a ladder have in common, and what differs although nobody chose it."""

from collections.abc import Mapping, Sequence

from campaigns.domain.measured.injector_end import tls_libraries_of
from campaigns.domain.shown.ladder import LadderLikeness, LadderRung
from campaigns.queries.overheads import Overhead, unlike_by_accident

# A ladder has one target, and a rung of HTTP/2 a plan of its own.
_CHOSEN = {"target", "plan"}


def likeness_of(rungs: Sequence[LadderRung], compared: Sequence[Overhead]) -> LadderLikeness:
    """Of the comparisons that were made: what is written alike in all of them, and what is not. An
    arm that is close to another one in bytes or requests counts as like it."""
    if not compared:
        return LadderLikeness()
    told = [dict((*each.likeness["same"], *each.likeness["equal"])) for each in compared]
    same = [
        (what, _values(what, told))
        for what in told[0]
        if what not in _CHOSEN and all(what in each for each in told)
    ]
    libraries = _libraries(compared)
    library = [("TLS library", libraries[0])] if len(libraries) == 1 else []
    differs = [("TLS library", ", ".join(libraries))] if len(libraries) > 1 else []
    return LadderLikeness(
        (*same, *_certificates(rungs), *library), (*_differences(compared), *differs)
    )


def _values(what: str, told: Sequence[Mapping[str, str]]) -> str:
    """Each value once, "2,148 B and 2,150 B" as it stands."""
    return "; ".join(dict.fromkeys(each[what] for each in told if each[what]))


def _libraries(compared: Sequence[Overhead]) -> list[str]:
    """The injectors' TLS libraries, each once."""
    ends = (end for each in compared for run in each.pair.counted for end in run.measurement.ends)
    return tls_libraries_of(list(ends))


def _certificates(rungs: Sequence[LadderRung]) -> list[tuple[str, str]]:
    """The certificate where every rung over TLS was shown the same."""
    seen = {rung.agreed.certificates for rung in rungs if rung.agreed.certificates}
    return [("certificate", "; ".join(seen.pop()))] if len(seen) == 1 else []


def _differences(compared: Sequence[Overhead]) -> list[tuple[str, str]]:
    found: dict[str, list[str]] = {}
    for each in compared:
        accidents = unlike_by_accident(each.pair, each.likeness)
        for what, *values in each.likeness["different"]:
            if what in accidents:
                pairs = zip(each.pair.names, values, strict=True)
                said = ", ".join(f"{named} {value or 'none'}" for named, value in pairs)
                found.setdefault(what, []).append(said)
    return [(what, "; ".join(dict.fromkeys(said))) for what, said in found.items()]
