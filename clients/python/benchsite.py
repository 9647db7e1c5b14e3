#!/usr/bin/env python3
"""Measures with benchsite in a CI job, and fails the job when a release is slower.

    benchsite.py doctor
    benchsite.py run --campaign "Checkout at 200/s" --fail-if "p95 slower than baseline by 10 %"
    benchsite.py run --url https://preview.example/ --against https://main.example/
    benchsite.py apply benchsite.yaml

Reads BENCHSITE_URL and BENCHSITE_TOKEN. Needs Python 3.8 or newer and nothing else.
Exit codes: 0 passed, 1 slower or a rule is broken, 2 usage or refused, 3 too close to call
(with --strict), 4 could not measure.
"""

import argparse
import csv
import hashlib
import io
import itertools
import json
import os
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from functools import cached_property
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

VERSION = "0.1.0"
PASSED, FAILED, USAGE, TOO_CLOSE, NOT_MEASURED = range(5)
LONGEST_COMMENT = 65536  # GitHub's limit for a comment and for a check run's summary
WAIT_S = 50  # below the 60 s of most proxies
TRY_FOR_S = 300
ANSWER_WITHIN_S = 30
Json = Dict[str, Any]


class Stop(Exception):
    """Ends the program with a sentence on stderr and an exit code."""

    def __init__(self, sentence: str, code: int = USAGE):
        super().__init__(sentence)
        self.code = code


class HttpError(Stop):
    def __init__(self, sentence: str, status: int):
        super().__init__(sentence, NOT_MEASURED if status == 429 or status >= 500 else USAGE)
        self.status = status


# --- HTTP ----------------------------------------------------------------------------------------
class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token to another host."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        raise Stop("%s redirects to %s. Use that address." % (req.full_url, newurl))


class Api:
    """JSON over HTTP with a token. `patience_s`: for how long a busy or absent server is asked
    again."""

    def __init__(self, base: str, token: str, patience_s: float = TRY_FOR_S):
        self.base = base.rstrip("/") + "/"
        self.patience_s = patience_s
        self._opener = urllib.request.build_opener(_NoRedirect)
        agent = "benchsite-ci/" + VERSION
        self._headers = {"Authorization": "Bearer " + token, "User-Agent": agent}

    def get(self, path: str, **query: Any) -> Any:
        suffix = "?" + urllib.parse.urlencode(query) if query else ""
        try:
            return json.loads(self.text("GET", path + suffix))
        except ValueError:
            raise Stop("%s does not answer in JSON. Check the address." % self.base) from None

    def send(self, method: str, path: str, body: Optional[Json] = None) -> Any:
        return json.loads(self.text(method, path, {} if body is None else body))

    def rows(self, path: str, **query: Any) -> Iterator[Json]:
        """Of all pages of a list."""
        for page in itertools.count(1):
            page_rows = self.get(path, page=page, page_size=200, **query)
            yield from page_rows["results"]
            if not page_rows["next"]:
                return

    def text(self, method: str, path: str, body: Union[Json, bytes, None] = None) -> str:
        """A body in bytes is YAML."""
        until, pause_s = time.monotonic() + self.patience_s, 1.0
        while True:
            try:
                return self._once(method, path, body)
            except (HttpError, OSError) as error:
                if not self._is_worth_another(method, error) or time.monotonic() > until:
                    if isinstance(error, Stop):
                        raise
                    why = "%s does not answer: %s." % (self.base, getattr(error, "reason", error))
                    raise Stop(why, NOT_MEASURED) from None
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, 30.0)

    def _once(self, method: str, path: str, body: Union[Json, bytes, None]) -> str:
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        kind = "application/yaml" if isinstance(body, bytes) else "application/json"
        headers = dict(self._headers, **{"Content-Type": kind})
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=WAIT_S + ANSWER_WITHIN_S) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            raise _http_error(error, self.base + path) from None

    @staticmethod
    def _is_worth_another(method: str, error: Exception) -> bool:
        """What may have changed something is sent again only if nobody took it."""
        if isinstance(error, HttpError):
            return error.status in ((429, 503) if method != "GET" else (429, 502, 503, 504))
        reason = getattr(error, "reason", error)
        return method == "GET" or isinstance(reason, (ConnectionRefusedError, socket.gaierror))


def _http_error(error: urllib.error.HTTPError, url: str) -> HttpError:
    """With the sentence of benchsite, or of GitHub."""
    try:
        answer = json.loads(error.read().decode("utf-8", "replace"))
        fault = answer.get("error", answer)
        fields = fault.get("fields") or {}
        options = {"limit_s": "--seconds"}  # that fields of REST are
        words = [fault["message"], *("%s: %s" % (options.get(k, k), v) for k, v in fields.items())]
    except (ValueError, AttributeError, KeyError):
        words = ["%s answers %d." % (url, error.code)]
    return HttpError("\n  ".join(words), error.code)


# --- what fails the job --------------------------------------------------------------------------
_SLOWER = re.compile(
    r"(?:(?P<metric>[a-z]+|p\d+(?:\.\d+)?)\s+)?slower(?:\s+than\s+(?:the\s+)?baseline)?"
    r"(?:\s+by)?(?:\s+more\s+than)?\s*>?\s*(?P<limit>\d+(?:\.\d+)?)\s*%",
    re.IGNORECASE,
)
_ERRORS = re.compile(r"errors\s*>\s*(?P<limit>\d+(?:\.\d+)?)\s*%", re.IGNORECASE)
_METRICS = {"": (), "median": ("typical", "p50"), "average": ("mean",)}


class Rule(NamedTuple):
    """`metrics`: the first of these that was compared; () for the one of the verdict."""

    text: str
    is_of_errors: bool
    limit: float  # a share
    metrics: Tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> "Rule":
        errors, slower = _ERRORS.fullmatch(text), _SLOWER.fullmatch(text)
        if errors:
            return cls(text, True, float(errors["limit"]) / 100)
        if not slower:
            usage = "write “p95 slower than baseline by 10 %” or “errors > 1 %”."
            raise Stop("--fail-if %r: %s Limits in ms are rules of the plan." % (text, usage))
        name = (slower["metric"] or "").lower()
        return cls(text, False, float(slower["limit"]) / 100, _METRICS.get(name, (name,)))

    def metric_of(self, comparison: Json) -> Optional[Json]:
        metrics = comparison["metrics"]
        if not self.metrics:
            return metrics[0] if metrics else None
        metric_by_name = {each["metric"]: each for each in metrics}
        return next((metric_by_name[name] for name in self.metrics if name in metric_by_name), None)


def rules_of(options: argparse.Namespace) -> List[Rule]:
    lines = "\n".join(options.fail_if).splitlines()
    return [Rule.read(line.strip()) for line in lines if line.strip()]


class Result(NamedTuple):
    """One thing that was judged, and a sentence on it. `state`: passed, failed, open."""

    name: str
    state: str
    text: str


def judge(verdict: Json, tests: Sequence[Json], rules: Sequence[Rule]) -> List[Result]:
    """The plans' own rules, then those of the job; without any, each comparison's word."""
    judgements = [
        Result(each["rule"], "failed", "%(rule)s is broken: %(worst)s at worst." % each)
        for each in verdict["broken_rules"]
    ]
    for rule in rules:
        if rule.is_of_errors:
            judgements += [_judge_errors(rule, test) for test in _candidates(verdict, tests)]
        else:
            judgements += [_judge_slower(rule, each) for each in verdict["comparisons"]]
    return judgements + ([] if rules else [_judge_word(each) for each in verdict["comparisons"]])


def _candidates(verdict: Json, tests: Sequence[Json]) -> List[Json]:
    """The tests that are compared with something; all, where none is."""
    compared_ids = {each["candidate_test"] for each in verdict["comparisons"]}
    return [each for each in tests if each["test"] in compared_ids] or list(tests)


def _judge_errors(rule: Rule, test: Json) -> Result:
    n, errors = test["n"] or 0, test["errors"] or 0
    share = errors / (n + errors) if n + errors else 0.0
    state = "failed" if share > rule.limit else "passed"
    values = (errors, n + errors, test["name"], _percent(share))
    text = "%d of %d requests of %s failed (%s)." % values
    return Result("%s: %s" % (test["name"], rule.text), state, _with_limit(text, rule))


def _judge_slower(rule: Rule, comparison: Json) -> Result:
    """Failed if the whole interval is beyond the limit; open if a part of it is."""
    name, metric = "%s: %s" % (comparison["label"], rule.text), rule.metric_of(comparison)
    if metric is None:
        why = comparison["why"] or "Measure longer, or judge the median."
        return Result(name, "open", "%s cannot be judged. %s" % (comparison["label"], why))
    averages = {"typical": "at the median", "p50": "at the median", "mean": "on average"}
    at = averages.get(metric["metric"], "at " + metric["metric"])
    values = (comparison["label"], _ends(metric), comparison["names"][0], at)
    text = _with_limit("%s is %s than %s %s." % values, rule)
    if metric["low"] > 1 + rule.limit:
        return Result(name, "failed", text)
    return Result(name, "open" if metric["high"] > 1 + rule.limit else "passed", text)


def _judge_word(comparison: Json) -> Result:
    label, word, baseline = comparison["label"], comparison["word"], comparison["names"][0]
    if not word:
        return Result(label, "open", "%s cannot be judged. %s" % (label, comparison["why"]))
    verb, against = {
        "no practical difference": ("shows", "from"),
        "too close to call": ("is", "against"),
    }.get(word, ("is", "than"))
    bound = " (%s)" % comparison["bound"] if comparison["bound"] else ""
    text = " ".join((label, verb, comparison["said"], against, baseline + bound + "."))
    states = {"slower": "failed", "too close to call": "open"}
    return Result(label, states.get(word, "passed"), text)


def _with_limit(text: str, rule: Rule) -> str:
    return "%s The limit is %s." % (text, _percent(rule.limit))


def _percent(share: float) -> str:
    """In two digits."""
    return "%.*f %%" % (0 if abs(share) >= 0.0995 or share == round(share, 2) else 1, 100 * share)


def _ends(metric: Json) -> str:
    """9.8 % to 14 % slower; 2.0 % faster to 0.3 % slower; 3.6 to 4.1 × slower"""
    low, high = metric["low"], metric["high"]
    if low >= 2:
        return "%.2g to %.2g × slower" % (low, high)
    ends = [_percent(abs(each - 1)) for each in (low, high)]
    if low < 1 < high:
        return "%s faster to %s slower" % (ends[0], ends[1])
    ends = ends if low >= 1 else ends[::-1]
    return "%s %s" % (" to ".join(dict.fromkeys(ends)), "slower" if low >= 1 else "faster")


class Report(NamedTuple):
    """What is written everywhere. `tests`: name, test, n, errors, and times in ms."""

    site: "Site"
    campaign: Json
    verdict: Json
    tests: List[Json]
    results: List[Result]
    code: int
    headline: str
    url: str


def report_of(site: "Site", campaign: Json, options: argparse.Namespace) -> Report:
    verdict, tables = campaign["verdict"], site.api.get("campaigns/%d/tables/" % campaign["id"])
    tests = [
        dict(row["values"], test=each["test"], name="%s, %s" % (each["plan"], each["label"]))
        for each in tables["tests"]
        for row in each["table"]["rows"]
        if row["kind"] == "pooled"
    ]
    rules = rules_of(options)
    results = judge(verdict, tests, rules)
    states = {each.state for each in results}
    code = FAILED if "failed" in states else PASSED
    code = TOO_CLOSE if code == PASSED and options.strict and "open" in states else code
    code = code if verdict["measured"] else NOT_MEASURED
    relative = [rule.text for rule in rules if not rule.is_of_errors]
    if code == PASSED and relative and not (verdict["comparisons"] or options.save_baseline):
        raise Stop("No test has a baseline for %r. Run once with --save-baseline." % relative[0])
    headline = headline_of(verdict, results, code)
    return Report(site, campaign, verdict, tests, results, code, headline, site.page(campaign))


def headline_of(verdict: Json, results: Sequence[Result], code: int) -> str:
    if code == NOT_MEASURED:
        return "Could not measure. " + verdict["why"]
    failures = [each.text for each in results if each.state == "failed"]
    if failures:
        return failures[0] + (" %d more failed." % (len(failures) - 1) if failures[1:] else "")
    for each in results:
        if each.state == "open":
            return "Too close to call. " * ("cannot be judged" not in each.text) + each.text
    if not verdict["comparisons"]:
        return "Nothing to compare with: no test has a baseline."
    against = dict.fromkeys(each["names"][0] for each in verdict["comparisons"])
    return "No test is slower than %s." % ", ".join(against)


# --- files ---------------------------------------------------------------------------------------
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~#])")


def _cell(text: str) -> str:
    """A name that somebody typed, without meaning as Markdown and without mentions."""
    return _MARKED.sub(r"\\\1", " ".join(text.split())).replace("@", "&#64;")


def markdown(report: Report, limit: int = LONGEST_COMMENT, marker: str = "") -> str:
    """The worst rows first; what is too long for the limit is left out from the end."""
    verdict, errors = report.verdict, report.verdict["errors"]
    head = ["%s**%s**" % (marker, _cell(report.headline)), ""]
    if verdict["comparisons"]:
        head += ["| Test | Baseline | Now | Difference | Verdict |", "|:--|--:|--:|--:|:--|"]
    errors_text = "%d of %d requests failed" % (errors["failed"], errors["requests"])
    tail = ["", "[See the result](%s) · %s" % (report.url, errors_text)]
    source = " ".join(filter(None, (report.campaign["branch"], report.campaign["commit"][:7])))
    tail[-1] += " · " + _cell(source) if source else ""
    rows = [_row(each) for each in verdict["comparisons"]]
    wrong = [each.text for each in report.results if each.state != "passed"]
    results = ["", *("- " + _cell(text) for text in wrong)] if len(wrong) > 1 else []
    lines, left_bytes = rows + results, limit - len("\n".join(head + tail)) - 100
    shown_lines: List[str] = []
    for line in lines:
        if len(line) + 1 > left_bytes:
            shown_lines += ["", "%d more lines are on its page." % (len(lines) - len(shown_lines))]
            break
        shown_lines.append(line)
        left_bytes -= len(line) + 1
    return "\n".join(head + shown_lines + tail)[:limit]


def _row(comparison: Json) -> str:
    metric = comparison["metrics"][0] if comparison["metrics"] else None
    bold = "**" if comparison["word"] == "slower" else ""
    cells = [bold + _cell(comparison["label"]) + bold]
    times = [metric["baseline_ms"], metric["candidate_ms"]] if metric else []
    cells += [("%.3g ms" if ms < 999 else "%.0f ms") % ms for ms in times] or ["", ""]
    cells.append("%s <sub>%s</sub>" % (_cell(comparison["said"]), _cell(comparison["bound"])))
    cells.append(bold + (comparison["word"] or "no verdict").capitalize() + bold)
    return "| %s |" % " | ".join(cells)


def junit(report: Report) -> str:
    """A suite of a case for each result; what is too close is skipped."""
    states, is_broken = [each.state for each in report.results], report.code == NOT_MEASURED
    counts = {"tests": len(states) + is_broken, "failures": states.count("failed")}
    counts.update(errors=int(is_broken), skipped=states.count("open"))
    attributes = {key: str(count) for key, count in counts.items()}
    suite = ElementTree.Element("testsuite", name=report.campaign["name"], **attributes)
    tags = {"failed": "failure", "open": "skipped"}
    cases = [(each.name, tags.get(each.state), each.text) for each in report.results]
    for name, tag, text in cases + [("measured", "error", report.headline)] * is_broken:
        case = ElementTree.SubElement(suite, "testcase", classname="benchsite", name=name)
        if tag:
            ElementTree.SubElement(case, tag, message=text)
    ElementTree.SubElement(suite, "system-out").text = report.url
    return ElementTree.tostring(suite, encoding="unicode")


def load_performance(report: Report) -> str:
    """What GitLab's widget reads of k6: checks, requests a second, and the wait for the first byte
    in the run that waited longest."""
    text = report.site.api.text("GET", "campaigns/%d/tables.csv" % report.campaign["id"])
    ids = {str(each["test"]) for each in _candidates(report.verdict, report.tests)}
    runs = [row for row in csv.DictReader(io.StringIO(text)) if row["test_id"] in ids]
    waits: Dict[str, float] = {}
    for rank in (90, 95):
        values_us = [row["wait_p%d_us" % rank] for row in runs if row.get("wait_p%d_us" % rank)]
        if values_us:
            waits["p(%d)" % rank] = max(map(float, values_us)) / 1000
    n_failed = sum(each.state == "failed" for each in report.results)
    rates = [each["rate"] for each in report.tests if str(each["test"]) in ids and each["rate"]]
    metrics = {
        "checks": {"passes": len(report.results) - n_failed, "fails": n_failed},
        "http_req_waiting": waits,
        "http_reqs": {"count": sum(int(row["ok"] or 0) for row in runs), "rate": sum(rates)},
    }
    return json.dumps({"metrics": metrics}, indent=2)


def code_quality(report: Report) -> str:
    """An issue for each thing that failed, at the file of the job."""
    issues = [
        {
            "description": each.text,
            "check_name": "benchsite",
            "fingerprint": hashlib.sha256(each.name.encode()).hexdigest(),
            "severity": "major",
            "location": {"path": ".gitlab-ci.yml", "lines": {"begin": 1}},
        }
        for each in report.results
        if each.state == "failed"
    ]
    return json.dumps(issues, indent=2)


def bencher(report: Report) -> str:
    """Bencher Metric Format: nanoseconds, and requests a second."""
    rows = {}
    for each in report.tests:
        values = {"latency": each["mean"], "p95-latency": each["p95"]}
        row = {name: {"value": ms * 1e6} for name, ms in values.items() if ms is not None}
        if each["rate"] is not None:
            row["throughput"] = {"value": each["rate"]}
        if row:
            rows[each["name"]] = row
    return json.dumps(rows, indent=2)


def benchmark_action(report: Report) -> str:
    """For the tool customSmallerIsBetter of github-action-benchmark."""
    rows = [
        {"name": "%s %s" % (each["name"], key), "unit": "ms", "value": each[key]}
        for each in report.tests
        for key in ("mean", "p50", "p95", "p99")
        if each[key] is not None
    ]
    return json.dumps([dict(row, extra=report.url) for row in rows], indent=2)


# By option: what it writes, and its help.
_FILES: Dict[str, Tuple[Callable[[Report], str], str]] = {
    "markdown": (markdown, "the report as Markdown"),
    "junit": (junit, "JUnit's XML"),
    "gitlab-performance": (load_performance, "GitLab's load_performance"),
    "gitlab-quality": (code_quality, "GitLab's codequality"),
    "bencher": (bencher, "Bencher's JSON"),
    "benchmark-action": (benchmark_action, "JSON for github-action-benchmark"),
    "json": (lambda report: json.dumps(report.campaign, indent=2), "the campaign with its verdict"),
}


# --- GitHub --------------------------------------------------------------------------------------
class GitHub:
    """The job's own repository. Never fails the job: what it may not do it says on stderr."""

    def __init__(self, env: Dict[str, str]):
        event: Json = {}
        if os.path.isfile(env.get("GITHUB_EVENT_PATH", "")):
            with open(env["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
                event = json.load(file)
        base = env.get("GITHUB_API_URL", "https://api.github.com")
        token = env.get("GITHUB_TOKEN", "")
        self._api = Api("%s/repos/%s" % (base, env.get("GITHUB_REPOSITORY", "")), token, 20)
        self._check: Optional[int] = None
        self.pull_request: Json = event.get("pull_request") or {}
        head = self.pull_request.get("head") or {}
        of_workflow = (event.get("workflow_run") or {}).get("head_sha")
        # Of the branch, not of the merge that GITHUB_SHA is in a pull request.
        self.sha: str = head.get("sha") or of_workflow or env.get("GITHUB_SHA", "")
        source = (head.get("repo") or {}).get("full_name")
        self.is_of_fork = bool(self.pull_request) and source != env.get("GITHUB_REPOSITORY")

    def begin_check(self, name: str) -> None:
        """Before the load, so that a conclusion of an earlier attempt does not stay."""
        body = {"name": name, "head_sha": self.sha, "status": "in_progress"}
        check = self._try("checks: write", "POST", "check-runs", body)
        self._check = check["id"] if check else None

    def end_check(self, conclusion: str, title: str, summary: str) -> None:
        if self._check is not None:
            output = {"title": title[:255], "summary": summary}
            body = {"status": "completed", "conclusion": conclusion, "output": output}
            self._try("checks: write", "PATCH", "check-runs/%d" % self._check, body)

    def comment(self, report: Report, key: str) -> None:
        """One on the pull request for each key, edited after each push."""
        number = self.pull_request.get("number")
        if not number:
            print("No pull request here, so no comment.", file=sys.stderr)
            return
        marker = "<!-- benchsite %s -->\n" % hashlib.sha256(key.encode()).hexdigest()[:12]
        body, where = {"body": markdown(report, marker=marker)}, "issues/%d/comments" % number
        comment_id, need = self._find(where, marker.strip()), "pull-requests: write"
        # Somebody else's comment may begin like ours.
        if not (comment_id and self._try(need, "PATCH", "issues/comments/%d" % comment_id, body)):
            self._try(need, "POST", where, body)

    def _find(self, where: str, marker: str) -> Optional[int]:
        for page in itertools.count(1):
            path = "%s?per_page=100&page=%d" % (where, page)
            comments = self._try("pull-requests: write", "GET", path) or []
            for each in comments:
                if (each["body"] or "").startswith(marker):
                    return each["id"]
            if len(comments) < 100:
                break
        return None

    def _try(self, permission: str, method: str, path: str, body: Optional[Json] = None) -> Any:
        try:
            return json.loads(self._api.text(method, path, body))
        except Stop as error:
            need = "Add it to the job:\npermissions:\n  %s" % permission
            is_refused = getattr(error, "status", 0) in (401, 403, 404)
            print("GitHub: %s %s" % (error, need if is_refused else ""), file=sys.stderr)
            return None


# --- benchsite -----------------------------------------------------------------------------------
class Site:
    """benchsite's REST interface, and one project there."""

    _FORM = re.compile(
        r"https?://([^\0-\x20/:\[\]]+|\[[\da-f:.]+\])(:\d{1,5})?(/[!-~]*)?", re.IGNORECASE
    )

    def __init__(self, env: Dict[str, str], project: str = ""):
        missing = [name for name in ("BENCHSITE_URL", "BENCHSITE_TOKEN") if not env.get(name)]
        if missing:
            raise Stop("Set %s in the environment of the job." % " and ".join(missing))
        self.url, token = env["BENCHSITE_URL"].strip().rstrip("/"), env["BENCHSITE_TOKEN"].strip()
        if not (self._FORM.fullmatch(self.url) and re.fullmatch("[!-~]+", token)):
            raise Stop("Write BENCHSITE_URL as https://bench.example, BENCHSITE_TOKEN as bs_pat_….")
        self.api = Api(self.url + "/api/v1", token)
        self._name_or_id = project

    @cached_property
    def project(self) -> Json:
        projects = [each for each in self.api.rows("projects/") if not each["archived_at"]]
        matches = [e for e in projects if self._name_or_id in ("", e["name"], str(e["id"]))]
        if len(matches) != 1:
            names = ", ".join(each["name"] for each in projects) or "none"
            raise Stop("Choose one project by --project. The token sees: %s." % names)
        return matches[0]

    def page(self, campaign: Json) -> str:
        return "%s/campaigns/%d/" % (self.url, campaign["id"])

    def campaign(self, name_or_id: str) -> Json:
        """By its number, or the newest one of this name."""
        if name_or_id.isdecimal():
            return self.api.get("campaigns/%s/" % name_or_id)
        match = self._row_by_name("campaigns/", name_or_id)
        if match is None:
            raise Stop("%s has no campaign %r." % (self.project["name"], name_or_id))
        return match

    def _row_by_name(self, path: str, name: str) -> Optional[Json]:
        query = {"project": self.project["id"], "search": name, "archived": "false"}
        return next((each for each in self.api.rows(path, **query) if each["name"] == name), None)

    def endpoint(self, url: str) -> int:
        """The endpoint of this origin, on a new target where none but a reference has it."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise Stop("%s is no address such as https://shop.example/." % url)
        try:
            port = parts.port or (443 if parts.scheme in ("https", "wss") else 80)
        except ValueError:
            raise Stop("%s has no port from 1 to 65535." % url) from None
        origin = {"scheme": parts.scheme, "host": parts.hostname, "port": port}
        project = {"project": self.project["id"]}
        for target in self.api.rows("targets/", archived="false", **project):
            for each in [] if "reference" in target["tags"] else target["endpoints"]:
                if each["archived_at"] is None and origin.items() <= each.items():
                    return each["id"]
        name = "%s://%s:%d" % (parts.scheme, parts.hostname, port)
        body = dict(project, name=name[-100:], endpoints=[origin])
        return self.api.send("POST", "targets/", body)["endpoints"][0]["id"]

    def plan(self, name: str, spec: Json) -> int:
        """The plan of this name with this content, which may be a new version of it."""
        body = {"name": name, "spec": spec}
        match = self._row_by_name("plans/", name)
        if match:
            return self.api.send("PUT", "plans/%d/" % match["id"], body)["id"]
        return self.api.send("POST", "plans/", dict(body, project=self.project["id"]))["id"]

    def wait(self, campaign: Json, minutes: float) -> Json:
        """Until there is a verdict."""
        until, last_words = time.monotonic() + 60 * minutes, ""
        while True:
            left_s = until - time.monotonic()
            timeout_s = max(0.0, min(WAIT_S, left_s))
            answer = self.api.get("campaigns/%d/wait/" % campaign["id"], timeout="%.0f" % timeout_s)
            if answer["verdict"]:
                return answer
            if left_s <= 0:
                text = "No result within %g minutes: %s" % (minutes, self.page(answer))
                raise Stop(text, NOT_MEASURED)
            words = "%s: %d of %d runs" % (answer["state"], answer["n_done"], answer["n_runs"])
            if words != last_words:
                print(words, flush=True)
                last_words = words


def cells_of(site: Site, options: argparse.Namespace) -> List[Json]:
    """The plans of a campaign, of a file, or a GET; of each what is compared with first: the other
    address, or where the campaign measures."""
    urls = [url for url in (options.against, options.url) if url]
    endpoints = [site.endpoint(url) for url in urls]
    own: List[Json] = []
    if options.campaign:
        tests = [t for t in site.campaign(options.campaign)["tests"] if not t["is_reference"]]
        scheme = urllib.parse.urlsplit(options.url).scheme
        tests = [each for each in tests if each["origin"].startswith(scheme + ":")] or tests
        plans = _unlike([_part(test, "plan", "connection_mode") for test in tests])
        if not options.against:
            own = [_part(test, "plan", "connection_mode", "endpoint") for test in tests]
    else:
        name, spec = _file_plan(options.plan) if options.plan else _get_plan(urls, options.rate)
        plans = [{"plan": site.plan(name, spec)}]
    return _unlike(own + [dict(plan, endpoint=each) for plan in plans for each in endpoints])


def _part(row: Json, *names: str) -> Json:
    return {name: row[name] for name in names}


def _unlike(rows: List[Json]) -> List[Json]:
    return [each for n, each in enumerate(rows) if each not in rows[:n]]


def _file_plan(path: str) -> Tuple[str, Json]:
    """A plan's JSON, alone or as {"name", "spec"}."""
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
        spec = plan.get("spec", plan)
    except (OSError, ValueError, AttributeError) as fault:
        raise Stop("--plan %s: %s" % (path, fault)) from None
    return plan.get("name") or os.path.splitext(os.path.basename(path))[0], spec


def _get_plan(urls: Sequence[str], rate_per_s: float) -> Tuple[str, Json]:
    parts = [urllib.parse.urlsplit(url) for url in urls]
    if len(set(urls)) < len(urls):
        raise Stop("--url and --against are the same address.")
    paths = {(each.path or "/") + "?" * bool(each.query) + each.query for each in parts}
    if len(paths) != 1:
        raise Stop("--url and --against need the same path. Use --plan for several requests.")
    path = paths.pop()
    spec = {
        "steps": [{"method": "GET", "path": path}],
        "load": {"model": "open", "rate_per_s": rate_per_s, "duration_s": 60},
        "connection_mode": "keep-alive",
    }
    return ("GET %s at %g/s" % (path, rate_per_s))[:100], spec


def source_of(env: Dict[str, str], github: GitHub, options: argparse.Namespace) -> Json:
    """Commit, branch and link: as given, else as GitHub, GitLab or Jenkins say."""
    parts = [env.get("GITHUB_" + name, "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    job = "%s/%s/actions/runs/%s" % tuple(parts) if parts[2] else ""

    def first(*names: str) -> str:
        return next((env[name] for name in names if env.get(name)), "")

    branches = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "GIT_BRANCH")
    source = {
        "commit": options.commit or github.sha or first("CI_COMMIT_SHA", "GIT_COMMIT"),
        "branch": options.branch or first(*branches),
        "link": options.link or job or first("CI_JOB_URL", "BUILD_URL"),
        "note": options.note,
        "tags": options.tag,
    }
    return {key: value for key, value in source.items() if value}


# --- commands: their docstrings are the help of the command line ---------------------------------
def run(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """measure, wait, report"""
    if not (options.campaign or (options.url and options.against)):
        raise Stop("Name --campaign, or --url and --against.")
    rules_of(options)  # refuses a wrong one before any load
    if options.check:
        github.begin_check("benchsite " + (options.id or options.campaign or site.project["name"]))
    try:
        draft = _draft(site, options, source_of(os.environ, github, options))
        campaign = site.wait(_start(site, draft, options), options.minutes)
        return finish(site, campaign, options, github)
    except BaseException as fault:
        github.end_check("failure", "Could not measure", str(fault) or "The job was cancelled.")
        raise


def _draft(site: Site, options: argparse.Namespace, source: Json) -> Json:
    if not options.url:
        again = site.campaign(options.campaign)["id"]
        return site.api.send("POST", "campaigns/%d/repeat/" % again, source)
    # Not the name of the campaign: the next job would run this one again.
    name = options.name or "%s against %s" % (options.url, options.against or options.campaign)
    body = dict(source, project=site.project["id"], name=name[:150], cells=cells_of(site, options))
    if options.seconds:
        body.update(limit_s=options.seconds, order="side_by_side")
    # A limit takes longer to decide than which of the two is slower.
    has_limit = any(each.limit and not each.is_of_errors for each in rules_of(options))
    body["until_settled"] = not has_limit
    return site.api.send("POST", "campaigns/", body)


def _start(site: Site, draft: Json, options: argparse.Namespace) -> Json:
    """A cancelled job stops its load."""
    where = "campaigns/%d/" % draft["id"]

    def cancel(*_: Any) -> None:
        site.api.patience_s = 5
        site.api.send("POST", where + "stop/")
        raise Stop("Cancelled, so %s was stopped." % site.page(draft), NOT_MEASURED)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, cancel)
    print(site.page(draft), flush=True)
    return site.api.send("POST", where + "start/", {"when_quiet": options.when_quiet})


def wait(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """wait for a campaign that was started, report"""
    return finish(site, site.wait(site.campaign(options.which), options.minutes), options, github)


def report(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """report on a campaign that has ended"""
    campaign = site.api.get("campaigns/%d/" % site.campaign(options.which)["id"])
    if not campaign["verdict"]:
        raise Stop("Campaign %d has not ended. Use wait." % campaign["id"])
    return finish(site, campaign, options, github)


def finish(site: Site, campaign: Json, options: argparse.Namespace, github: GitHub) -> int:
    """Writes everything; the exit code."""
    result = report_of(site, campaign, options)
    files = [(vars(options)[name.replace("-", "_")], "w", _FILES[name][0]) for name in _FILES]
    for path, mode, content in [*files, (os.environ.get("GITHUB_STEP_SUMMARY"), "a", markdown)]:
        if path:
            with open(path, mode, encoding="utf-8") as file:
                file.write(content(result) + "\n")
    is_open = any(each.state == "open" for each in result.results)
    conclusion = "failure" if result.code else "neutral" if is_open else "success"
    github.end_check(conclusion, result.headline, markdown(result))
    if options.comment:
        github.comment(result, options.id)
    if options.save_baseline and result.code in (PASSED, TOO_CLOSE):
        body = {"name": options.save_baseline, "campaign": campaign["id"]}
        site.api.send("POST", "projects/%d/baselines/" % campaign["project"], body)
        print("Later campaigns are compared with this one, “%s”." % options.save_baseline)
    lines = ["  %-6s  %s" % (each.state, each.text) for each in result.results]
    print("\n".join([result.headline, *lines, result.url]))
    return result.code


def doctor(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """say what keeps a job from measuring"""
    site.api.patience_s = 0
    faults = []

    def say(is_good: bool, text: str) -> None:
        print("%s  %s" % ("ok  " if is_good else "FAIL", text))
        if not is_good:
            faults.append(text)

    project = site.project
    say(True, "%s takes the token; the project is %s" % (site.url, project["name"]))
    role = project["role"]
    say(role in ("owner", "editor"), "your role is %s; a job needs editor" % role)
    hosts = [each for each in site.api.get("injectors/") if each["online"]]
    slots = sum(each["slots"] for each in hosts)
    say(slots > 0, "%d injector hosts with %d slots are online" % (len(hosts), slots))
    busy = [each["name"] for each in hosts if each["use"] and each["use"]["is_busy"]]
    if busy:
        print("      Busy now: %s. Use --when-quiet." % ", ".join(busy))
    if options.campaign:
        tests = site.campaign(options.campaign)["tests"]
        cells = [_part(each, "plan", "endpoint", "connection_mode") for each in tests]
        body = {"project": project["id"], "cells": _unlike(cells)}
        checks = site.api.send("POST", "campaigns/estimate/", body)["checks"]
        bad = [each["text"] for each in checks if each["shape"] == "bad"]
        say(not bad, " ".join(bad) or "%s can start" % options.campaign)
    return NOT_MEASURED if faults else PASSED


def apply(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """make targets, plans, campaigns and schedules as a file says"""
    with open(options.file, "rb") as file:
        text = file.read()
    where = "projects/%d/manifest/?prune=%d&" % (site.project["id"], options.prune)
    changes = json.loads(site.api.text("POST", where + "dry_run=1", text))
    print(changes["text"], flush=True)
    if options.dry_run or not changes["sentence"]:
        return PASSED
    if not options.yes:
        if not sys.stdin.isatty():
            raise Stop("Nothing was changed: nobody can be asked here. Add --yes.")
        if input("Apply? (y/N) ").strip().lower() not in ("y", "yes"):
            raise Stop("Nothing was changed.")
    # The site refuses if that is not what was shown.
    site.api.text("POST", where + "version=" + changes["version"], text)
    print("Applied: %s." % changes["sentence"])
    return PASSED


def export(options: argparse.Namespace, site: Site, github: GitHub) -> int:
    """print such a file of what the project has"""
    print(site.api.text("GET", "projects/%d/manifest.yaml" % site.project["id"]), end="")
    return PASSED


def parser() -> argparse.ArgumentParser:
    about, _, codes = (__doc__ or "").partition("Reads")
    raw = argparse.RawDescriptionHelpFormatter
    new = argparse.ArgumentParser(
        "benchsite", description=about, epilog="Reads" + codes, formatter_class=raw
    )
    new.add_argument("--version", action="version", version=VERSION)
    commands = new.add_subparsers(dest="command", required=True)
    for command in (doctor, run, wait, report, apply, export):
        each = commands.add_parser(command.__name__, help=command.__doc__)
        each.set_defaults(act=command)
        each.add_argument("--project", default="", help="name or number, if the token sees several")
        if command in (wait, report):
            each.add_argument("which", metavar="CAMPAIGN", help="its number or name")
        if command in (doctor, run):
            each.add_argument("--campaign", default="", help="name or number of one to run again")
        if command is run:
            _add_run(each)
        if command in (run, wait):
            each.add_argument("--minutes", type=float, default=60, help="wait so long (60)")
        if command in (run, wait, report):
            _add_report(each)
        if command is apply:
            each.add_argument("file", metavar="FILE", help="such as benchsite.yaml")
            each.add_argument("--yes", action="store_true", help="do not ask")
            each.add_argument("--prune", action="store_true", help="also delete what it lacks")
            each.add_argument("--dry-run", action="store_true", help="only show the changes")
    return new


def _add_run(to: argparse.ArgumentParser) -> None:
    to.add_argument("--url", default="", help="what to measure instead of the campaign's targets")
    to.add_argument("--against", default="", help="what to compare it with, side by side")
    to.add_argument("--plan", default="", metavar="FILE", help="a plan's JSON; else GET of --url")
    to.add_argument("--rate", type=float, default=50, help="requests/s without a plan (50)")
    to.add_argument("--seconds", type=float, help="measure so long at most, side by side (60)")
    to.add_argument("--name", default="", help="of the new campaign")
    to.add_argument("--when-quiet", action="store_true", help="start when the machine is quiet")
    for name in ("commit", "branch", "link"):
        to.add_argument("--" + name, default="", help="default: of the CI job")
    to.add_argument("--note", default="", help="why, as plain text")
    to.add_argument("--tag", action="append", default=[], help="of the campaign; repeat for more")
    to.add_argument("--check", action="store_true", help="GitHub: a check run on the commit")


def _add_report(to: argparse.ArgumentParser) -> None:
    rules = "“p95 slower than baseline by 10 %%”, “errors > 1 %%”; one a line"
    to.add_argument("--fail-if", action="append", default=[], metavar="RULE", help=rules)
    to.add_argument("--strict", action="store_true", help="exit with 3 when too close to call")
    to.add_argument("--save-baseline", default="", metavar="NAME", help="unless it is slower")
    to.add_argument("--id", default="", help="GitHub: tells checks and comments of jobs apart")
    to.add_argument("--comment", action="store_true", help="GitHub: one on the pull request")
    for option, (_, words) in _FILES.items():
        to.add_argument("--" + option, default="", metavar="FILE", help="write " + words)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    for stream in (sys.stdout, sys.stderr):  # a terminal may lack a letter
        stream.reconfigure(errors="replace")
    options = parser().parse_args(arguments)
    try:
        github = GitHub(os.environ)
        if github.is_of_fork and options.act is not doctor:
            raise Stop(
                "This pull request comes from a fork, whose code must not get the site's token. "
                "Measure it after a review, from a branch of this repository."
            )
        return options.act(options, Site(os.environ, options.project), github)
    except (Stop, OSError) as fault:
        print("benchsite: %s" % fault, file=sys.stderr)
        return getattr(fault, "code", USAGE)


if __name__ == "__main__":
    sys.exit(main())
