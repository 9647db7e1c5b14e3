"""What a CI job gets of the client: its exit code, its files, its comment and its check."""

import ast
import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from campaigns.core.permissions import Actor
from campaigns.history.services import make_baseline
from campaigns.live.hub import HUB
from campaigns.models import Baseline, Campaign, Target
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.campaigns.test_verdicts import HTTP, end, measured_test
from tests.clients.conftest import CLIENT, SITE, client_module
from tests.clients.github_api import MOST, pull_request
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.injector.servers import scripted
from tests.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db
P95 = "p95 slower than baseline by 10 %"


@pytest.fixture
def slower(project, alice):
    """A campaign whose only test is 20 % slower than its baseline, main."""
    old = measured_test(project, 10_000)
    make_baseline(by=Actor(user=alice), project=project, name="main", tests=[old])
    return measured_test(project, 12_000, like=old).campaign


def comparison(low: float, high: float, word: str = "slower", label: str = "cart") -> dict:
    metric = {"metric": "p95", "title": "p95", "ratio": (low + high) / 2, "low": low, "high": high}
    metric |= {"baseline_ms": 10.0, "candidate_ms": 12.0}
    words = {"word": word, "said": word, "bound": "9.8 to 14 %", "why": "", "label": label}
    return {**words, "names": ["main", "now"], "metrics": [metric], "candidate_test": 1}


def judge(*comparisons: dict, rules=(), strict=False, is_measured=True) -> tuple[int, str]:
    """The exit code and the headline of a verdict."""
    verdict = {"measured": is_measured, "why": "refused", "comparisons": list(comparisons)}
    verdict |= {"broken_rules": [], "errors": {"failed": 0, "requests": 9}, "sentence": ""}
    arguments = client_module.parser().parse_args(
        ["report", "1", *(["--strict"] if strict else [])]
    )
    arguments.fail_if = list(rules)
    site = client_module.Site({"BENCHSITE_URL": SITE, "BENCHSITE_TOKEN": "t"})
    site.api.get = lambda path: {"tests": []}
    report = client_module.report_of(site, {"id": 1, "verdict": verdict}, arguments)
    return report.code, report.headline


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("URL", f"{SITE}{tail}") for tail in (":x", "/a b", "\x07")),
        ("URL", "https://[::1"),
        ("TOKEN", "…"),
        ("TOKEN", "bs_pat_0\n1"),
    ],
)
def test_what_is_no_address_or_token_is_named_and_no_verdict(name, value):
    env = {"BENCHSITE_URL": SITE, "BENCHSITE_TOKEN": "t", f"BENCHSITE_{name}": value}
    with pytest.raises(client_module.Stop, match=f"BENCHSITE_{name} as") as stop:
        client_module.Site(env)
    assert stop.value.code == client_module.USAGE


def test_a_line_break_at_the_end_of_a_token_is_no_part_of_it():
    site = client_module.Site({"BENCHSITE_URL": SITE, "BENCHSITE_TOKEN": "t\n"})
    assert site.api._headers["Authorization"] == "Bearer t"


def test_a_limit_is_broken_where_the_lower_end_is_beyond_it():
    for low, high, code in [(1.11, 1.2, 1), (1.09, 1.2, 0), (1.02, 1.09, 0), (0.8, 0.9, 0)]:
        assert judge(comparison(low, high), rules=[P95])[0] == code


def test_too_close_to_call_passes_unless_strict():
    close = comparison(0.9, 1.2, "too close to call")
    assert [judge(close, strict=strict)[0] for strict in (False, True)] == [0, 3]
    assert [judge(comparison(1.09, 1.2), rules=[P95], strict=True)[0]] == [3]
    assert judge(close)[1].startswith("Too close to call. cart")
    assert judge(close, rules=["p99 slower by 5 %"])[1].startswith("cart cannot be judged. Measure")


def test_without_rules_a_slower_test_fails_and_others_pass():
    words = ("slower", "no practical difference", "not slower", "faster")
    assert [judge(comparison(1.01, 1.02, word))[0] for word in words] == [1, 0, 0, 0]
    assert judge(is_measured=False) == (4, "Could not measure. refused")


@pytest.mark.parametrize(
    "rule", ["p95 < 300 ms", "slower", "p95 slower 10 ms", "errors > 1 %\nslow"]
)
def test_a_rule_that_is_none_is_refused_before_any_load(job, capsys, rule):
    assert job("run", "--campaign", "1", "--fail-if", rule) == 2
    assert "p95 slower than baseline by 10 %" in capsys.readouterr().err
    assert not Campaign.objects.exists()


def test_rules_are_written_as_people_say_them():
    for text in [
        "p95 slower than baseline by 10 %",
        "slower > 5%",
        "median slower by more than 3%",
    ]:
        assert client_module.Rule.read(text).limit in {0.1, 0.05, 0.03}


def test_a_job_fails_with_the_size_its_interval_and_the_limit(job, slower, capsys, tmp_path):
    code = job("report", str(slower.pk), "--fail-if", P95, "--comment", "--markdown", "r.md")
    output = capsys.readouterr().out
    assert code == 1
    assert "slower than baseline “main” at p95. The limit is 10 %." in output
    assert f"{SITE}/campaigns/{slower.pk}/" in output
    assert "| **" in (tmp_path / "r.md").read_text()
    assert (tmp_path / "summary.md").read_text() == (tmp_path / "r.md").read_text()
    assert job("report", str(slower.pk), "--fail-if", "p95 slower by 30 %") == 0


def test_errors_are_counted_in_what_is_compared(job, project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTP])
    number = str(end(campaign).pk)
    assert job("report", number, "--fail-if", "errors > 0 %") == 0


def test_who_asks_for_a_baseline_that_is_none_hears_how_to_make_one(job, project, capsys):
    number = str(measured_test(project, 10_000).campaign_id)
    assert job("report", number) == 0
    assert job("report", number, "--fail-if", P95) == 2
    assert "--save-baseline" in capsys.readouterr().err
    assert job("report", number, "--fail-if", P95, "--save-baseline", "main") == 0
    assert Baseline.objects.get().name == "main"


def test_what_is_slower_becomes_no_baseline(job, slower):
    assert job("report", str(slower.pk), "--save-baseline", "main") == 1
    assert Baseline.objects.filter(replaced_at=None).get().test.campaign_id != slower.pk


def hold_at_once(campaign: int, timeout_s: float) -> None:
    probe = Campaign.objects.get(pk=campaign).first_requests.get()
    finish_probe(probe_id=probe.pk, result={"type": "probe", "status": 503, "error": None})
    settle_campaign(campaign_id=campaign)


def test_a_held_campaign_ends_with_4_and_its_reason(job, project, github, monkeypatch, capsys):
    make_test(make_campaign(project, name="Checkout"))
    monkeypatch.setattr(HUB, "wait_for_end", hold_at_once)
    assert job("run", "--campaign", "Checkout", "--check", "--comment") == 4
    assert "Could not measure. 503 Service Unavailable, but the plan" in capsys.readouterr().out
    campaign = Campaign.objects.order_by("pk").last()
    assert (campaign.commit, campaign.branch) == ("8" * 40, "faster-cart")
    assert campaign.link == "https://github.example/shop/shop/actions/runs/77"
    (check,) = github.checks
    assert github.history == ["in_progress", "completed"]
    assert (check["head_sha"], check["conclusion"]) == ("8" * 40, "failure")
    assert "503 Service Unavailable" in github.comments[0]["body"]


def test_two_addresses_are_measured_side_by_side_on_targets_made_once(job, project, monkeypatch):
    monkeypatch.setattr(HUB, "wait_for_end", lambda *_: None)
    reference = make_target(project, tags=["reference"])
    make_endpoint(reference, host="shop.test", port=80)
    arguments = ("run", "--url", "http://shop.test/cart", "--against", "http://main.test/cart")
    for _ in range(2):
        assert job(*arguments, "--minutes", "0", "--tag", "ci") == 4
    assert Target.objects.exclude(pk=reference.pk).count() == 2
    first, second = Campaign.objects.order_by("pk")
    assert not first.tests.filter(endpoint__target=reference).exists()
    hosts = first.tests.order_by("position").values_list("endpoint__host", flat=True)
    assert [*hosts] == ["main.test", "shop.test"], "the one that is compared with first"
    assert (first.order, first.tags) == ("side_by_side", ["ci"])
    (version,) = {test.plan_version for test in (*first.tests.all(), *second.tests.all())}
    assert version.value().steps[0].path == "/cart"
    assert job(*arguments[:3], "--against", "http://main.test/other") == 2


def test_a_limit_that_is_refused_is_named_as_the_option(job, project, capsys):
    urls = ("--url", "http://a.test", "--against", "http://b.test")
    assert job("run", *urls, "--seconds", "99999999") == 2
    assert "--seconds: " in capsys.readouterr().err


def test_a_preview_is_compared_with_where_the_campaign_measures(job, project, monkeypatch):
    monkeypatch.setattr(HUB, "wait_for_end", lambda *_: None)
    test = make_test(make_campaign(project, name="Checkout"))
    arguments = ("run", "--campaign", "Checkout", "--url", "http://pr-12.test", "--minutes", "0")
    for _ in range(2):
        assert job(*arguments) == 4
        campaign = Campaign.objects.order_by("pk").last()
        hosts = campaign.tests.order_by("position").values_list("endpoint__host", flat=True)
        assert [*hosts] == [test.endpoint.host, "pr-12.test"]


def test_a_plan_of_a_file_is_stored_as_a_version(job, project, monkeypatch, tmp_path):
    monkeypatch.setattr(HUB, "wait_for_end", lambda *_: None)
    spec = make_plan(project).spec
    arguments = ("--url", "http://a.test", "--against", "http://b.test", "--minutes", "0")
    for n in (5, 5, 6):
        load = {"model": "open", "rate_per_s": n, "duration_s": 10}
        (tmp_path / "cart.json").write_text(json.dumps({**spec, "load": load}))
        assert job("run", "--plan", "cart.json", *arguments) == 4
    plan = project.plans.get(name="cart")
    assert plan.versions.count() == 2
    assert job("run", "--plan", "none.json", *arguments) == 2


def test_there_is_one_comment_which_later_pushes_edit(job, slower, github):
    github.comments += [{"id": n, "body": f"comment {n}"} for n in range(1, 251)]
    for limit in ("5 %", "30 %"):
        job("report", str(slower.pk), "--comment", "--fail-if", f"slower by {limit}")
    assert len(github.comments) == 251
    assert "No test is slower than baseline “main”" in github.comments[-1]["body"]
    job("report", str(slower.pk), "--comment", "--id", "nightly")
    assert len(github.comments) == 252, "another job of the same push has its own"


def test_a_long_comment_keeps_the_worst_rows(job, slower, github):
    report = client_module.report_of(
        client_module.Site({"BENCHSITE_URL": SITE, "BENCHSITE_TOKEN": "t"}),
        json.loads(json.dumps(client_campaign(job, slower))),
        client_module.parser().parse_args(["report", "1"]),
    )
    names = [f"test {n} of @everyone | <b>" for n in range(2000)]
    rows = [comparison(1.1, 1.2, label=name) for name in names]
    report.verdict["comparisons"][:] = rows
    text = client_module.markdown(report)
    assert MOST - 500 < len(text) <= MOST
    assert "test 0 of &#64;everyone \\| \\<b\\>" in text
    assert "more lines are on its page" in text
    assert text.endswith(
        f"({report.url}) · 0 of {report.verdict['errors']['requests']} requests failed"
    )


def client_campaign(job, campaign) -> dict:
    job("report", str(campaign.pk), "--json", "campaign.json")
    with open("campaign.json") as file:
        return json.load(file)


def test_a_fork_is_refused_before_any_request(job, slower, monkeypatch, github, tmp_path, capsys):
    for name, value in github.env(pull_request("thief/shop"), tmp_path).items():
        monkeypatch.setenv(name, value)
    n_campaigns = Campaign.objects.count()
    assert job("run", "--campaign", str(slower.pk), "--comment", "--check") == 2
    assert "fork" in capsys.readouterr().err
    assert (Campaign.objects.count(), github.comments, github.checks) == (n_campaigns, [], [])


def test_without_permissions_the_job_says_which_and_goes_on(job, slower, github, capsys):
    github.permissions.clear()
    assert job("report", str(slower.pk), "--comment") == 1
    assert "permissions:\n  pull-requests: write" in capsys.readouterr().err


def test_the_files_have_what_their_readers_look_for(job, slower, tmp_path):
    names = ["junit", "gitlab-performance", "gitlab-quality", "bencher", "benchmark-action"]
    assert job("report", str(slower.pk), *(word for n in names for word in (f"--{n}", n))) == 1
    suite = ElementTree.parse(tmp_path / "junit").getroot()  # noqa: S314  (our own)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert "slower than" in suite.find("testcase/failure").get("message")
    k6, quality, bmf, rows = (json.loads((tmp_path / name).read_text()) for name in names[1:])
    assert k6["metrics"]["checks"] == {"passes": 0, "fails": 1}
    assert k6["metrics"]["http_reqs"]["rate"] > 0
    assert (
        0 < k6["metrics"]["http_req_waiting"]["p(90)"] <= k6["metrics"]["http_req_waiting"]["p(95)"]
    )
    (issue,) = quality
    assert {"description", "check_name", "fingerprint", "severity", "location"} == set(issue)
    ((name, measures),) = bmf.items()
    assert measures["latency"]["value"] == pytest.approx(12.1e6, rel=0.02), "nanoseconds"
    assert {"name": f"{name} p50", "unit": "ms"}.items() <= rows[1].items()


def test_the_doctor_says_what_is_missing(job, project, capsys):
    make_test(make_campaign(project, name="Checkout"))
    assert job("doctor", "--campaign", "Checkout") == 4
    output = capsys.readouterr().out
    assert f"ok    {SITE} takes the token; the project is {project.name}" in output
    assert "FAIL  0 injector hosts with 0 slots are online" in output


def answering(reply: bytes):
    def script(sock, server) -> None:
        while server.read_request(sock):
            sock.sendall(server.requests and reply)

    return scripted(script)


def test_an_address_of_another_program_is_named():
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") as site:
        api = client_module.Api(f"http://127.0.0.1:{site.port}", "secret", 0)
        with pytest.raises(client_module.Stop, match=f"{site.port}/ does not answer in JSON"):
            api.get("projects/")


def test_the_token_follows_no_redirect():
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as other:
        where = f"http://127.0.0.1:{other.port}/"
        redirect = f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n"
        with answering(redirect.encode()) as site:
            api = client_module.Api(f"http://127.0.0.1:{site.port}", "secret", 0)
            with pytest.raises(client_module.Stop, match="Use that address"):
                api.get("projects/")
    assert other.n_requests == 0


def test_what_changes_something_is_not_sent_twice(monkeypatch):
    monkeypatch.setattr(client_module.time, "sleep", lambda _: None)
    clock = iter(range(100))
    monkeypatch.setattr(client_module.time, "monotonic", lambda: next(clock))
    with answering(b"HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n") as site:
        api = client_module.Api(f"http://127.0.0.1:{site.port}", "secret", 3)
        for ask, n in ((lambda: api.send("POST", "x/"), 1), (lambda: api.get("x/"), 5)):
            with pytest.raises(client_module.Stop) as stop:
                ask()
            assert (stop.value.code, site.n_requests) == (4, n)


def test_it_is_one_file_for_python_3_8_without_dependencies():
    text = CLIENT.read_text()
    assert len(text.splitlines()) <= 900
    tree = ast.parse(text, feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    roots = {
        name.split(".")[0]
        for node in imports
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert roots <= sys.stdlib_module_names
    for python in filter(None, (shutil.which("python3.8"), sys.executable)):
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            done = subprocess.run([python, CLIENT, "--version"], capture_output=True, text=True)
            assert done.stdout.strip() == client_module.VERSION, done.stderr
