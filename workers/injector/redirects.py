"""Workers that follow redirects: a call goes on where its reply sends it, and is one attempt.

Its first request goes as any other; each reply that redirects is kept back, and the last one ends
the attempt. Other origins have connections of their own, which a user keeps as it keeps its first.

A single request that follows redirects, each on a connection of its own."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from campaigns.domain.metrics.outcomes import Kind, redacted
from campaigns.domain.plan.addresses import host_key, is_address
from campaigns.domain.plan.plan import Resolve
from campaigns.domain.plan.session import NO_AUTH
from campaigns.domain.plan.step import (
    MOST_REDIRECTS,
    STATUSES,
    Redirects,
    Step,
    Url,
    own_host,
    step_after,
    without_credentials,
)
from campaigns.domain.plan.target import Origin
from workers.injector import http1
from workers.injector.attempt_row import Hops
from workers.injector.connection import Connection, Dialler
from workers.injector.guard import Guard
from workers.injector.http1 import Head
from workers.injector.lookup import Lookups
from workers.injector.order import Order
from workers.injector.recorder import Failure
from workers.injector.request import ReplyFault, wire_mode
from workers.injector.session import (
    Call,
    CheckedCall,
    FailureTap,
    SessionWorker,
    TakingCall,
    with_cookies,
)
from workers.injector.users import CookieJar

MOST_ORIGINS = 50
# Of one user, beside that to its own origin.
MOST_CONNECTIONS = 4


class OtherDialler(Dialler):
    """Opens connections to another origin, which count as the first one's, too."""

    def __init__(self, home: Dialler, order: Order, endpoint: Origin):
        guard = Guard(endpoint, order.allowed_under(endpoint.host), order.never)
        lookups = None
        if is_address(endpoint.dialled):
            guard.addresses = [endpoint.dialled]
        else:
            lookups = Lookups(endpoint.dialled, endpoint.port)
        common = home.reads, home.key_log, home.protocol
        super().__init__(endpoint, guard, order.mode, order.plan.timeouts, lookups, *common)
        self._home = home
        # Its connections close with those of the first one, and carry what is counted there.
        self.wire, self.lingering = home.wire, home.lingering
        self._asks_once = order.plan.resolve == Resolve.ONCE
        self._old_lookups: Lookups | None = None

    def note_open(self) -> None:
        super().note_open()
        self._home.note_open()

    def hang_up(self, connection: Connection) -> None:
        super().hang_up(connection)
        self._home.n_open -= 1

    def _look_up(self, worker: Any) -> list[str]:
        addresses = super()._look_up(worker)
        if self._asks_once and self._lookups is not None:
            self._guard.addresses = addresses
            # Others may still wait for its answer.
            self._old_lookups, self._lookups = self._lookups, None
        return addresses

    def close(self) -> None:
        self._lookups = self._lookups or self._old_lookups
        super().close()


class Origins:
    """Where the redirects of a plan may lead, and what opens connections there."""

    def __init__(self, order: Order, home: Dialler | None = None):
        """`home` opens connections to the first one; None for who dials by itself."""
        self._order = order
        self._home = home
        self.redirects = order.plan.redirects
        self._mode = wire_mode(order.plan, order.mode)
        self._diallers: dict[tuple[str, str, int], Dialler] = {}

    def first_place(self, step: Step) -> Url:
        endpoint = self._order.endpoint
        return Url(endpoint.scheme, endpoint.host.lower(), endpoint.port, step.path)

    def is_home(self, place: Url, step: Step) -> bool:
        """Whether it is the endpoint, by its own name or by the one that the step says in Host."""
        first = self.first_place(step)
        if place.origin == first.origin:
            return True
        host = own_host(step.headers)
        return bool(host) and place.origin == _origin_at(first.scheme, host)

    def has_room(self, place: Url) -> bool:
        return place.origin in self._diallers or len(self._diallers) < MOST_ORIGINS

    def dialler_to(self, place: Url) -> Dialler:
        dialler = self._diallers.get(place.origin)
        if dialler is None:
            endpoint = endpoint_at(self._order.endpoint, place)
            dialler = OtherDialler(self._home, self._order, endpoint)
            self._diallers[place.origin] = dialler
            self._home.others.append(dialler)
        return dialler

    def request_bytes(self, place: Url, step: Step) -> bytes:
        return http1.request_bytes(step, place.authority, self._mode, self._order.plan.http_version)


def endpoint_at(endpoint: Origin, place: Url) -> Origin:
    """The origin that a redirect leads to, with what of the endpoint goes for it as well: a name
    stays pinned to its address, authorities stay trusted. What proves who we are does not."""
    tls = replace(endpoint.tls, sni="", client_certificate_pem="", fingerprint="")
    is_same_host = host_key(place.host) == host_key(endpoint.host)
    return replace(
        endpoint,
        scheme=place.scheme,
        host=place.host,
        port=place.port,
        tls=tls,
        client_key_pem="",
        address=endpoint.address if is_same_host else "",
    )


@lru_cache(maxsize=64)
def _origin_at(scheme: str, authority: str) -> tuple[str, str, int] | None:
    """What a Host header names; None for what is no host."""
    try:
        return Url.parse(f"{scheme}://{authority.strip()}").origin
    except ValueError:
        return None


class CallWithRedirects:
    """What a call does besides: it keeps replies back that redirect it.

    `place` is where the request under way goes, `following` where its reply sends it, None at the
    end; `row` is that of the reply that was kept back. `n_hops`: redirects followed so far.
    """

    __slots__ = ()
    origins: Origins
    place: Url | None
    following: Url | None

    def begin(self, origins: Origins, step: Step) -> None:
        self.origins, self.first_step = origins, step
        self.place, self.following = origins.first_place(step), None
        self.n_hops = 0

    def go_on(self, data: bytes) -> Url:
        """To where the latest reply sends it, with these bytes."""
        self.send_next(data)
        self.place, self.following = self.following, None
        self.n_hops += 1

    def fault_in(self, reader: Any) -> ReplyFault | None:
        locations = http1.header_values(reader.head.headers, "location")
        if reader.head.status not in STATUSES or not locations:
            return super().fault_in(reader)
        try:
            place = self.place.led_to(locations[0])
        except ValueError as error:
            return ReplyFault(Kind.REDIRECT_FAILED, f"a Location to follow; {error}")
        if not self.origins.is_home(place, self.first_step):
            if self.origins.redirects == Redirects.SAME_ORIGIN:
                return super().fault_in(reader)
            if not self.origins.has_room(place):
                rule = f"at most {MOST_ORIGINS} other origins"
                return ReplyFault(Kind.REDIRECT_FAILED, rule, f"another one: {place}")
        if self.n_hops == MOST_REDIRECTS:
            rule = f"at most {MOST_REDIRECTS} redirects"
            return ReplyFault(Kind.REDIRECT_FAILED, rule, f"another one, to {place}")
        self.following = place
        return None

    def remember(self, first: bytes, head: Head) -> None:
        """A reply that redirects must be read each time."""
        if self.following is None:
            super().remember(first, head)

    def _record(self, marks: tuple[int, ...]) -> None:
        if self.following is None:
            super()._record(marks)
        else:
            self.row = marks


_SLOTS = ("first_step", "following", "n_hops", "origins", "place", "row")


class RedirectedCall(CallWithRedirects, Call):
    __slots__ = _SLOTS


class CheckedRedirectedCall(CallWithRedirects, CheckedCall):
    __slots__ = _SLOTS


class TakingRedirectedCall(CallWithRedirects, TakingCall):
    __slots__ = _SLOTS


class FailureAfterRedirects:
    """Takes the failures of a call, and says where redirects had led it."""

    __slots__ = ("_call", "_failures")

    def __init__(self, call: CallWithRedirects, failures: Any):
        self._call, self._failures = call, failures

    def append(self, failure: Failure) -> None:
        if self._call.n_hops:
            where = f"after a redirect to {self._call.place}"
            failure = replace(failure, detail=", ".join(filter(None, (failure.detail, where))))
        self._failures.append(failure)


class FollowsRedirects:
    """What a worker does besides. `origins` is shared by all workers of an order."""

    __slots__ = ()
    origins: Origins
    call_types = RedirectedCall, CheckedRedirectedCall, TakingRedirectedCall

    def make_call(self, call: Any, is_last: bool, intended: int, start: int) -> float | None:
        pause_s = super().make_call(call, is_last, intended, start)
        if call.following is not None:
            hops = call.recorder.hops[start] = Hops()
            while call.following is not None:
                self.settle()
                pause_s = self._follow(call, hops, intended, start)
        return pause_s

    def _make_call(self, index: int) -> Any:
        call = super()._make_call(index)
        failures = FailureAfterRedirects(call, call.recorder.failures)
        if isinstance(call.failures, FailureTap):
            call.failures.failures = failures
        else:
            call.failures = failures
        return call

    def _bytes_of(self, call: Any, is_last: bool) -> bytes:
        data = super()._bytes_of(call, is_last)
        call.begin(self._context.origins, self._sent_step)
        return data

    def _follow(self, call: Any, hops: Hops, intended: int, start: int) -> float | None:
        """Send what the call's reply asks for, in the same attempt."""
        origins, place = self._context.origins, call.following
        self.keep_cookies(
            call, None if origins.is_home(call.place, call.first_step) else call.place.host
        )
        hops.add(call.row, call.size_bytes)
        call.recorder.lookups_us.pop(start, None)
        step = self._sent_step = step_after(self._sent_step, call.reader.head.status, place.path)
        if origins.is_home(place, call.first_step):
            call.go_on(self._context.make_bytes(self._with_cookies(step), False))
            return self.exchange(call, intended, start)
        step = self._with_cookies(without_credentials(step), (place.host, place.scheme == "https"))
        call.go_on(self.bytes_elsewhere(place, step))
        return self.exchange_elsewhere(call, intended, start)

    def _with_cookies(self, step: Step, origin: tuple[str, bool] | None = None) -> Step:
        jar = self.user.jar
        cookies = "" if jar is None else jar.header(step.path, origin)
        return with_cookies(step, cookies) if cookies else step

    def _note(self, call: Any, is_last: bool) -> None:
        """The cookies of the last reply are its own host's."""
        if call.n_hops and not self._context.origins.is_home(call.place, call.first_step):
            self.keep_cookies(call, call.place.host)
            call.reader = None
        super()._note(call, is_last)

    def leave(self) -> None:
        super().leave()
        self.leave_others()

    def wind_down(self) -> None:
        super().wind_down()
        self.leave_others()


class RedirectWorker(FollowsRedirects, SessionWorker):
    """`_others`: its connections to other origins, by dialler, the one used last at the end."""

    __slots__ = ("_others",)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._others: dict[Dialler, Connection] = {}

    def bytes_elsewhere(self, place: Url, step: Step) -> bytes:
        return self._context.origins.request_bytes(place, step)

    def exchange_elsewhere(self, call: Any, intended: int, start: int) -> float | None:
        """On a connection to another origin, while its own waits."""
        own = self.dialler, self.connection
        self.dialler = self._context.origins.dialler_to(call.place)
        self._lay_aside(self.connection)
        self.connection = self._others.pop(self.dialler, None)
        try:
            if self.connection is not None:
                self.connection.watcher.start(self.switch)
                self.check_for_strays()
            pause_s = self.exchange(call, intended, start)
            # What comes on the own connection says nothing of this reply.
            self.settle()
        finally:
            if self.connection is not None:
                self._lay_aside(self.connection)
                self._others[self.dialler] = self.connection
                if len(self._others) > MOST_CONNECTIONS:
                    dialler = next(iter(self._others))
                    dialler.hang_up(self._others.pop(dialler))
            self.dialler, self.connection = own
            if self.connection is not None:
                self.connection.watcher.start(self.switch)
        return pause_s

    def _lay_aside(self, connection: Connection | None) -> None:
        """Nobody waits for it: if the server closes it, that is seen when it is used again."""
        if connection is not None:
            connection.watcher.stop()

    def leave_others(self) -> None:
        while self._others:
            dialler, connection = self._others.popitem()
            dialler.hang_up(connection)


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
        locations = http1.header_values(answer["headers"], "location")
        if answer["error"] or answer["status"] not in STATUSES or not locations:
            return None
        try:
            place = self._place.led_to(locations[0])
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
        step = self._step = step_after(self._step, answer["status"], place.path)
        self._place = place
        order, is_home = self._order, self._is_home(place)
        if not is_home:
            step = without_credentials(step)
        if self._jar is not None:
            origin = None if is_home else (place.host, place.scheme == "https")
            if cookies := self._jar.header(place.path, origin):
                step = with_cookies(step, cookies)
        limits = order.plan.timeouts
        left_s = max(_SHORTEST_S, limits.total_s - self._way_us / 1e6)
        names = ("connect_s", "tls_s", "total_s")
        limits = replace(limits, **{name: min(getattr(limits, name), left_s) for name in names})
        plan = replace(order.plan, steps=(step,), timeouts=limits)
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
