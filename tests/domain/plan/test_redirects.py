"""Where a redirect leads, and which plans can follow one."""

import pytest

from campaigns.domain.plan.questions import QUESTIONS
from campaigns.domain.plan.step import Url
from campaigns.domain.plan.typed_request import first_request
from tests.domain.plan.reading import faults, read

pytestmark = pytest.mark.pure

FROM = Url("https", "shop.example", 8443, "/a/b?x=1")
ARRIVING = {"model": "open", "rate_per_s": 1, "requests": 2}


def test_a_location_is_read_as_a_browser_does():
    for location, origin, path in [
        ("/c", FROM.origin, "/c"),
        ("d?y=2", FROM.origin, "/a/d?y=2"),
        ("?y", FROM.origin, "/a/b?y"),
        ("", FROM.origin, "/a/b?x=1"),
        ("../../q#top", FROM.origin, "/q"),
        ("//o.example/z", ("https", "o.example", 443), "/z"),
        ("http://O.example", ("http", "o.example", 80), "/"),
        ("http://user:word@o.example:81/", ("http", "o.example", 81), "/"),
        ("https://[fc00::5]/x", ("https", "fc00::5", 443), "/x"),
        ("/caf\xe9 1", FROM.origin, "/caf%E9%201"),
        ("/\\evil.example/", FROM.origin, "/\\evil.example/"),
    ]:
        to = FROM.led_to(location)
        assert (to.origin, to.path) == (origin, path)


def test_a_location_that_leads_nowhere_is_told():
    for location in [
        "ftp://a/",
        "javascript:alert(1)",
        "http://",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://a:0/",
        "http://a:99999/",
        "http://a:x/",
        "//[::/",
        "http://169.254.169.254/",
        "http://[::]/",
        "http://[fe80::1%25eth0]/",
        "/" + "x" * 9000,
    ]:
        with pytest.raises(ValueError, match=r"\w"):
            FROM.led_to(location)


def test_what_cannot_follow_is_said_at_its_field():
    for spec in [
        {"redirects": "same_origin", "session": {"pipeline_depth": 2}},
        {
            "redirects": "same_origin",
            "load": {"model": "window", "low": 1, "high": 2, "requests": 5},
        },
        {"redirects": "all", "load": ARRIVING | {"arrival_unit": "connection"}},
        {"redirects": "some"},
    ]:
        assert list(faults(**spec)) == ["redirects"]


def test_the_first_request_follows_as_the_plan_does():
    request = first_request(read(redirects="same_origin", session={"cookies": True}))
    assert (request["redirects"], request["cookies"]) == ("same_origin", True)
    assert "redirects" not in first_request(read())


def test_http_that_redirects_to_https_is_not_compared_with_itself():
    step = {"method": "GET", "path": "/"}
    specs = {key: each.spec(step, {}, redirects="all") for key, each in QUESTIONS.items()}
    follows = {key: spec["redirects"] for key, spec in specs.items()}
    assert {key for key, each in QUESTIONS.items() if each.compares_schemes} == {
        key for key, redirects in follows.items() if redirects == "same_origin"
    }
