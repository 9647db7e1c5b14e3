"""What a plan expects of its replies and takes from them, as a server and the figures see it."""

import gzip
import json
import subprocess
import sys
import time
import zlib
from collections import Counter

import brotli
import pytest
import zstandard

from campaigns.domain.percentiles import P50
from campaigns.domain.plan.reply_rules import parse_check, parse_extract
from tests.injector.http2.h2_server import h2_server
from tests.injector.servers import Scripted, against, always, closed, measure
from tests.injector.test_replies import examples_of
from workers.injector.reply_check import BODY_BYTES, PATTERN_BYTES

DOCUMENT = {
    "status": "ok",
    "n": 5,
    "items": [{"id": 12345}, {"id": 7}],
    "flag": True,
    "no": None,
    'a"b': 1,
    "half": "\ud83d",
}


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def answering(**bodies: bytes):
    """Each path its own reply; others get 404."""

    def script(sock, server: Scripted) -> None:
        while (request := server.read_request(sock)) is not None:
            name = request.split()[1].decode().strip("/").partition("/")[0]
            sock.sendall(bodies.get(name) or reply(b"none", status="404 Not Found"))

    return script


def step(path: str = "/a", check: str = "", **fields) -> dict:
    lines = [check] if check else []
    return {"path": path, "checks": [parse_check(line) for line in lines], **fields}


def h2_against(body: bytes, **fields):
    """(what a load over HTTP/2 came to, its paths); each reply has this body."""

    def answer(headers, _):
        return 200, [("content-length", str(len(body)))], body

    with h2_server(answer) as (server, answers):
        return measure(server.port, plan={"http_version": "2"}, **fields), answers.by_path


def paths(server: Scripted) -> Counter:
    return Counter(request.split()[1].decode() for request in server.requests)


# --- a value that is missing ---------------------------------------------------------------------
TAKING = [step(extract=[parse_extract('id = body: "id":"(\\d+)"')]), step("/item/${id}")]


def test_a_reply_without_a_value_that_is_needed_is_a_failure_and_nothing_is_sent_without():
    for version in ["1.1", "2"]:
        if version == "1.1":
            result, server = against(always(reply(b"<p>busy")), steps=TAKING, load=closed(4))
            assert paths(server) == {"/a": 4}
        else:
            result, server_paths = h2_against(b"<p>busy", steps=TAKING, load=closed(4))
            assert set(server_paths) == {"/a"}
        assert result.total.errors == {"value_missing": 4}
        assert result.total.statuses == {"200": 4}
        (example, *_) = examples_of(result)
        assert 'expected id = body: "id":"(\\d+)"; the body begins: <p>busy' in example["detail"]
        assert example["reply"].endswith("<p>busy")


def test_a_value_that_may_miss_is_no_failure():
    taking = step(extract=[parse_extract("id? = json: $.id")])
    script = always(reply(b"{}"))
    result, server = against(script, steps=[taking, step("/item/${id}")], load=closed(4))
    assert result.total.errors == {}
    assert paths(server) == {"/a": 2, "/item/": 2}


def test_a_value_that_no_step_uses_is_no_failure():
    taking = step(extract=[parse_extract("id = json: $.id")])
    result, _ = against(always(reply(b"{}")), steps=[taking], load=closed(2))
    assert (result.total.errors, result.total.count("extract_missed")) == ({}, 2)


def test_a_step_that_needs_a_value_waits_for_the_one_that_gives_it():
    """Whatever the order says: here the one that needs it comes first."""
    steps = [step("/item/${id}"), step(extract=[parse_extract("id = json: $.id")])]
    script = answering(a=reply(b'{"id": 7}'), item=reply(b"it"))
    _, server = against(script, steps=steps, load=closed(4))
    assert paths(server) == {"/a": 3, "/item/7": 1}
    assert server.requests[0].startswith(b"GET /a ")


def test_a_value_comes_from_the_body_a_json_path_a_header_or_a_cookie():
    for line, value in [
        ("x = json: $.items[0].id", "12345"),
        ("x = json: $..id", "12345"),
        ("x = json: $.items[?@.id == 7].id", "7"),
        ("x = json: $.status", "ok"),
        ("x = json: $.flag", "true"),
        ("x = header X-Token", "t0k"),
        ("x = header x-token: (\\d)", "0"),
        ("x = cookie sid", "s1=="),
        ("x = cookie sid: (..)", "s1"),
        ("x = json: $.half", "%EF%BF%BD"),
        ("x = body: status. ?: .(o)", "o"),
    ]:
        cookies = ("Set-Cookie: sid=old; Max-Age=0", "Set-Cookie: sid=s1==; Path=/")
        headers = ("Set-Cookie: a=1", *cookies, "X-Token: t0k")
        script = answering(a=reply(json.dumps(DOCUMENT).encode(), *headers), got=reply(b""))
        steps = [step(extract=[parse_extract(line)]), step("/got/${x}")]
        result, server = against(script, steps=steps, load=closed(2))
        assert result.total.errors == {}
        assert paths(server) == {"/a": 1, f"/got/{value}": 1}


# --- checks --------------------------------------------------------------------------------------
def test_a_check_that_does_not_hold_fails_the_request_and_says_what_came():
    for line, came in [
        ("text: ok", ""),
        ("text: Welcome", "the body begins: {"),
        ("no text: Welcome", ""),
        ("no text: status", "there is status"),
        ("pattern: id.: \\d{5}", ""),
        ("pattern: ^id", "the body begins: {"),
        ("no pattern: \\d+", "there is 5"),
        ("json: $.items[1].id", ""),
        ("json: $.items[-1].id = 7", ""),
        ("json: $['a\"b'] = 1", ""),
        ("json: $.items.id", "nothing is at this path"),
        ("json: $.items[2].id", "nothing is at this path"),
        ("no json: $.error", ""),
        ("no json: $.n", "there is 5"),
        ("json: $.status = ok", ""),
        ('json: $.status = "ok"', ""),
        ("json: $.n = 5", ""),
        ("json: $.n = 6", "there is 5"),
        ("json: $.flag = 1", "there is true"),
        ("json: $.no = null", ""),
        ("json: $.items[*].id = 7", ""),
        ("no json: $.items[*].id = 7", "there is 7"),
        ("status: 200 204", ""),
        ("status: 3xx", "the status is 200"),
    ]:
        script = answering(a=reply(json.dumps(DOCUMENT).encode()))
        result, _ = against(script, steps=[step(check=line)], load=closed(3))
        assert result.total.errors == ({"check_failed": 3} if came else {})
        rows = [each.details for each in result.measurement.failures]
        assert rows == ([{f"expected {normal(line)}": 3}] if came else [])
        if came:
            assert examples_of(result)[0]["detail"].startswith(f"expected {normal(line)}; {came}")


def normal(line: str) -> str:
    return line.replace("= ok", '= "ok"')


def test_every_way_of_sending_checks_its_replies():
    """Each second reply is wrong, with the same head and length as a right one."""
    for fields in [
        {"plan": {"session": {"cookies": True}}},
        {"plan": {"session": {"pipeline_depth": 2}}},
        {"load": {"model": "open", "rate_per_s": 500, "requests": 10}},
        {"mode": "new"},
    ]:

        def script(sock, server):
            while server.read_request(sock) is not None:
                sock.sendall(reply(b"wrong" if server.n_requests % 2 == 0 else b"right"))

        load = fields.get("load", closed(10))
        result, _ = against(script, steps=[step(check="text: right")], **{**fields, "load": load})
        assert result.total.count("ok") == 5
        assert result.total.errors == {"check_failed": 5}
        (row,) = result.measurement.failures
        assert row.details == {"expected text: right": 5}, "the rule stands with its kind"


def test_over_http_2_each_reply_is_checked():
    result, _ = h2_against(b"fine", steps=[step(check="text: fine")], load=closed(3))
    assert (result.total.count("ok"), result.total.errors) == (3, {})
    result, _ = h2_against(b"poor", steps=[step(check="text: fine")], load=closed(3))
    assert result.total.errors == {"check_failed": 3}


def test_an_unexpected_status_is_what_happened_first():
    script = always(reply(b"no", status="500 Sorry"))
    result, _ = against(script, steps=[step(check="text: fine")], load=closed(1))
    assert result.total.errors == {"status_unexpected": 1}


# --- encoded bodies ------------------------------------------------------------------------------
def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def test_an_encoded_body_is_decoded_for_checks_and_values():
    for is_chunked in [False, True]:
        for coding, pack in [
            ("gzip", gzip.compress),
            ("deflate", zlib.compress),
            ("deflate", raw_deflate),
            ("br", brotli.compress),
            ("zstd", zstandard.compress),
            ("zstd", lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:])),
            ("gzip", lambda data: gzip.compress(data) + bytes(7)),
            ("br, gzip", lambda data: gzip.compress(brotli.compress(data))),
        ]:
            body = pack(json.dumps(DOCUMENT).encode())
            page = reply(body, f"Content-Encoding: {coding}")
            if is_chunked:
                head = page.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
                parts = [body[at : at + 5] for at in range(0, len(body), 5)]
                page = head + b"".join(
                    b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b"")
                )
            taking = step(check="text: 12345", extract=[parse_extract("id = json: $.items[0].id")])
            script = answering(a=page, item=reply(b"it"))
            result, server = against(script, steps=[taking, step("/item/${id}")], load=closed(6))
            assert result.total.errors == {}
            assert paths(server) == {"/a": 3, "/item/12345": 3}


def test_a_body_that_cannot_be_decoded_fails_its_checks():
    for coding, body, came in [
        ("gzip", b"no gzip at all", "the body is no gzip"),
        ("gzip", gzip.compress(b"fine " * 9, mtime=0)[:-4], "the body's gzip ends in the middle"),
        ("zstd", zstandard.compress(b"fine " * 99)[:-3], "the body's zstd ends in the middle"),
        ("sdch", b"fine", "nothing here decodes the body's coding sdch"),
    ]:
        script = always(reply(body, f"Content-Encoding: {coding}"))
        result, _ = against(script, steps=[step(check="text: fine")], load=closed(1))
        assert result.total.errors == {"check_failed": 1}
        assert came in examples_of(result)[0]["detail"]
        (row,) = result.measurement.failures
        assert row.details == {f"expected text: fine ({came})": 1}


def test_a_body_in_another_charset_is_searched_as_text():
    page = reply("Größe: 5".encode("latin-1"), 'Content-Type: text/html; charset="ISO-8859-1"')
    taking = step(check="text: Größe", extract=[parse_extract("n = body: Größe: (\\d)")])
    script = answering(a=page, item=reply(b"it"))
    result, server = against(script, steps=[taking, step("/item/${n}")], load=closed(4))
    assert result.total.errors == {}
    assert paths(server) == {"/a": 2, "/item/5": 2}


def test_json_that_is_not_utf_8_fails_its_check_and_says_so():
    for headers in [(), ("Content-Type: application/json; charset=unicode_escape",)]:
        script = always(reply(b'{"n":"\xfc\\ud83d"}', *headers))
        result, _ = against(script, steps=[step(check="json: $.n = x")], load=closed(1))
        assert result.total.errors == {"check_failed": 1}
    taking = step(extract=[parse_extract("id = json: $.id")])
    script = always(reply(b'{"id":"\xfc"}'))
    result, _ = against(script, steps=[taking, step("/${id}")], load=closed(1))
    assert result.total.errors == {"value_missing": 1}
    assert "the body is no JSON" in examples_of(result)[0]["detail"]


def test_a_charset_that_is_none_is_read_as_utf_8():
    for charset in ["base64", "rot13", "idna", "punycode", "undefined", "klingon"]:
        page = reply("Größe".encode(), f"Content-Type: text/html; charset={charset}")
        result, _ = against(always(page), steps=[step(check="text: Größe")], load=closed(1))
        assert result.total.errors == {}


@pytest.mark.long
def test_nothing_is_said_of_the_part_of_a_body_that_is_not_read():
    for coding in ["", "gzip"]:
        for line, size, read in [
            ("no text: error", BODY_BYTES, BODY_BYTES),
            ("text: error", BODY_BYTES, BODY_BYTES),
            ("no pattern: error", PATTERN_BYTES, PATTERN_BYTES),
            ("json: $.a", BODY_BYTES, BODY_BYTES),
        ]:
            body = b"[" * size + b" error"
            script = always(
                reply(gzip.compress(body), "Content-Encoding: gzip") if coding else reply(body)
            )
            result, _ = against(script, steps=[step(check=line)], load=closed(1))
            (row,) = result.measurement.failures
            assert row.details == {
                f"expected {line} (only the first {read:,} bytes of a body are read)": 1
            }


def test_the_worst_reply_keeps_the_injector_for_a_moment_only():
    for line in ["json: $..id", "json: $[?@[0]]", "text: x", "pattern: (a*)*x"]:
        script = always(reply(b"[" + b"[]," * 350_000 + b"[]]"))
        began = time.process_time()
        result, _ = against(script, steps=[step(check=line)], load=closed(3))
        assert result.total.errors == {"check_failed": 3}
        assert time.process_time() - began < 1


def test_a_small_body_that_unpacks_to_much_takes_little_time_and_memory():
    bomb = gzip.compress(b"x" * (1 << 28), 9)
    began = time.process_time()
    script = always(reply(bomb, "Content-Encoding: gzip"))
    result, _ = against(script, steps=[step(check="text: x")], load=closed(3))
    assert result.total.count("ok") == 3
    assert time.process_time() - began < 1


def test_what_a_check_takes_is_in_no_time_of_the_request():
    """A path through a large document takes much longer to follow than the reply to come."""
    body = json.dumps([{"id": n, "name": "x" * 20} for n in range(2_600)]).encode()
    path = step(check="json: $[?@.id == 2599]")
    result, _ = against(always(reply(body)), steps=[path], load=closed(20))
    assert result.total.errors == {}
    median_us = result.total.timing("response").percentile_us(P50)
    assert result.ends[0].duration_us > 4 * 20 * median_us


def test_what_a_plan_does_not_use_is_not_loaded():
    code = (
        "import sys; from tests.injector.servers import *\n"
        "with scripted(always(OK_REPLY)) as server: measure(server.port, steps=[{'path': '/'}])\n"
        "unused = {'jsonpath_rfc9535', 'msgspec', 'brotli', 'zstandard'}\n"
        "print(sorted(unused & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
