"""Hostile TLS: certificates that are wrong in one way each, versions, stalls, cuts, alerts."""

import contextlib
import os
import socket
import ssl
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.injector.authority import CLIENT, authority, issue, server_context, weak_key
from tests.injector.hostile import HEAD, OK, SHORT, Case, cut, finish, stay, well

Context = Callable[[], ssl.SSLContext]
TLS_1_1, TLS_1_2, TLS_1_3 = (ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
_ALERT_HANDSHAKE_FAILURE = b"\x15\x03\x03\x00\x02\x02\x28"
_TOO_LONG = b"\xff\xff" + b"x" * 99
_UNREADABLE = b"\x17\x03\x03\x00\x20" + b"x" * 32
_HELLO_OF_9_9 = b"\x16\x09\x09\x00\x04\x02\x00\x00\x00"
_HELLO_HEADER = b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03"


@dataclass(frozen=True)
class TlsCase:
    """`context`: how the server speaks TLS; None where the script writes raw bytes itself."""

    kinds: tuple[str, ...]
    context: Context | None = None
    script: Callable = field(default_factory=lambda: well(OK))
    tls: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> Case:
        """The same as a case of the HTTP table; the tests' authority is the only one trusted."""
        fields = {"scheme": "https", "verify_tls": True, **self.fields}
        return Case(
            self.script, self.kinds, fields | {"tls": {"ca_pem": authority().pem} | self.tls}
        )


def shows(**fields: Any) -> Context:
    return lambda: server_context(issue(authority(), **fields))


def speaks(**options: Any) -> Context:
    return lambda: server_context(issue(authority()), **options)


def _of_another(**fields: Any) -> ssl.SSLContext:
    other = issue(is_authority=True, common_name="nobody knows me")
    return server_context(issue(other, **fields), sends=(other,))


def _under(sends_middle: bool, **fields: Any) -> Context:
    def make() -> ssl.SSLContext:
        middle = issue(authority(), common_name="middle", **{"is_authority": True, **fields})
        return server_context(issue(middle), sends=(middle,) if sends_middle else ())

    return make


def _huge_chain() -> ssl.SSLContext:
    leaf = issue(authority())
    return server_context(leaf, sends=(authority(),) * 400)


_CERTIFICATES = {
    "expired": ("tls_expired", shows(days=(-30, -1))),
    "expired a minute ago": ("tls_expired", shows(days=(-30, -1 / 1440))),
    "not yet valid": ("tls_not_yet_valid", shows(days=(1, 30))),
    "wrong address": ("tls_name", shows(names=("127.0.0.2",))),
    "name instead of the address": ("tls_name", shows(names=("shop.example",))),
    "no name but the common one": ("tls_name", shows(names=(), common_name="127.0.0.1")),
    "self-signed": ("tls_self_signed", lambda: server_context(issue())),
    "unknown authority": ("tls_unknown_issuer", _of_another),
    "unknown authority, expired": ("tls_unknown_issuer", lambda: _of_another(days=(-30, -1))),
    "other name, expired": ("tls_name", shows(names=("127.0.0.2",), days=(-30, -1))),
    "self-signed, not yet valid": ("tls_self_signed", lambda: server_context(issue(days=(1, 30)))),
    "weak key": ("tls_verify", shows(key=weak_key())),
    "meant for clients": ("tls_verify", shows(usage=CLIENT)),
    "middle not sent": ("tls_unknown_issuer", _under(sends_middle=False)),
    "middle is no authority": ("tls_verify", _under(sends_middle=True, is_authority=False)),
    "middle is expired": ("tls_expired", _under(sends_middle=True, days=(-30, -1))),
}
VERIFIED = {
    **{f"{name}, verified": TlsCase((kind,), make) for name, (kind, make) in _CERTIFICATES.items()},
    "right, but of an authority that the machine does not trust": TlsCase(
        ("tls_unknown_issuer",), shows(), tls={"ca_pem": ""}
    ),
    "right": TlsCase(("ok",), shows()),
    "right, with its middle": TlsCase(("ok",), _under(sends_middle=True)),
    "right for the name that is announced": TlsCase(
        ("ok",), shows(names=("shop.example",)), tls={"sni": "shop.example"}
    ),
    "wildcard": TlsCase(("ok",), shows(names=("*.shop.example",)), tls={"sni": "a.shop.example"}),
    "wildcard over two labels": TlsCase(
        ("tls_name",), shows(names=("*.shop.example",)), tls={"sni": "b.a.shop.example"}
    ),
    "huge chain": TlsCase(("tls_handshake",), _huge_chain),
}
UNVERIFIED = {
    f"{name}, not verified": TlsCase(("ok",), make, fields={"verify_tls": False})
    for name, (_, make) in _CERTIFICATES.items()
}
VERSIONS = {
    "TLS 1.0 and 1.1 only": TlsCase(("tls_handshake",), speaks(newest=TLS_1_1)),
    "TLS 1.2 only": TlsCase(("ok",), speaks(newest=TLS_1_2)),
    "TLS 1.2 only, 1.3 asked for": TlsCase(
        ("tls_handshake",), speaks(newest=TLS_1_2), tls={"min_version": "1.3"}
    ),
    "TLS 1.3 only, 1.2 asked for": TlsCase(
        ("tls_handshake",), speaks(oldest=TLS_1_3), tls={"max_version": "1.2"}
    ),
    "no cipher in common": TlsCase(
        ("tls_handshake",),
        speaks(newest=TLS_1_2, ciphers="ECDHE-ECDSA-AES256-GCM-SHA384"),
        tls={"ciphers": "ECDHE-ECDSA-AES128-GCM-SHA256"},
    ),
    "only ciphers that are too weak": TlsCase(
        ("tls_handshake",), speaks(newest=TLS_1_2, ciphers="NULL:aNULL:@SECLEVEL=0")
    ),
    "client certificate wanted, none given, 1.3": TlsCase(
        ("tls_handshake",), speaks(clients_of=authority())
    ),
    "client certificate wanted, none given, 1.2": TlsCase(
        ("tls_handshake",), speaks(clients_of=authority(), newest=TLS_1_2)
    ),
}


def raw(answer: bytes, then: Callable) -> Callable:
    """Read the client's hello, answer with bytes as they are, then `then`."""

    def script(sock, server):
        sock.recv(65536)
        sock.sendall(answer)
        then(sock)

    return script


def partly(n_flights: int, n_bytes: int, then: Callable, **options: Any) -> Callable:
    """A real handshake, of whose last flight only `n_bytes` are sent before `then`."""

    def script(sock, server):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = speaks(**options)().wrap_bio(incoming, outgoing, server_side=True)
        for flight in range(n_flights):
            incoming.write(sock.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.do_handshake()
            data = outgoing.read()
            sock.sendall(data[:n_bytes] if flight == n_flights - 1 else data)
        then(sock)

    return script


def _drip_hello(sock, server) -> None:
    sock.recv(65536)
    for byte in _HELLO_HEADER * 20:
        sock.sendall(bytes([byte]))
        time.sleep(0.05)


_POINTS = {
    "before its hello": lambda then: raw(b"", then),
    "in a record's header": lambda then: raw(_HELLO_HEADER[:3], then),
    "in its hello": lambda then: partly(1, 40, then),
    "in its certificate": lambda then: partly(1, 300, then),
    "before its finish": lambda then: partly(2, 0, then, newest=TLS_1_2),
}
_SLOW = {"timeouts": SHORT}
HANDSHAKES = {
    **{
        f"stalled {point}": TlsCase(("tls_timeout",), script=make(stay), fields=_SLOW)
        for point, make in _POINTS.items()
    },
    **{
        f"closed {point}": TlsCase(("tls_handshake",), script=make(finish))
        for point, make in _POINTS.items()
    },
    **{f"reset {point}": TlsCase(("reset",), script=make(cut)) for point, make in _POINTS.items()},
    "hello byte by byte": TlsCase(("tls_timeout",), script=_drip_hello, fields=_SLOW),
    "alert instead of a hello": TlsCase(
        ("tls_handshake",), script=raw(_ALERT_HANDSHAKE_FAILURE, stay)
    ),
    "HTTP instead of TLS": TlsCase(("tls_handshake",), script=raw(OK, stay)),
    "garbage instead of TLS": TlsCase(("tls_handshake",), script=raw(bytes(range(100, 200)), stay)),
    "a record of 64 kB": TlsCase(("tls_handshake",), script=raw(b"\x16\x03\x03" + _TOO_LONG, stay)),
    "a hello of version 9.9": TlsCase(("tls_handshake",), script=raw(_HELLO_OF_9_9, stay)),
    "data before the handshake is over": TlsCase(
        ("tls_handshake",), script=raw(b"\x17\x03\x03\x00\x02ok", stay)
    ),
}


def in_tls(*replies: bytes, raw_bytes: bytes = b"", resets: bool = False, unwraps=False):
    """Over proper TLS these replies, then raw bytes on TCP or another end."""

    def script(sock, server):
        server.read_request(sock)
        for reply in replies:
            sock.sendall(reply)
        if unwraps:
            sock.settimeout(1)
            sock.unwrap()
            return
        # TCP without its TLS.
        with socket.socket(fileno=os.dup(sock.fileno())) as tcp:
            tcp.sendall(raw_bytes)
            if resets:
                time.sleep(0.05)
                tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(sock.detach())
            if raw_bytes:
                time.sleep(0.2)

    return script


_PART = HEAD + b"Content-Length: 10\r\n\r\n12345"
SESSIONS = {
    name: TlsCase((kind,), shows(), script)
    for name, script, kind in (
        ("plaintext instead of a reply", in_tls(raw_bytes=OK), "http_parse"),
        ("plaintext in the middle of a reply", in_tls(_PART, raw_bytes=OK), "http_parse"),
        ("a record that does not decrypt", in_tls(raw_bytes=_UNREADABLE), "http_parse"),
        ("a record that is too long", in_tls(raw_bytes=b"\x17\x03\x03" + _TOO_LONG), "http_parse"),
        ("ragged end before a reply", in_tls(), "eof_before_reply"),
        ("ragged end in a reply", in_tls(_PART), "eof_mid_body"),
        ("ragged end of a body without length", in_tls(HEAD + b"\r\nhi"), "eof_mid_body"),
        ("proper end before a reply", in_tls(unwraps=True), "eof_before_reply"),
        ("proper end in a reply", in_tls(_PART, unwraps=True), "eof_mid_body"),
        ("reset before a reply", in_tls(resets=True), "reset"),
        ("reset in a reply", in_tls(_PART, resets=True), "reset"),
        ("stray reply in the same record", in_tls(OK + OK), "http_parse"),
    )
}
CASES = VERIFIED | UNVERIFIED | VERSIONS | HANDSHAKES | SESSIONS
