"""Patterns that cannot run away, and those that are refused."""

import time

import pytest

from campaigns.domain.plan.patterns import PatternFault, bounded


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"id=(\d+)", "a id=42;", "42"),
        (r'value="([^"]*)"', 'value=""', ""),
        (r"(a{2,3}?)b", "aaab", "aaa"),
        (r"x\{(\w+)\}", "x{name}", "name"),
        (r"[]*+](.)", "*y", "y"),
        (r"token\s{0,4}:\s{0,1}(\S{1,200})", "token : abc", "abc"),
        (r"(?", None, None),
    ],
)
def test_plain_patterns_find_what_they_say(pattern, text, found):
    if text is None:
        with pytest.raises(PatternFault):
            bounded(pattern)
        return
    assert bounded(pattern).search(text)[1] == found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "no pattern"),
        ("abc", "one pair of parentheses"),
        ("(a)(b)", "one pair"),
        ("(a+)+", "cannot be repeated"),
        ("(a|b){2}", "cannot be repeated"),
        ("(a)*", "cannot be repeated"),
        ("a++(b)", "cannot be repeated"),
        (r"(a)\1", "refers back"),
        ("(?:a)(b)", "not for here"),
        ("(?=a)(b)", "not for here"),
        (".*(x).*", "too long"),
        ("(a{1,3000})", "too long"),
        ("(a{1,})", "Write a repeat as"),
        ("([a-z)", "never closed"),
        ("(a", "cannot be read"),
        ("*(a)", "cannot be read"),
    ],
)
def test_others_are_refused_in_words(pattern, words):
    with pytest.raises(PatternFault, match=words):
        bounded(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a+(b)", "a" * 65536),
        (r"(a{1,2})a{0,1}a{1,500}b", "a" * 65536),
        (r"(\w{1,40})\w{1,40}!", "a" * 65536),
    ],
)
def test_the_worst_reply_takes_a_bounded_time(pattern, text):
    compiled = bounded(pattern)
    began = time.process_time()
    assert compiled.search(text) is None
    assert time.process_time() - began < 5
