"""What is typed on the home page: addresses and curl commands, also hostile ones."""

import base64

import pytest

from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, twin_of
from tests.values import read_typed

BASIC = base64.b64encode(b"ann:s3:cret").decode()


def place_of(text: str) -> tuple[str, str, int, str]:
    request = read_typed(text)
    return request.scheme, request.host, request.port, request.path


def test_an_address_is_split():
    for text, place in [
        ("https://shop.lan:8443/prices?limit=20", ("https", "shop.lan", 8443, "/prices?limit=20")),
        ("http://shop.lan", ("http", "shop.lan", 80, "/")),
        ("  HTTPS://Shop.LAN/A ", ("https", "shop.lan", 443, "/A")),
        ("shop.lan", ("http", "shop.lan", 80, "/")),
        ("shop.lan:8443", ("https", "shop.lan", 8443, "/")),
        ("localhost:3000/a", ("http", "localhost", 3000, "/a")),
        ("//shop.lan/a", ("http", "shop.lan", 80, "/a")),
        ("http://[::1]:8081/a", ("http", "::1", 8081, "/a")),
        ("http://10.0.0.5?x=1", ("http", "10.0.0.5", 80, "/?x=1")),
        ("http://shop.lan/a#part", ("http", "shop.lan", 80, "/a")),
        ("http://shop.lan/café", ("http", "shop.lan", 80, "/caf%C3%A9")),
        ("http://bücher.example/", ("http", "xn--bcher-kva.example", 80, "/")),
        ("http://shop.lan/a%20b", ("http", "shop.lan", 80, "/a%20b")),
    ]:
        assert place_of(text) == place


def test_what_is_no_address_gets_a_sentence():
    for text, words in [
        ("", "Enter an address"),
        ("   ", "Enter an address"),
        ("http://", "name or an address"),
        ("ftp://shop.lan/", "ftp cannot be measured"),
        ("file:///etc/passwd", "file cannot be measured"),
        ("gopher://127.0.0.1:6379/_FLUSHALL", "gopher cannot be measured"),
        ("wss://shop.lan/chat", "ws or wss endpoint"),
        ("http://shop.lan:99999/", "99999 is not a port"),
        ("http://shop.lan:0/", "0 is not a port"),
        ("http://shop.lan:８０/", "is not a port"),
        ("http://shop lan/", "no spaces"),
        ("http://shop.lan/\r\nHost: other", "no spaces or line breaks"),
        ("http://shop.lan/\x00", "no spaces or line breaks"),
        ("http://shop..lan/", "is not a name"),
        ("http://[::1/", "is not a host"),
        ("http://[fe80::1%25eth0]/", "leave out the zone"),
        ("http://2130706433/", "is not a name"),
        ("http://@shop.lan/", "user name is missing"),
        ("javascript:alert(1)", "is not a port"),
        ("a" * 100_001, "100,001 characters"),
    ]:
        with pytest.raises(NotUnderstood, match=words.replace("(", r"\(")):
            read_typed(text)


def test_a_host_hidden_behind_a_user_is_the_host_that_is_asked():
    request = read_typed("http://good.example@10.0.0.5/")
    assert (request.host, request.user) == ("10.0.0.5", "good.example")


def test_a_backslash_ends_the_host_as_in_browsers():
    assert place_of("http://shop.lan\\@10.0.0.5/")[1] == "shop.lan"


def test_a_curl_command_is_read():
    for text, method, headers, body in [
        ("curl http://a/", "GET", (), ""),
        ("curl -X DELETE http://a/", "DELETE", (), ""),
        ("curl -XPUT http://a/ -d x", "PUT", "form", "x"),
        ("curl -I http://a/", "HEAD", (), ""),
        ("curl http://a/ -d a=1 --data b=2", "POST", "form", "a=1&b=2"),
        ("curl http://a/ -d ''", "POST", "form", ""),
        ("curl http://a/ --data-raw '@me'", "POST", "form", "@me"),
        (
            "curl http://a/ --data-binary '<a/>' -H 'Content-Type: text/xml'",
            "POST",
            (("Content-Type", "text/xml"),),
            "<a/>",
        ),
        ("curl http://a/ --data-urlencode 'q=a b&c'", "POST", "form", "q=a+b%26c"),
        (
            "curl http://a/ --json '{}'",
            "POST",
            (("Content-Type", "application/json"), ("Accept", "application/json")),
            "{}",
        ),
        (
            "curl http://a/ -H 'X-A: 1' -H 'X-B;' -H 'Accept:'",
            "GET",
            (("X-A", "1"), ("X-B", "")),
            "",
        ),
        (
            "curl http://a/ -A me -e http://b/ -b 'a=1; b=2'",
            "GET",
            (("User-Agent", "me"), ("Referer", "http://b/"), ("Cookie", "a=1; b=2")),
            "",
        ),
        ("curl -sSvi -o /dev/null --http1.1 http://a/", "GET", (), ""),
        ("$ curl \\\n  http://a/ \\\r\n  -X PATCH", "PATCH", (), ""),
        ("curl http://a/ --data-raw $'it\\'s\\n\\u0041'", "POST", "form", "it's\nA"),
        ("curl -- http://a/", "GET", (), ""),
    ]:
        request = read_typed(text)
        form = (("Content-Type", "application/x-www-form-urlencoded"),)
        all_headers = form if headers == "form" else headers
        assert (request.method, request.headers, request.body) == (method, all_headers, body)


def test_get_moves_the_data_into_the_address():
    request = read_typed("curl -G 'http://a/?x=1' -d y=2 --data-urlencode 'z=ä b'")
    assert (request.method, request.path, request.body) == ("GET", "/?x=1&y=2&z=%C3%A4+b", "")


def test_credentials_are_kept_apart():
    for text, kind, user, secret in [
        ("curl -u ann:s3:cret http://a/", "basic", "ann", "s3:cret"),
        ("curl -uann:x http://a/", "basic", "ann", "x"),
        ("curl -u ann http://a/", "basic", "ann", None),
        ("https://ann:s3%3Acret@a/", "basic", "ann", "s3:cret"),
        (f"curl -H 'Authorization: Basic {BASIC}' http://a/", "basic", "ann", "s3:cret"),
        ("curl -H 'authorization: bearer tok.en' http://a/", "bearer", "", "tok.en"),
        ("curl --oauth2-bearer tok http://a/", "bearer", "", "tok"),
    ]:
        request = read_typed(text)
        assert (request.auth, request.secret) == ({"kind": kind, "user": user}, secret)
        assert request.headers == ()
        if secret:
            assert secret not in repr(request)
            assert secret not in request.text
            assert secret not in str(request.step)


def test_what_cannot_be_followed_gets_a_sentence():
    for text, words in [
        ("curl", "has no address"),
        ("curl -X", "-X needs a value"),
        ("curl --frobnicate http://a/", "--frobnicate is not understood"),
        ("curl 'http://a/", "not closed"),
        ("curl -b cookies.txt http://a/", "reads a file"),
        ("curl -x http://proxy http://a/", "would send the request elsewhere"),
        ("curl --unix-socket /run/docker.sock http://a/", "would send the request elsewhere"),
        ("curl --resolve a:80:b http://a/", "write it as in shop.example"),
        ("curl -K conf http://a/", "is not understood"),
        ("curl -X CONNECT http://a/", "CONNECT is not a method"),
        ("curl -H nonsense http://a/", "is not a header"),
        ("curl -H 'Authorization: Basic ***' http://a/", "not base64"),
        ("curl -u :x http://a/", "user name is missing"),
        ("curl http://a/\x00", "NUL"),
        ("curl file:///etc/passwd", "file cannot be measured"),
        ("curl http://a/" + "x" * 100_000, "100,009 characters"),
    ]:
        with pytest.raises(NotUnderstood, match=words):
            read_typed(text)


def test_insecure_is_read():
    assert read_typed("curl -k https://a/").is_insecure
    assert not read_typed("https://a/").is_insecure


def test_a_request_can_be_typed_again():
    for text in [
        "https://shop.lan:8443/prices?limit=20",
        "http://[::1]:8081/",
        "curl -X POST -H 'X-A: it'\"'\"'s' -H 'X-B;' --data-raw '@a\nb' -u ann -k https://a/b",
        "curl -X HEAD http://a/",
        "curl -X GET -H 'Content-Type: text/plain' --data-raw x http://a/",
        "curl -H 'Authorization: Bearer' http://a/",
        "curl --form-string a=@b --http2 --resolve a:443:10.0.0.5 https://a/",
        "curl --data-urlencode 'a=b c' https://a/",
    ]:
        request = read_typed(text)
        assert read_typed(request.text) == request
        assert (
            TypedRequest.of(
                (request.scheme, request.host, request.port),
                request.step,
                request.auth,
                is_insecure=request.is_insecure,
                http_version=request.http_version,
                pinned=request.pinned,
            )
            == request
        )


def test_the_other_scheme_is_looked_for_only_on_the_usual_port():
    for scheme, port, twin in [
        ("https", 443, ("http", 80)),
        ("http", 80, ("https", 443)),
        ("https", 8443, ("http", 8080)),
        ("http", 8080, ("https", 8443)),
        ("https", 8131, None),
        ("http", 8140, None),
    ]:
        assert twin_of(scheme, port) == twin
