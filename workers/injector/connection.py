"""One connection: dialled over TCP and TLS without ever blocking the hub, and timed on the way."""

import errno
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import gevent

from campaigns.domain.outcomes import Kind
from campaigns.domain.plan import ConnectionMode, Timeouts
from workers.injector import faults
from workers.injector.faults import AttemptFailed
from workers.injector.guard import Guard, family_of, peer_name
from workers.injector.order import Endpoint
from workers.injector.tls import make_tls_context
from workers.injector.wire import carried_by

READ, WRITE = 1, 2
NS = 1_000_000_000
_UNDER_WAY = {errno.EINPROGRESS, errno.EALREADY, errno.EINTR}
_CONNECTED = {0, errno.EISCONN}
_LINGER_NS = NS // 5
now = time.monotonic_ns


class Connection:
    """An open connection. `watcher` runs from dialling to closing, so that waiting costs a switch.

    `connected` and `secured` are the instants at which TCP and TLS were ready; 0 without TLS.
    """

    __slots__ = ("connected", "is_tls", "recv", "secured", "send", "sock", "watcher")

    def __init__(self, sock: socket.socket, watcher: Any, connected: int):
        self.sock = sock
        self.watcher = watcher
        self.connected = connected
        self.secured = 0
        self.is_tls = False
        self.send: Callable[[bytes], int] = sock.send
        self.recv: Callable[[int], bytes] = sock.recv

    def close(self) -> None:
        self.watcher.stop()
        self.watcher.close()
        self.sock.close()


class Dialler:
    """Opens connections to one endpoint, and remembers what they had in common."""

    def __init__(self, endpoint: Endpoint, guard: Guard, mode: ConnectionMode, timeouts: Timeouts):
        self._endpoint = endpoint
        self._guard = guard
        self._resumes = mode == ConnectionMode.RESUMED
        self._connect_ns = int(timeouts.connect_s * NS)
        self._tls_ns = int(timeouts.tls_s * NS)
        self._loop = gevent.get_hub().loop
        self._context = make_tls_context(endpoint) if endpoint.is_tls else None
        self._server_name = endpoint.tls.sni or endpoint.host
        self._session: ssl.SSLSession | None = None
        self._lingering: dict[Connection, int] = {}
        self.n_open = 0
        self._wire: Counter[str] = Counter()
        self.peers: Counter[str] = Counter()
        self.handshakes: Counter[tuple[str, str, int, bool]] = Counter()
        self.certificate: bytes | None = None

    def dial(self, worker: Any) -> Connection:
        """A connection for `worker`, which waits for it. Raises AttemptFailed."""
        connection = self._dial_first_that_answers(worker)
        self.n_open += 1
        worker.connection = connection
        worker.request.events["connections_opened"].append(connection.connected)
        if self._context is not None:
            self._secure(worker, connection)
        worker.limit = 0
        return connection

    def _dial_first_that_answers(self, worker: Any) -> Connection:
        addresses = self._guard.addresses
        for nth, address in enumerate(addresses, 1):
            try:
                connection = self._connect(worker, address)
            except AttemptFailed as failure:
                if nth == len(addresses) or failure.kind not in faults.TRY_NEXT_ADDRESS:
                    raise
                continue
            if nth > 1:
                self._guard.prefer(address)
            self.peers[peer_name(address, self._guard.port)] += 1
            return connection
        raise AttemptFailed(Kind.DNS_FAILED, "no address")

    def _connect(self, worker: Any, address: str) -> Connection:
        refusal = self._guard.refusal(address)
        if refusal:
            raise AttemptFailed(Kind.ADDRESS_REFUSED, refusal)
        worker.limit = now() + self._connect_ns
        try:
            sock = socket.socket(family_of(address), socket.SOCK_STREAM)
        except OSError as error:
            raise AttemptFailed(faults.of_connect(error.errno), str(error)) from None
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected = self._finish_connect(worker, sock, (address, self._guard.port))
            watcher = self._loop.io(sock.fileno(), READ)
        except BaseException:
            sock.close()
            raise
        watcher.start(worker.switch)
        return Connection(sock, watcher, connected)

    def _finish_connect(self, worker: Any, sock: socket.socket, peer: tuple[str, int]) -> int:
        code = sock.connect_ex(peer)
        if code == errno.EINPROGRESS:
            # On one machine the handshake is over by now: asking again saves a turn of the hub.
            code = sock.connect_ex(peer)
        while code in _UNDER_WAY:
            worker.wait_writable(sock.fileno(), Kind.CONNECT_TIMEOUT)
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code not in _CONNECTED:
            raise AttemptFailed(faults.of_connect(code), errno.errorcode.get(code, str(code)))
        return now()

    def _secure(self, worker: Any, connection: Connection) -> None:
        worker.limit = connection.connected + self._tls_ns
        try:
            tls = self._context.wrap_socket(
                connection.sock,
                do_handshake_on_connect=False,
                suppress_ragged_eofs=False,
                server_hostname=self._server_name,
                session=self._session if self._resumes else None,
            )
            connection.sock, connection.is_tls = tls, True
            self._shake_hands(worker, connection, tls)
        except (OSError, ValueError) as error:
            kind = faults.of_handshake(error) if isinstance(error, OSError) else Kind.TLS_HANDSHAKE
            raise AttemptFailed(kind, str(error)) from None
        connection.secured = now()
        connection.send, connection.recv = tls.write, tls.read
        self._note_handshake(worker, tls, connection.secured)

    def _shake_hands(self, worker: Any, connection: Connection, tls: ssl.SSLSocket) -> None:
        while True:
            try:
                tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                worker.park(Kind.TLS_TIMEOUT)
            except ssl.SSLWantWriteError:
                worker.wait_writable(tls.fileno(), Kind.TLS_TIMEOUT)

    def _note_handshake(self, worker: Any, tls: ssl.SSLSocket, instant: int) -> None:
        resumed = bool(tls.session_reused)
        name, _, bits = tls.cipher()
        self.handshakes[(tls.version(), name, bits, resumed)] += 1
        worker.request.events["tls_resumed" if resumed else "tls_full"].append(instant)
        if self.certificate is None:
            self.certificate = tls.getpeercert(binary_form=True)

    def keep_session(self, connection: Connection) -> None:
        """After a reply: a TLS 1.3 session can be resumed only once its ticket has been read."""
        if self._resumes and connection.is_tls:
            session = connection.sock.session
            if session is not None and session.has_ticket:
                self._session = session

    def hang_up(self, connection: Connection) -> None:
        self.n_open -= 1
        self._count_wire(connection)
        connection.close()

    def _count_wire(self, connection: Connection) -> None:
        wire, carried = self._wire, carried_by(connection.sock)
        wire["wire_sent"] += carried.wire_sent
        wire["wire_received"] += carried.wire_received
        wire["segments_sent"] += carried.segments_sent
        wire["segments_resent"] += carried.segments_resent

    def count_open(self, connections: Iterable[Connection]) -> None:
        """At the end: what the connections carried that nobody has given up yet."""
        for connection in (*connections, *self._lingering):
            self._count_wire(connection)

    def take_wire(self) -> Counter[str]:
        """What was counted since it was last taken."""
        taken, self._wire = +self._wire, Counter()
        return taken

    def linger(self, connection: Connection, note_ragged: Callable[[int], None]) -> None:
        """Wait a moment for the server to close a TLS connection; note if it does so raggedly."""

        def is_closed() -> bool:
            try:
                return not connection.recv(4096)
            except (ssl.SSLWantReadError, BlockingIOError):
                return False
            except OSError as error:
                if faults.is_ragged(error):
                    note_ragged(now())
                return True

        def look() -> None:
            if is_closed() and self._lingering.pop(connection, None):
                self.hang_up(connection)

        self._lingering[connection] = now() + _LINGER_NS
        connection.watcher.stop()
        connection.watcher.start(look)

    def sweep(self, instant: int) -> None:
        """Hang up what lingered long enough."""
        for connection, until in list(self._lingering.items()):
            if instant >= until:
                del self._lingering[connection]
                self.hang_up(connection)
