"""Prometheus' text format, line by line."""

import math
import time

import pytest

from campaigns.domain.metrics.exporter import NotExposition, check_exposition, samples_of

pytestmark = pytest.mark.pure


def only(line: str, name: str = "m"):
    (sample,) = samples_of(line, {name})
    return sample


def test_a_line_is_a_sample():
    for line, labels, value in [
        ("m 1", {}, 1),
        ("m -0.5", {}, -0.5),
        ("m\t1.25e+09", {}, 1.25e9),
        ("m 4.7E-7", {}, 4.7e-7),
        ("  m  3  ", {}, 3),
        ("m{} 1", {}, 1),
        ('m{a="b"} 1', {"a": "b"}, 1),
        ('m{a="b",} 1', {"a": "b"}, 1),
        ('m { a = "b" , c = "d" } 1', {"a": "b", "c": "d"}, 1),
        ('m{a="b"}1', {"a": "b"}, 1),
        ('m{a=""} 1', {"a": ""}, 1),
        ('m{a="} 9"} 1', {"a": "} 9"}, 1),
        (
            r'm{a="C:\\dir",b="say \"hi\"",c="two\nlines"} 1',
            {"a": "C:\\dir", "b": 'say "hi"', "c": "two\nlines"},
            1,
        ),
        (r'm{a="\\n"} 1', {"a": "\\n"}, 1),
        ('m{a="Zürich"} 1', {"a": "Zürich"}, 1),
        ("m 1 1395066363000", {}, 1),
        ("m 1 1395066363.123", {}, 1),
        ('m{a="b"} 1 -3982045', {"a": "b"}, 1),
        ('m 17 # {trace_id="oHg5SJ#YRHA0"} 9.8 1520879607.789', {}, 17),
        ("m +Inf", {}, math.inf),
        ("m -Inf", {}, -math.inf),
        ("m 1\r", {}, 1),
    ]:
        sample = only(line)
        assert (sample.name, sample.labels, sample.value) == ("m", labels, value)


def test_a_line_that_is_no_sample_is_named():
    for line in [
        "m",
        "m ",
        "m one",
        "m 1_000",
        "m 1 2 3",
        "m 1 #no-exemplar",
        'm{a="b" 1',
        'm{a="b} 1',
        "m{a=b} 1",
        "m{a} 1",
        'm{="b"} 1',
        'm{a="b"c="d"} 1',
        'm{a="b",a="c"} 1',
        "m{,} 1",
        "m}1",
        "m1{} 1 \x00",
    ]:
        with pytest.raises(NotExposition, match=r"^Line 3 is not in Prometheus' text format: m"):
            check_exposition(f"# HELP m some\n\n{line}\n")


def test_another_kind_of_text_is_none_of_its():
    for text in ["<!DOCTYPE html>\n<p>", '{"status": "ok"}', "\x1f\x8b\x08"]:
        with pytest.raises(NotExposition, match="Line 1 "):
            check_exposition(text)


def test_of_a_line_that_is_not_understood_only_the_beginning_is_shown():
    with pytest.raises(NotExposition) as fault:
        check_exposition("x" * 10_000 + "\x1b[31m")
    assert len(str(fault.value)) < 140
    with pytest.raises(NotExposition, match="�"):
        check_exposition("\x1b[31m")


def test_comments_and_empty_lines_are_none_and_neither_is_the_end_of_openmetrics():
    text = "# HELP m What it is: a # and a \\n.\n# TYPE m counter\n#\n   # indented\n\nm 1\n# EOF\n"
    check_exposition(text)
    assert [each.value for each in samples_of(text, {"m"})] == [1]


def test_only_lines_with_a_wanted_name_are_read():
    text = 'm_total 1\nm{a="b"} 2\nbroken{ 3\nother 4\n'
    assert [each.value for each in samples_of(text, {"m"})] == [2]


def test_a_hostile_line_takes_no_time():
    began = time.process_time()
    for line in ('m{a="' + '\\"' * 50_000, "m{" + '"a"' * 50_000, "m " + "1 " * 50_000):
        with pytest.raises(NotExposition):
            check_exposition(line)
    assert time.process_time() - began < 2
