"""A single request that follows redirects, each on a connection of its own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.redaction import redacted
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.redirects import (
    MOST_REDIRECTS,
    STATUSES,
    Redirects,
    Url,
    step_after,
    without_credentials,
)
from campaigns.domain.plan.session import NO_AUTH
from campaigns.domain.plan.step import Step
from workers.injector.cookies import CookieJar
from workers.injector.order import Order
from workers.injector.redirects import Origins, endpoint_at
from workers.injector.session import with_cookies

_SHORTEST_S = 0.001


def follow(
    order: Order, answer: dict[str, Any], attempt: Callable[[Order], dict[str, Any]]
) -> dict[str, Any]:
    """The last reply behind the redirects of the first `answer`, with `redirects`: the places on
    the way, their statuses and times. `attempt` makes one request of an order."""
    chain = _Chain(order)
    while (place := chain.place_behind(answer)) is not None:
        answer = attempt(chain.step_on(place, answer))
    return chain.whole(answer)


class _Chain:
    def __init__(self, order: Order):
        self._order = order
        self._origins = Origins(order)
        self._own = self._step = order.plan.steps[0]
        self._place = self._origins.first_place(self._own)
        endpoint = order.endpoint
        self._jar = (
            CookieJar(endpoint.host, endpoint.is_tls) if order.plan.session.cookies else None
        )
        self._way: list[dict[str, Any]] = []
        self._fault = ""

    def place_behind(self, answer: dict[str, Any]) -> Url | None:
        """Where a reply redirects to, if that is to be followed and can be."""
        location = _header(answer, "location")
        if answer["error"] or answer["status"] not in STATUSES or location is None:
            return None
        try:
            place = self._place.led_to(location)
        except ValueError as error:
            self._fault = str(error)
            return None
        if not self._is_home(place) and self._order.plan.redirects == Redirects.SAME_ORIGIN:
            return None
        if len(self._way) == MOST_REDIRECTS:
            self._fault = f"more than {MOST_REDIRECTS} redirects"
            return None
        return place

    def _is_home(self, place: Url) -> bool:
        return self._origins.is_home(place, self._own)

    def step_on(self, place: Url, answer: dict[str, Any]) -> Order:
        """The order of the next request; this reply is one on the way."""
        if self._jar is not None:
            host = None if self._is_home(self._place) else self._place.host
            headers = tuple((name, value) for name, value in answer["headers"])
            self._jar.take(headers, self._place.path, host)
        url = redacted(f"{self._place}{self._place.path}")
        hop = {"url": url, "status": answer["status"], "response_us": answer["response_us"]}
        self._way.append(hop)
        self._step = step_after(self._step, answer["status"], place.path)
        self._place = place
        return self._order_to(place)

    def _order_to(self, place: Url) -> Order:
        order, is_home = self._order, self._is_home(place)
        step = self._step if is_home else without_credentials(self._step)
        if self._jar is not None:
            origin = None if is_home else (place.host, place.scheme == "https")
            if cookies := self._jar.header(place.path, origin):
                step = with_cookies(step, cookies)
        plan = _with_less_time(order.plan, step, self._way_us)
        if is_home:
            return replace(order, plan=plan)
        return replace(
            order,
            plan=replace(plan, auth=NO_AUTH),
            secret="",
            endpoint=endpoint_at(order.endpoint, place),
            allowed=order.allowed_under(place.host),
        )

    @property
    def _way_us(self) -> int:
        return sum(each["response_us"] for each in self._way)

    def whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The last reply, as that of the whole request."""
        if self._fault:
            answer = answer | {"error": Kind.REDIRECT_FAILED, "detail": self._fault}
        if not self._way:
            return answer
        whole = {
            "parts_us": {"redirects": self._way_us} | answer["parts_us"],
            "response_us": self._way_us + answer["response_us"],
            "redirects": self._way,
            "url": redacted(f"{self._place}{self._place.path}"),
        }
        if not self._is_home(self._place):
            # Those of another origin are nothing for the endpoint to accept.
            whole["certificates_der_b64"] = []
        if answer["error"]:
            where = f"after a redirect to {self._place}"
            whole["detail"] = ", ".join(filter(None, (answer["detail"], where)))
        return answer | whole


def _header(answer: dict[str, Any], wanted: str) -> str | None:
    return next((value for name, value in answer["headers"] if name.lower() == wanted), None)


def _with_less_time(plan: Plan, step: Step, way_us: int) -> Plan:
    limits = plan.timeouts
    left_s = max(_SHORTEST_S, limits.total_s - way_us / 1e6)
    less = {name: min(getattr(limits, name), left_s) for name in ("connect_s", "tls_s", "total_s")}
    return replace(plan, steps=(step,), timeouts=replace(limits, **less))
