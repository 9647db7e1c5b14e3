"""What two compared arms are called: the shortest names that tell them apart."""

from dataclasses import dataclass

from campaigns.domain.plan.target import TLS_TWINS
from campaigns.domain.shown.sentences import MODES
from campaigns.domain.shown.sweep_table import injector_words


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What tells an arm apart from the others of its campaign."""

    plan: str
    target: str
    scheme: str
    host: str
    port: int
    connection_mode: str
    injectors: int = 1
    swept: str = ""
    tls_profile: str = ""


def arm_names(baseline: ArmFacts, candidate: ArmFacts) -> tuple[str, str]:
    """Such as ("HTTP", "HTTPS") or ("nginx :8080", "nginx :8443"); roles if nothing differs."""
    arms = (baseline, candidate)
    plans = [arm.plan for arm in arms] if _differ(arms, "plan") else ["", ""]
    where = [_where(arm, arms) for arm in arms]
    first, second = (", ".join(filter(None, each)) for each in zip(plans, where, strict=True))
    return (first, second) if first != second else ("the baseline", "the candidate")


def shared_mode(baseline: ArmFacts, candidate: ArmFacts) -> str:
    """The connection mode that the sentence names once; "" if the names have to tell it.

    HTTP has no session to resume, so it is compared on a new connection.
    """
    modes = (baseline.connection_mode, candidate.connection_mode)
    is_resumed = modes == ("new", "resumed") and are_twins(baseline.scheme, candidate.scheme)
    return modes[1] if modes[0] == modes[1] or is_resumed else ""


def are_twins(baseline: str, candidate: str) -> bool:
    """Whether these schemes are the same protocol without and with TLS."""
    return TLS_TWINS.get(candidate) == baseline


def _where(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    tells_mode = not shared_mode(*arms)
    tells_scheme = _differ(arms, "scheme")
    tells_place = _differ(arms, "target") or (not tells_scheme and _differ(arms, "host", "port"))
    words = [
        arm.target if tells_place else "",
        _address(arm, arms) if tells_place else "",
        arm.scheme.upper() if tells_scheme or (tells_mode and not tells_place) else "",
        MODES[arm.connection_mode] if tells_mode else "",
        injector_words(arm.injectors) if _differ(arms, "injectors") else "",
        arm.swept if _differ(arms, "swept") else "",
        _profile(arm, arms),
    ]
    return " ".join(filter(None, words))


def _profile(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    """The TLS profile; the standard one has a name only beside another."""
    if not _differ(arms, "tls_profile"):
        return ""
    return arm.tls_profile or ("" if _differ(arms, "scheme") else "standard TLS")


def _address(arm: ArmFacts, arms: tuple[ArmFacts, ArmFacts]) -> str:
    """What tells two endpoints of one target apart."""
    if _differ(arms, "target"):
        return ""
    host = arm.host if _differ(arms, "host") else ""
    return f"{host}:{arm.port}" if _differ(arms, "port") else host


def _differ(arms: tuple[ArmFacts, ArmFacts], *names: str) -> bool:
    return any(getattr(arms[0], name) != getattr(arms[1], name) for name in names)
