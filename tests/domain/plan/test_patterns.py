"""Patterns that cannot run away, and those that are refused."""

import random
import time

import pytest

from campaigns.domain.plan.body import PatternFault, bounded


def test_plain_patterns_find_what_they_say():
    for pattern, text, found in [
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
        assert (match and match[1]) == found


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
            compiled = bounded(pattern)
            began = time.process_time()
            assert compiled.search(text) is None
            assert time.process_time() - began < 1
