"""How small a difference these runs could have shown."""

from math import expm1

from campaigns.domain.judged.ratio import RatioInterval
from campaigns.domain.special import t_quantile

POWER = 0.8
_CONFIDENCE = 0.95


def smallest_shown(interval: RatioInterval, power: float = POWER) -> float:
    """The smallest true difference, as a share, whose interval would have excluded 0 with this
    probability: exp((t_0.975 + t_power) · se) − 1, with the interval's own standard error and
    degrees of freedom.
    """
    beyond = t_quantile((1 + _CONFIDENCE) / 2, interval.df) + t_quantile(power, interval.df)
    return expm1(beyond * interval.se)
