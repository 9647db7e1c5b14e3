"""Numbers in templates: {{ run.p95_us|ms }}. Rounding and units are those of domain.units."""

from django import template

from campaigns.domain import units

register = template.Library()


@register.filter
def ms(value_us):
    """Microseconds as "18.9 ms"."""
    return units.ms(value_us)


@register.filter
def us(value_us):
    """Microseconds as they are: "18,900 µs"."""
    return units.us(value_us)


@register.filter
def percent(share):
    """A share of 1 as "0.38 %"."""
    return units.percent(share)


@register.filter
def count(value):
    """A whole number with separators: "60,000"."""
    return units.count(value)


@register.filter
def counted(value, nouns):
    """{{ 1|counted:"requests" }} as "1 request"."""
    return units.counted(value, nouns)


@register.filter
def rate(per_s):
    """Requests a second with three significant digits: "1,997"."""
    return units.rate(per_s)


@register.filter
def signed(value):
    """A difference with its sign: "+10.3", "−0.39"."""
    return units.figure(value, signed=True)


@register.filter
def dash(value):
    """The value, or a dash where there is none."""
    return units.DASH if value is None or value == "" else value
