"""How small a difference these runs could have shown."""

from math import expm1

from campaigns.domain.judged.ratio import RatioInterval
from campaigns.domain.special import t_quantile, t_reach

_POWER = 0.8


def smallest_shown(interval: RatioInterval) -> float:
    """The smallest true difference, as a share, whose interval would have excluded 0 with the
    probability `_POWER`: exp((t_0.975 + t_power) · se) − 1, with the interval's own standard error
    and degrees of freedom.
    """
    beyond = t_reach(interval.df) + t_quantile(_POWER, interval.df)
    return expm1(beyond * interval.se)
