"""Checks and extractions as people type them, and as a plan has them."""

import random
import time

import pytest

from campaigns.domain.plan.body import PatternFault, bounded
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.reply_rules import Extract, ReplyCheck, parse_check, parse_extract
from tests.domain.plan.reading import faults, read


def plan_of(**step) -> Plan:
    return read(steps=[{"path": "/", **step}])


def test_a_check_comes_back_as_it_was_typed():
    for line in [
        "text: Welcome, = all",
        "no text: error",
        "pattern: id=(\\d+) = 5",
        "json: $.items[0]['a b']",
        "no json: $.error",
        'json: $.status = "ok"',
        "json: $.n = 5",
        "json: $.flag = true",
        "json: $.nothing = null",
        "json: $[?@.a == 'x'].b = 1.5",
        "status: 200 3xx",
    ]:
        plan = plan_of(checks=[parse_check(line)])
        spec = plan.to_json()
        assert Plan.from_json(spec) == plan
        (check,) = spec["steps"][0]["checks"]
        assert ReplyCheck.from_json(check).line == line == plan.steps[0].checks[0].line


def test_an_extraction_comes_back_as_it_was_typed():
    for line in [
        'token = body: value="([^"]+)"',
        "id? = json: $.items[0].id",
        "place = header Location",
        "page? = header X-Page: page=(\\d+)",
        "sid = cookie sid",
        "half = cookie sid: (.+)=",
    ]:
        plan = plan_of(extract=[parse_extract(line)])
        spec = plan.to_json()
        assert Plan.from_json(spec) == plan
        assert Extract.from_json(spec["steps"][0]["extract"][0]).line == line


def test_a_text_to_compare_needs_no_quotes():
    assert parse_check("json: $.status = ok")["equals"] == "ok"
    assert parse_check('json: $.status = "5"')["equals"] == "5"
    assert parse_check("json: $.status = 5")["equals"] == 5


def test_what_cannot_be_done_is_refused_at_its_field():
    for step, path in [
        ({"checks": [parse_check("Welcome")]}, "checks.0.kind"),
        ({"checks": [parse_check("text: ")]}, "checks.0.value"),
        ({"checks": [parse_check("status: fine")]}, "checks.0.value"),
        ({"checks": [parse_check("pattern: (")]}, "checks.0.value"),
        ({"checks": [parse_check("json: status")]}, "checks.0.value"),
        ({"checks": [parse_check("json: $[?search(@.a, 'x')]")]}, "checks.0.value"),
        ({"checks": [parse_check("json: $..a..b")]}, "checks.0.value"),
        ({"checks": [{"kind": "text", "value": "a", "equals": "b"}]}, "checks.0.equals"),
        ({"checks": [{"kind": "json", "value": "$", "equals": [1]}]}, "checks.0.equals"),
        ({"checks": [{"kind": ["text"], "value": "a"}]}, "checks.0.kind"),
        ({"checks": [{"kind": "text", "value": "a", "absent": 1}]}, "checks.0.absent"),
        ({"checks": [parse_check("text: a")] * 21}, "checks"),
        ({"extract": [parse_extract("a = json: b")]}, "extract.0.pattern"),
        ({"extract": [parse_extract("a = body: ")]}, "extract.0.pattern"),
        ({"extract": [parse_extract("a = header X: b")]}, "extract.0.pattern"),
        ({"extract": [{"name": "a", "from": "cookie", "pattern": ""}]}, "extract.0.header"),
    ]:
        assert list(faults(steps=[{"path": "/", **step}])) == [f"steps.0.{path}"]


def test_a_step_without_checks_is_stored_as_before():
    plan = plan_of(extract=[parse_extract("a = body: (x)")]).to_json()
    assert "checks" not in plan["steps"][0]
    assert "may_miss" not in plan["steps"][0]["extract"][0]


def test_plain_patterns_find_what_they_say():
    for pattern, text, value in [
        (r"id=(\d+)", "a id=42;", "42"),
        (r'value="([^"]*)"', 'value=""', ""),
        (r"(a{2,3}?)b", "aaab", "aaa"),
        (r"x\{(\w+)\}", "x{name}", "name"),
        (r"[]*+](.)", "*y", "y"),
        (r"token\s{0,4}:\s{0,1}(\S{1,200})", "token : abc", "abc"),
        (r"(.{1,2048})", "abc", "abc"),
        (r"(?:id|key)=(\w+)", "key=é7", None),
        (r"(?:id|key)=(\S+)", "key=é7", "é7"),
        (r"((?:ab)+)c", "xababc", "abab"),
        (r".*name=(.*);.*", "name=bob; x", "bob"),
    ]:
        match = bounded(pattern).search(text)
        assert (match and match[1]) == value


def test_others_are_refused_in_words():
    for pattern, words in [
        ("", "no pattern"),
        ("a" * 501, "at most 500"),
        ("abc", "one pair of parentheses"),
        ("(a)(b)", "one pair"),
        ("a++(b)", "cannot be read: bad repetition operator"),
        (r"(a)\1", "cannot be read: invalid escape sequence"),
        ("(?=a)(b)", "cannot be read: invalid perl operator"),
        (r"(.{900})x", "too long"),
        ("((a{900}){900})", "cannot be read"),
        ("([a-z)", "cannot be read: missing ]"),
        ("(a", r"cannot be read: missing \)"),
        ("*(a)", "cannot be read: no argument"),
    ]:
        with pytest.raises(PatternFault, match=words):
            bounded(pattern)


_DRAWN = random.Random(1)
_ALIKE = "a" * 65536
_MIXED = "".join(_DRAWN.choice("ab") for _ in range(65536))


def test_the_worst_reply_takes_a_bounded_time():
    for pattern in [
        r"a+(b)c",
        r"(" + "a?" * 30 + ")c",
        r"((?:a|aa)+)c",
        r"(\w{1,40})\w{1,40}!",
        r"([ab]*a[ab]{60})c",
        r"(.*a.{120}b.{120})c",
        r"(.{0,480})Q",
    ]:
        for text in [_ALIKE, _MIXED]:
            expression = bounded(pattern)
            began = time.process_time()
            assert expression.search(text) is None
            assert time.process_time() - began < 1
