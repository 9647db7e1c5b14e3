"""What the page of a single request says about its result."""

from datetime import UTC, datetime

from campaigns.models import Probe
from campaigns.probes.queries.probes import report_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PARTS = {"dns": None, "connect": 1000, "tls": 8000, "send": 90, "wait": 14_000, "receive": 600}


def report(**result):
    return report_of(Probe(result=result, request={}), NOW)


def test_the_parts_follow_each_other_with_equal_decimals():
    parts = report(status=200, parts_us=PARTS, response_us=23_690).parts
    assert [part.name for part in parts] == ["connect", "tls", "send", "wait", "receive"]
    assert parts[1].start_us == 1000
    assert [part.duration_ms for part in parts] == ["1.000", "8.000", "0.090", "14.000", "0.600"]


def test_the_days_until_and_since_the_end_of_a_certificate_are_counted():
    certificates = [
        {"subject": "x", "not_after": f"2026-{day}T12:00:00+00:00"} for day in ("12-01", "11-20")
    ]
    live, past = (report(status=200, certificates=[each]) for each in certificates)
    assert (live.certificate_days_left, past.certificate_days_ago) == (10, 1)


def test_an_empty_result_is_survived():
    assert report().parts == []


def test_redirects_on_the_way_are_listed_and_one_that_is_not_followed_is_told():
    redirect = {"url": "http://shop.example/", "status": 301, "response_us": 1500}
    with_redirect = report(status=200, parts_us={"redirects": 1500, **PARTS}, redirects=[redirect])
    assert with_redirect.redirects == [("http://shop.example/", "301", "1.50")]
    assert with_redirect.parts[0].name == "redirects"
    assert with_redirect.sentence == "200 OK, after 1 redirect."
    assert with_redirect.mend == ""
    assert "A plan can follow redirects." in report(status=302).mend
    narrow = Probe(result={"status": 302}, request={"redirects": "same_origin"})
    assert "another origin" in report_of(narrow, NOW).mend
