"""A failure says what went wrong beyond its kind, in the words that name one remedy."""

import re

import pytest

from campaigns.domain.metrics.outcomes import FailureRow, Kind
from campaigns.domain.presentation.what_to_do import DETAIL_REMEDIES, REMEDIES, remedy
from tests.injector.servers import against, always, make_order, measure, scripted
from workers.injector.cli_options import advice
from workers.injector.summary import LocalRun, run_here

HEAD = b"HTTP/1.1 200 OK\r\n"
OF_REPLIES = {
    HEAD
    + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok": "two different Content-Length headers",
    HEAD + b"Content-Length: -2\r\n\r\nok": "Content-Length is '-2'",
    HEAD + b"Content-Length: 2, 3\r\n\r\nok": "two different Content-Length headers",
    HEAD
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n": "Content-Length together with "
    "Transfer-Encoding",
    b"HTTP/1.1 999 Odd\r\n\r\n": "status 999",
    b"SSH-2.0-OpenSSH_9.2\r\n": r"not HTTP: b'SSH-2\.0-.*",
    b"\x15\x03\x03\x00\x02\x02\x46": "TLS on this port",
}


def detail_of(result: LocalRun) -> str:
    """The one detail of all failures."""
    (row,) = result.measurement.failures
    (detail,) = row.details
    assert row.details[detail] == row.count > 0
    return detail


def test_a_bad_reply_says_what_is_wrong_with_it():
    for reply in OF_REPLIES:
        result, _ = against(always(reply))
        assert re.fullmatch(OF_REPLIES[reply], detail_of(result))


def test_two_faults_of_a_certificate_have_two_remedies():
    detail = "issued by Acme, also expired on 2021-01-01"
    both = remedy("tls_unknown_issuer", 0, [detail])
    assert both.startswith(REMEDIES[Kind.TLS_UNKNOWN_ISSUER])
    assert both.endswith(REMEDIES[Kind.TLS_EXPIRED])
    assert remedy("tls_unknown_issuer", 0, ["issued by Acme"]) == REMEDIES[Kind.TLS_UNKNOWN_ISSUER]
    failure = FailureRow(0, "tls_unknown_issuer", 0, 1, details={detail: 1})
    options = [line.partition(" ")[0] for line in advice([failure])]
    assert options == ["--insecure", "--ca-file"]


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "plain HTTP on this port"),
        (b"<!DOCTYPE HTML>\n<html>Bad request</html>", "plain HTTP on this port"),
        (b"220 mail.example ESMTP\r\n", "no TLS on this port"),
    ],
)
def test_a_port_without_tls_is_named(answer, detail):
    def script(sock, _):
        sock.recv(65536)
        sock.sendall(answer)

    with scripted(script) as server:
        result = measure(server.port, scheme="https")
    assert detail_of(result) == detail
    assert remedy("tls_handshake", 0, [detail]) == DETAIL_REMEDIES[detail]


def test_a_reply_that_is_cut_off_says_where():
    result, _ = against(always(HEAD + b"Content-Length: 20\r\n\r\nok", then_close=True))
    assert detail_of(result) == "closed after 2 of 20 bytes of the body"


def test_details_reach_the_terminal_and_json():
    lengths = b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n"
    with scripted(always(HEAD + lengths)) as server:
        order = make_order(server.port)
        result = run_here(order, lambda second: None)
    words = "not an HTTP reply: two different Content-Length headers"
    (failure,) = result.to_json()["failures"]
    assert failure["words"] == words
    assert f"http_parse: {words}\n" in result.report("plain", order)


def test_equal_lengths_are_one():
    for lines in [b"Content-Length: 2\r\nContent-Length: 2", b"Content-Length: 2, 2"]:
        result, _ = against(always(HEAD + lines + b"\r\n\r\nok"))
        assert result.total.errors == {}


def test_a_secret_is_in_no_detail():
    result, _ = against(always(b"token=SECRET-1234\r\n"))
    assert "SECRET-1234" not in detail_of(result)
