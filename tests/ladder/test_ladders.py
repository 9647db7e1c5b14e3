"""What each layer costs: rungs, what they are compared with, one figure in page, CSV and REST."""

import csv
from copy import deepcopy
from decimal import Decimal
from functools import partial
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes
from campaigns.domain.plan.rungs import RUNGS, Section
from campaigns.domain.presentation.sentences import plain_text
from campaigns.machines.queries.target_costs import target_costs
from campaigns.models import Endpoint, Shard
from tests.engine.scenes import owner_of
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_target,
    make_test,
    make_user,
)
from tests.kept_rows import forget
from tests.machines.test_target_costs import tell
from tests.measured import https_campaign, run_in_blocks, spoil
from tests.values import plan_spec

pytestmark = pytest.mark.django_db

NEW = ("new-http", "new-tls12", "new-tls13", "new-hybrid", "new-resumed", "new-http2")
MEANS_US = (18_900, 33_400, 29_100, 29_300, 25_000, 25_100)
HUNG_US = 29_100
HYBRID, CLASSICAL = "X25519MLKEM768", "X25519"


def around(mean_us: float, repeats: int = 5) -> list[float]:
    factors = (0.999, 1.001, 1.0, 0.9995, 1.0005)
    return [mean_us * factor for factor in factors[:repeats]]


def unlike_each_other(mean_us: int, repeats: int = 5) -> list[float]:
    """They differ by more than any rung does, in another order for each rung."""
    return [mean_us * (1 + nth * (mean_us // 1000) % 7 / 2) for nth in range(repeats)]


def with_one_hung(mean_us: int, repeats: int = 5) -> list[float]:
    """The last run of the rung of HUNG_US took 60 times as long as its others."""
    runs = around(mean_us, repeats)
    return [*runs[:-1], runs[-1] * 60] if mean_us == HUNG_US else runs


def make_ladder(project, keys=NEW, means_us=MEANS_US, repeats=5, runs_of=around, **fields):
    """A finished campaign of these rungs with these means, and its runs, a list for each rung.
    `runs_of`: a rung's runs from its mean. `fields` of `measure`."""
    campaign = make_campaign(project, repeats=repeats, order="blocks", **just_now())
    target = make_target(project, "shop")
    endpoints, plans, tests = {}, {}, []
    for key in keys:
        rung = RUNGS[key]
        at = (rung.scheme, rung.profile)
        tls = {"profile": rung.profile} if rung.profile else {}
        endpoints.setdefault(at, None)
        endpoints[at] = endpoints[at] or make_endpoint(target, rung.scheme, tls=tls)
        load = (
            {"model": "closed", "connections": rung.connections, "duration_s": 10}
            if rung.connections
            else {"model": "over", "requests": 2000, "over_s": 10}
        )
        spec = plan_spec(**load) | {"http_version": str(rung.http), "streams": rung.streams}
        plan = (str(rung.http), rung.streams, rung.connections)
        plans.setdefault(plan, None)
        plans[plan] = plans[plan] or make_plan(project, spec=spec)
        tests.append(
            make_test(campaign, plans[plan], endpoint=endpoints[at], connection_mode=str(rung.mode))
        )
    means = [runs_of(mean, repeats) for mean in means_us]
    runs = run_in_blocks(tests, means, **fields) if means else []
    return campaign, [[run for run in runs if run.test_id == test.pk] for test in tests]


@pytest.fixture(scope="module")
def usual_ladder(rows_of_the_file):
    return make_ladder(make_project(owner=make_user("climber")))


@pytest.fixture
def ladder(usual_ladder, db):
    """The ladder of NEW with MEANS_US; what a test changes of it is undone."""
    forget()
    return deepcopy(usual_ladder)


@pytest.fixture
def climb(project):
    """Makes any other ladder."""
    return partial(make_ladder, project)


def agree(runs, **facts) -> None:
    """Let the injectors of these runs say what their handshakes agreed on."""
    handshakes = TlsHandshakes(**{"version": "TLSv1.3", "cipher": "AES", "count": 2000, **facts})
    end = InjectorEnd(tls=(handshakes,), cpu_us=400_000, totals={"ok": 2000}).to_json()
    Shard.objects.filter(run__in=runs).update(end=end)


def rungs_of(campaign, **options):
    return campaign_answer(campaign, **options).ladder.rungs


def test_each_rung_is_compared_with_the_one_before_and_with_plain_http(ladder):
    campaign, _ = ladder
    plain, tls12, tls13, hybrid, resumed, http2 = rungs_of(campaign)
    assert (plain.before, plain.plain, plain.is_plain) == (None, None, True)
    assert tls12.before.row.ratio == pytest.approx(33.4 / 18.9, rel=1e-3)
    assert tls13.before.row.ratio == pytest.approx(29.1 / 33.4, rel=1e-3)
    assert tls13.plain.row.ratio == pytest.approx(29.1 / 18.9, rel=1e-3)
    assert [rung.before.word for rung in (tls12, tls13, hybrid, resumed, http2)] == [
        "slower",
        "faster",
        "no practical difference",
        "faster",
        "no practical difference",
    ]
    assert all(rung.plain.word == "slower" for rung in (tls12, tls13, hybrid, resumed, http2))


def test_a_rung_is_what_its_runs_offered_whatever_becomes_of_the_endpoint(ladder):
    campaign, _ = ladder
    before = [rung.title for rung in rungs_of(campaign)]
    Endpoint.objects.filter(tls__profile="tls12").update(tls={"profile": "rsa"})
    assert [rung.title for rung in rungs_of(campaign)] == before


def test_rungs_are_compared_by_the_percentile_that_is_asked_for(ladder):
    campaign, _ = ladder
    by_p95 = campaign_answer(campaign, metric="p95").ladder
    tls12 = by_p95.rungs[1]
    assert (by_p95.metric, tls12.before.row.metric) == ("p95", "p95")
    assert tls12.value.mean == pytest.approx(1.1 * 33_400, rel=2e-3)
    assert tls12.mean.mean == pytest.approx(33_400, rel=2e-3)
    assert (tls12.before.word, tls12.plain.word) == ("slower", "slower")
    row = by_p95.tables[0].to_json()["rows"][1]["values"]
    assert row["p95"] == pytest.approx(36.7, abs=0.2)
    assert "ladder-parts" not in [table.key for table in by_p95.tables]


def test_percentages_follow_from_the_times_beside_them(climb):
    keys, means_us = ("new-http", "new-tls12", "new-tls13"), (18_900, 33_400, HUNG_US)
    campaign, by_rung = climb(keys, means_us, runs_of=with_one_hung)
    spoil(by_rung[0][1], missing_seconds=0.5)  # one pass lacks a rung
    table = campaign_answer(campaign).ladder.tables[0].to_json()
    http, tls12, tls13 = (row["values"] for row in table["rows"])
    for row, other, name in ((tls13, tls12, "before"), (tls13, http, "plain")):
        change = 100 * (row["mean"] / other["mean"] - 1)
        assert row[f"{name}_change"] == pytest.approx(change, abs=0.5)
        assert row[f"{name}_difference"] == pytest.approx(row["mean"] - other["mean"], abs=0.15)
        assert row[f"{name}_change_low"] < row[f"{name}_change"] < row[f"{name}_change_high"]
    assert http["runs"] == tls12["runs"] == tls13["runs"] == 4


def test_streams_stand_beside_as_many_connections(climb):
    campaign, _ = climb(("many-http1", "many-http2", "many-streams"), (10_000, 10_050, 13_000))
    http1, http2, streams = rungs_of(campaign)
    assert {rung.section for rung in (http1, http2, streams)} == {Section.MANY}
    assert (http2.words, streams.words) == (
        "32 connections, 1 stream each",
        "1 connection, 32 streams each",
    )
    assert streams.before.word == "slower"


def test_certificates_are_compared_with_each_other_and_with_plain_http(climb):
    campaign, by_rung = climb(("new-http", "new-rsa", "new-ecdsa"), (10_000, 13_000, 12_000))
    agree(by_rung[1], certificate="RSA 2048", chain_bytes=1500)
    agree(by_rung[2], certificate="ECDSA secp256r1", chain_bytes=700)
    _, rsa, ecdsa = rungs_of(campaign)
    assert (rsa.title, ecdsa.title, rsa.before) == ("RSA", "ECDSA", None)
    assert ecdsa.before.word == "faster"
    assert rsa.plain.word == ecdsa.plain.word == "slower"
    assert ecdsa.agreed.certificates == ("ECDSA secp256r1, 700 B sent",)


def test_handshake_bytes_and_own_cpu_are_of_one_request(ladder):
    campaign, by_rung = ladder
    agree(by_rung[3], group=HYBRID, bytes_sent=3_000_000, bytes_received=5_000_000)
    hybrid = rungs_of(campaign)[3]
    assert hybrid.wire.handshake == 4000
    assert hybrid.own_cpu_us == 200
    assert hybrid.words == HYBRID


def test_a_rung_without_usable_runs_says_why_and_is_compared_with_nothing(ladder):
    campaign, by_rung = ladder
    for run in by_rung[3]:
        spoil(run, missing_seconds=0.5)
    *_, hybrid, resumed, _ = rungs_of(campaign)
    assert (hybrid.mean, hybrid.before, hybrid.plain) == (None, None, None)
    assert hybrid.why.startswith("No answer")
    assert resumed.before is None
    assert resumed.plain.word == "slower"


def test_rungs_that_fail_too_often_are_told_without_a_word(climb):
    campaign, _ = climb(counters={"failed": 60}, errors={"reset": 60})
    answer = campaign_answer(campaign)
    _, *over_tls = answer.ladder.rungs
    assert {(rung.before.word, rung.plain.word) for rung in over_tls} == {("", "")}
    assert "23.1 %" in over_tls[0].plain.why.replace("\u202f", " ")
    assert "TLS 1.3 takes about +54.0" in plain_text(answer.sentence)


def test_http_and_https_alone_are_no_ladder(project):
    campaign, tests = https_campaign(project, modes=("new", "keep-alive"), **just_now())
    run_in_blocks(tests, [around(10_000, 3)] * 4)
    answer = campaign_answer(campaign)
    assert answer.ladder is None
    assert len(answer.overheads) == 2


def test_the_tables_have_a_row_a_rung(ladder):
    campaign, _ = ladder
    tables = {table.key: table for table in campaign_answer(campaign).tables}
    for key in ("ladder", "ladder-parts", "ladder-wire", "ladder-tls"):
        assert [row.label for row in tables[key].rows] == [
            RUNGS[each].title if each != "new-http" else "HTTP/1.1" for each in NEW
        ]
    row = tables["ladder"].to_json()["rows"][1]["values"]
    assert (row["plain_word"], row["plain_change"]) == ("slower", 76.7)
    assert row["before_change_low"] <= row["before_change"] <= row["before_change_high"]


def test_the_server_s_cpu_is_compared_with_plain_http_rung_by_rung(ladder):
    campaign, by_rung = ladder
    for runs in by_rung:
        tell(runs, {"http": [6.0] * 5, "https": [7.2] * 5})
    costs = target_costs(campaign, campaign_answer(campaign)).cpu
    assert costs.sentence == []
    _, comparison = costs.tables
    assert [row.label for row in comparison.rows][:2] == [
        "New connection: HTTPS/1.1, TLS 1.2 against HTTP/1.1",
        "New connection: TLS 1.3 against HTTP/1.1",
    ]
    assert {row.cells[-1].text for row in comparison.rows} == {"costs more"}


def test_one_sentence_says_what_costs_and_what_does_not(ladder):
    campaign, _ = ladder
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert sentence.startswith("On a new connection TLS 1.3 is 54\u202f% slower than HTTP (")
    assert "A resumed session saves 14.7\u202f% (" in sentence
    assert "A hybrid key exchange and HTTP/2 make no practical difference." in sentence


def test_what_the_runs_do_not_tell_is_bounded(climb):
    keys, means_us = ("new-http", "new-tls13", "new-hybrid"), (10_000, 11_000, 12_000)
    campaign, _ = climb(keys, means_us, runs_of=unlike_each_other)
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert "HTTPS/1.1, TLS 1.3 is too close to call (" in sentence
    assert "hybrid key exchange is too close to call: at most" in sentence


def test_kept_connections_have_a_section_and_a_clause_of_their_own(climb):
    keys = ("kept-http", "kept-tls12", "kept-tls13", "kept-hybrid", "kept-http2")
    campaign, _ = climb((*NEW, *keys), (*MEANS_US, 14_500, 14_900, 14_900, 14_900, 14_950))
    ladder = campaign_answer(campaign).ladder
    assert [(str(key), len(rungs)) for key, rungs in ladder.sections] == [("new", 6), ("kept", 5)]
    assert ladder.of(Section.KEPT)[1].plain.row.ratio == pytest.approx(14.9 / 14.5, rel=1e-3)
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert "On kept connections all of it makes no practical difference to HTTP (+3.1" in sentence


def test_what_the_server_chose_otherwise_is_said(ladder):
    campaign, by_rung = ladder
    agree(by_rung[2], group=CLASSICAL)
    agree(by_rung[3], group=CLASSICAL)
    agree(by_rung[4], group=HYBRID)
    _, _, classical, hybrid, resumed, _ = rungs_of(campaign)
    assert classical.chose_otherwise == ""
    assert hybrid.chose_otherwise == "The server chose X25519."
    assert resumed.chose_otherwise == "The server resumed no session."


def test_the_sentence_tells_no_effect_of_what_the_server_did_not_take(ladder):
    campaign, by_rung = ladder
    for runs, is_resumed in zip(by_rung[2:], (False, False, True, True), strict=True):
        agree(runs, group=CLASSICAL, resumed=is_resumed)
    sentence = plain_text(campaign_answer(campaign).sentence)
    assert "A hybrid key exchange was not measured: the server chose X25519." in sentence
    assert sentence.count("ybrid key exchange") == 1
    # Neither of these has the hybrid group, nor what it is compared with.
    assert "A resumed session saves 14.7\u202f% (" in sentence
    assert "HTTP/2 makes no practical difference." in sentence


@pytest.fixture
def page_of(client):
    """Gives a campaign's page to the owner of its project."""

    def page_of(campaign, name="campaign-detail", **query):
        client.force_login(owner_of(campaign.project).user)
        return client.get(reverse(name, args=[campaign.pk]), query)

    return page_of


def blocks_of(page_of, campaign, **query) -> dict[str, list[list[str]]]:
    """The tables of the CSV by their titles, what is said of each beside it."""
    answer = page_of(campaign, "api-campaign-csv", format="blocks", **query)
    tables: dict[str, list[list[str]]] = {}
    for block in answer.content.decode().split("\r\n\r\n"):
        (title, *note), *rows = csv.reader(StringIO(block))
        tables[title] = [note, *rows]
    return tables


def as_in_csv(text: str) -> str:
    """A page's figure as CSV writes it."""
    plain = text.replace(",", "").replace("\u2212", "-").removesuffix("\u202f%")
    return plain.lstrip("+").replace("–", "")


def test_csv_has_the_rungs_with_the_page_s_digits_and_what_it_says_of_them(page_of, climb):
    campaign, _ = climb(means_us=(1_899.4, 3_341.3, 2_911, 2_912, 2_501, 2_512), repeats=3, n=700)
    for metric in ("mean", "p99"):
        page_ladder = page_of(campaign, metric=metric).context["ladder"]
        blocks = blocks_of(page_of, campaign, metric=metric)
        note, head, *rows = blocks["What each layer costs shop"]
        assert note == [page_ladder["note"]]
        (section,) = page_ladder["sections"]
        for on_page, row in zip(section["rungs"], rows, strict=True):
            in_csv = dict(zip(head, row, strict=True))
            assert in_csv[f"{metric} (ms)"] == as_in_csv(on_page["value"])
            assert bool(in_csv.get("weak")) == bool(on_page["rung"].weak) == (metric == "p99")
            for against, step in (
                ("rung before", on_page["before"]),
                ("plain HTTP", on_page["plain"]),
            ):
                if step:
                    assert in_csv[f"difference, {against} (ms)"] == as_in_csv(step["difference"])
                    assert in_csv[f"change, {against} (%)"] == as_in_csv(step["change"])
                    ends = [in_csv[f"{end}, {against} (%)"] for end in ("95 % from", "to")]
                    assert ends == [as_in_csv(each) for each in step["interval"].split(" to ")]


def test_the_parts_in_csv_add_up_as_they_do_on_the_page(page_of, climb):
    campaign, _ = climb(repeats=3, connect_us=407)
    (parts_table,) = page_of(campaign).context["ladder"]["parts"]
    _, head, *rows = blocks_of(page_of, campaign)["Where the time goes, mean per request"]
    assert head[2:-2] == [f"{part} (ms)" for part in parts_table["parts"]]
    for (bar, own), (label, _, *cells) in zip(parts_table["rows"], rows, strict=True):
        assert label == bar["label"]
        assert cells == list(map(as_in_csv, [*bar["cells"], bar["total"], own]))
        *parts, total, _ = cells
        assert sum(Decimal(each or 0) for each in parts) == Decimal(total)


def test_a_ladder_without_a_run_is_shown_without_figures(page_of, climb):
    campaign, _ = climb(means_us=())
    for name in ("campaign-detail", "api-campaign-tables"):
        assert page_of(campaign, name).status_code == 200
