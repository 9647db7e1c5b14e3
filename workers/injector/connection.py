"""One connection: opened over TCP and TLS without blocking the hub, with its steps timed."""

import errno
import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.plan import ConnectionMode, Timeouts
from campaigns.domain.plan.target import Origin
from workers.injector import faults
from workers.injector.faults import AttemptFailed
from workers.injector.guard import Guard, family_of, peer_name
from workers.injector.lookup import Lookups
from workers.injector.read_delay import ReadSample
from workers.injector.tls_library import KeyLog
from workers.injector.wire import WireCount, has_undelivered

READ, WRITE = 1, 2
_NON_BLOCKING = socket.SOCK_STREAM | socket.SOCK_NONBLOCK
NS = 1_000_000_000
_BEGUN = {0, errno.EINPROGRESS, errno.EINTR}
_LINGER_NS = NS // 5
# What goes in one segment to a TCP that names no other size (RFC 9293, 3.7.1).
_ONE_SEGMENT_BYTES = 536
_RESET_AT_ONCE = struct.pack("@ii", 1, 0)  # of SO_LINGER: on, 0 s
now = time.monotonic_ns


class Waking:
    """While a greenlet waits, a timer or a socket of the hub's may wake it. No generator: some wait
    often."""

    __slots__ = ("_watcher",)

    def __init__(self, watcher: Any, wake: Callable[..., Any], *words: str):
        self._watcher = watcher
        watcher.start(wake, *words)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._watcher.stop()
        self._watcher.close()


class Socket(socket.SocketType):
    """The kernel's socket without the `socket.socket` layer, which costs µs per connection."""

    __slots__ = ()


class Connection:
    """An open connection. `watcher` runs from dialling to closing, so that waiting costs a switch.

    `connected_ns` and `secured_ns` are the instants at which TCP and TLS were ready. Without TLS,
    `secured_ns` is 0 and `tls` is None. `offered` is the session to resume, if any.
    `n_written` is how much of what it was dialled with the kernel has taken.
    `unread_ns` is how long the server's part of the handshake lay unread; None if nobody asks.
    `timer` is what stands in for `recv` when an attempt is timed, once one was. `peer`: where it
    goes, if load goes over all addresses of a name.
    """

    __slots__ = (
        "connected_ns", "n_written", "offered", "peer", "recv", "secured_ns", "send", "sock",
        "timer", "tls", "unread_ns", "watcher",
    )  # fmt: skip

    def __init__(self, sock: Socket, watcher: Any, connected_ns: int, n_written: int = 0):
        self.sock = sock
        self.tls: Any = None  # a Tls
        self.offered: Any = None
        self.watcher = watcher
        self.connected_ns = connected_ns
        self.n_written = n_written
        self.secured_ns = 0
        self.unread_ns: int | None = None
        self.timer: Any = None
        self.send: Callable[[bytes], int] = sock.send
        self.recv: Callable[[int], bytes] = sock.recv

    def hold_nothing_back(self) -> None:
        """Turn off Nagle's algorithm, by which what is written waits until the other side has
        acknowledged what was written before."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def has_rest(self) -> bool:
        """Whether TLS has more to be read of what has left the socket, which is then not readable
        for that."""
        return self.tls is not None and self.tls.has_rest

    def close(self) -> None:
        """The watcher is stopped, and free for another connection."""
        self.watcher.stop()
        if self.tls is not None:
            self.tls.close()
        self.sock.close()


class Dialler:
    """Opens connections to one endpoint and keeps what they share."""

    def __init__(
        self,
        endpoint: Origin,
        guard: Guard,
        mode: ConnectionMode,
        timeouts: Timeouts,
        lookups: Lookups | None = None,
        reads: ReadSample | None = None,
        key_log: KeyLog | None = None,
        protocol: str = "http/1.1",
    ):
        """`lookups`: resolve the host name for every connection, not once before the run. `reads`:
        times how late replies are read. `key_log`: gets the secrets of TLS. `protocol`: what ALPN
        offers, if the endpoint allows it.
        """
        self._guard = guard
        self._lookups = lookups
        self.reads = reads or ReadSample(is_on=False)
        self._connect_ns = int(timeouts.connect_s * NS)
        self._tls_ns = int(timeouts.tls_s * NS)
        self._total_ns = int(timeouts.total_s * NS)
        self.key_log, self.protocol = key_log, protocol
        self._loop = gevent.get_hub().loop
        self.offers_alpn = endpoint.is_tls and endpoint.tls.alpn
        self.tls = None
        if endpoint.is_tls:
            # Loaded only for TLS: OpenSSL takes 30 ms and 10 MB of each injector process.
            from workers.injector.tls_client import TlsClient

            resumes = mode == ConnectionMode.RESUMED
            self.tls = TlsClient(endpoint, protocol, resumes=resumes, key_log=key_log)
        self.lingering: dict[Connection, int] = {}
        # Of closed connections, for new ones: making one takes longer than all its use.
        self._watchers: deque[Any] = deque()
        self.n_open = 0
        self.wire = WireCount()
        # To the origins that redirects lead to.
        self.others: list[Dialler] = []
        self._n_by_address: Counter[str] = Counter()
        self._turn = self._burst = 0
        # As httperf counts it: connections begun within one turn of the hub; 1 if on schedule.
        self.longest_burst = 0
        # Without connections that only wait for the server to close after the last reply.
        self.most_at_once = 0
        # The least that the server allowed at a time on a connection, below the plan's streams.
        self.streams_limit: int | None = None

    def dial(self, worker: Any, first: bytes = b"", *, takes_turns: bool = False) -> Connection:
        """Open a connection while `worker` waits, and write `first` to it, or what of that fits;
        over TLS, nothing. Raises AttemptFailed.

        `takes_turns`: whatever is written later is short, and answers what the other side said.
        """
        first = first if self.tls is None else b""
        connection = self._dial_first_that_answers(worker, first)
        if not (takes_turns and 0 < len(first) <= _ONE_SEGMENT_BYTES):
            connection.hold_nothing_back()
        self.note_open()
        worker.connection = connection
        worker.request.events["connections_opened"].append(connection.connected_ns)
        if self.tls is not None:
            self._limit(worker, connection.connected_ns + self._tls_ns)
            self.reads.begin_handshake(worker, connection)
            self.tls.secure(worker, connection)
            connection.secured_ns = now()
            self.reads.end_handshake(worker, connection)
            is_resumed = self.tls.note(connection)
            events = worker.request.events["tls_resumed" if is_resumed else "tls_full"]
            events.append(connection.secured_ns)
        worker.limit = 0
        return connection

    def note_open(self) -> None:
        self.n_open += 1
        at_once = self.n_open - len(self.lingering)
        if at_once > self.most_at_once:
            self.most_at_once = at_once

    def _dial_first_that_answers(self, worker: Any, first: bytes) -> Connection:
        addresses = self._guard.addresses if self._lookups is None else self._look_up(worker)
        for nth, address in enumerate(addresses, 1):
            try:
                connection = self._connect(worker, address, first)
            except AttemptFailed as failure:
                if nth == len(addresses) or failure.kind not in faults.TRY_NEXT_ADDRESS:
                    raise
                continue
            if nth > 1 and self._lookups is None:
                self._guard.prefer(address)
            self._n_by_address[address] += 1
            return connection
        raise AttemptFailed(Kind.DNS_FAILED, "no address")

    def _limit(self, worker: Any, until: int) -> None:
        """A part of dialling ends with the whole attempt, which for a WebSocket nobody else cuts
        short."""
        whole = worker.began + self._total_ns
        worker.limit = until if until < whole else whole

    def _look_up(self, worker: Any) -> list[str]:
        """Resolve again; a single address that is not allowed refuses the connection."""
        start = now()
        self._limit(worker, start + int(self._lookups.limit_s * NS))
        addresses = self._lookups.ask(worker)
        for address in addresses:
            if refusal := self._guard.refusal(address):
                raise AttemptFailed(Kind.ADDRESS_REFUSED, refusal)
        worker.request.recorder.lookups_us[worker.began] = now() // 1000 - start // 1000
        return addresses

    def _connect(self, worker: Any, address: str, first: bytes) -> Connection:
        refusal = self._guard.refusal(address)
        if refusal:
            raise AttemptFailed(Kind.ADDRESS_REFUSED, refusal)
        self._limit(worker, now() + self._connect_ns)
        turn = self._loop.iteration
        burst = self._burst = self._burst + 1 if turn == self._turn else 1
        self._turn = turn
        if burst > self.longest_burst:
            self.longest_burst = burst
        try:
            sock = Socket(family_of(address), _NON_BLOCKING)
        except OSError as error:
            raise AttemptFailed(faults.of_connect(error.errno), str(error)) from None
        try:
            peer = address, self._guard.port
            connected_ns, n_written = self._connect_and_write(worker, sock, peer, first)
            if self._watchers:
                watcher = self._watchers.popleft()
                watcher.fd = sock.fileno()
            else:
                watcher = self._loop.io(sock.fileno(), READ)
        except BaseException:
            sock.close()
            raise
        watcher.start(worker.switch)
        return Connection(sock, watcher, connected_ns, n_written)

    def _connect_and_write(
        self, worker: Any, sock: Socket, peer: tuple[str, int], first: bytes
    ) -> tuple[int, int]:
        """(when TCP was ready, how much of `first` is written)."""
        code = sock.connect_ex(peer)
        while code in _BEGUN:
            # On loopback the handshake is over by now. To write, even nothing, tells whether it is,
            # and saves a second `connect` and a turn of the hub.
            ready = now()
            try:
                return ready, sock.send(first)
            except BlockingIOError:
                worker.wait_writable(sock.fileno(), Kind.CONNECT_TIMEOUT)
            except OSError as error:
                code = error.errno
        detail = errno.errorcode.get(code, str(code))
        raise AttemptFailed(faults.of_connect(code), detail, code)

    @property
    def peers(self) -> dict[str, int]:
        """How many connections were opened to each address and port."""
        counts = {peer_name(each, self._guard.port): n for each, n in self._n_by_address.items()}
        for other in self.others:
            for peer, n in other.peers.items():
                counts[peer] = counts.get(peer, 0) + n
        return counts

    def keep_session(self, connection: Connection) -> None:
        """After a reply: keep the TLS session for connections that resume it."""
        if self.tls is not None:
            self.tls.keep_session(connection)

    def hang_up(self, connection: Connection) -> None:
        self.n_open -= 1
        self.wire.add(connection.sock)
        connection.close()
        self._watchers.append(connection.watcher)

    def abandon(self, connection: Connection) -> None:
        """Hang up on what failed. A request that has not arrived is not to arrive any more: the
        kernel would send it again for minutes, after the end of the run as well."""
        if has_undelivered(connection.sock):
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_ONCE)
        self.hang_up(connection)

    def count_open(self, connections: Iterable[Connection]) -> None:
        """At the end: count what the connections carried that are still open."""
        for connection in (*connections, *self.lingering):
            self.wire.add(connection.sock)

    @property
    def has_wire(self) -> bool:
        """Whether connections carried something since the last call of `take_wire`."""
        return bool(self.wire)

    def take_wire(self) -> dict[str, int]:
        """The counters since the last call."""
        return self.wire.take()

    def linger(self, connection: Connection, note_ragged: Callable[[int], None]) -> None:
        """Give the server a moment to close a TLS connection; note an end without close_notify."""

        def is_closed() -> bool:
            try:
                return not connection.recv(4096)
            except BlockingIOError:
                return False
            except OSError as error:
                if faults.is_ragged(error):
                    note_ragged(now())
                return True

        def look() -> None:
            if is_closed() and self.lingering.pop(connection, None):
                self.hang_up(connection)

        self.lingering[connection] = now() + _LINGER_NS
        connection.watcher.stop()
        connection.watcher.start(look)

    def close(self) -> None:
        """At the end, when no more connections are opened."""
        for other in self.others:
            other.close()
        self.reads.close()
        for watcher in self._watchers:
            watcher.close()
        if self._lookups is not None:
            self._lookups.close()

    def sweep(self, instant: int) -> None:
        """Close connections that have lingered long enough."""
        for connection, until in list(self.lingering.items()):
            if instant >= until:
                del self.lingering[connection]
                self.hang_up(connection)
