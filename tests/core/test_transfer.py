"""What is compressed, what is not, and what a reader who has it already does not get again."""

import gzip
from contextlib import closing

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.core.transfer import client_address
from campaigns.models import Run
from campaigns.runs.services import summarise_run
from tests.cast import token_client
from tests.factories import just_now, make_campaign, make_run, make_test, store_second
from tests.measured import measure
from tests.values import make_second

pytestmark = pytest.mark.django_db
GZIP = {"Accept-Encoding": "gzip, deflate, br"}
OWN = GZIP | {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def run(project) -> Run:
    """A finished run of a finished campaign."""
    campaign = make_campaign(project, **just_now(), repeats=1)
    return measure(make_run(make_test(campaign)), 12_000)


def page_of(client: Client, run: Run, **headers: str):
    return client.get(reverse("run-detail", args=[run.pk]), headers=headers)


def is_compressed(answer) -> bool:
    return answer.get("Content-Encoding") == "gzip"


def test_a_page_is_compressed_to_a_part_of_its_size(viewer, run):
    answer = page_of(viewer, run, **OWN)
    text = gzip.decompress(answer.content)
    assert is_compressed(answer)
    assert b"</html>" in text
    assert len(answer.content) < len(text) / 3
    assert "Accept-Encoding" in answer["Vary"]


@pytest.mark.parametrize(
    ("site", "is_gzip"),
    [("same-origin", True), ("none", True), ("same-site", False), ("cross-site", False)],
)
def test_what_another_site_asks_for_with_a_reader_s_cookies_is_not(viewer, run, site, is_gzip):
    assert is_compressed(page_of(viewer, run, **GZIP, **{"Sec-Fetch-Site": site})) == is_gzip


def test_nor_is_what_a_browser_asks_for_that_does_not_say_where_from(viewer, run):
    assert not is_compressed(page_of(viewer, run, **GZIP))


def test_a_program_without_cookies_gets_it_compressed(alice, run):
    tables = f"/api/v1/runs/{run.pk}/tables/"
    assert is_compressed(token_client(alice).get(tables, headers=GZIP))


def test_the_answer_to_a_form_may_hold_a_new_secret_and_is_not_compressed(viewer):
    form = {"name": "nightly job", "scope": "read", "days": 30}
    answer = viewer.post(reverse("token-list"), form, headers=OWN)
    assert b"bs_pat_" in answer.content
    assert not is_compressed(answer)


def test_an_event_stream_is_never_compressed(viewer, run):
    with closing(viewer.get(reverse("run-stream", args=[run.pk]), headers=OWN)) as answer:
        assert answer["Content-Type"] == "text/event-stream"
        assert not is_compressed(answer)


def test_the_length_of_the_same_answer_varies(alice, run):
    api, tables = token_client(alice), f"/api/v1/runs/{run.pk}/tables/"
    assert len({len(api.get(tables, headers=GZIP).content) for _ in range(8)}) > 1


def test_an_export_is_compressed_while_it_is_made(viewer, run):
    address = reverse("run-seconds-csv", args=[run.pk])
    answer = viewer.get(address, headers=OWN)
    assert is_compressed(answer)
    assert gzip.decompress(answer.getvalue()) == viewer.get(address).getvalue()


def files_of(run: Run) -> list[str]:
    of_run = ("run-csv", "run-points", "run-seconds-csv", "run-report-text")
    of_run += ("api-run-tables", "api-run-seconds")
    of_campaign = ("campaign-csv", "api-campaign-csv", "api-campaign-tables")
    return [
        *(reverse(name, args=[run.pk]) for name in of_run),
        *(reverse(name, args=[run.campaign_id]) for name in of_campaign),
        f"{reverse('campaign-csv', args=[run.campaign_id])}?format=blocks",
    ]


def test_whoever_has_the_results_of_what_has_ended_does_not_get_them_again(viewer, run):
    for address in files_of(run):
        for headers in ({}, OWN):
            tag = viewer.get(address, headers=headers)["ETag"]
            again = viewer.get(address, headers={**headers, "If-None-Match": tag})
            assert (again.status_code, again.content) == (304, b""), address


def test_late_seconds_make_them_new(viewer, run):
    tags = {address: viewer.get(address)["ETag"] for address in files_of(run)}
    store_second(run, make_second(10, [12_000] * 50))
    summarise_run(run)
    for address, tag in tags.items():
        assert viewer.get(address, headers={"If-None-Match": tag}).status_code == 200, address


def test_the_seconds_of_a_run_under_way_are_not_held_to_be_final(viewer, project):
    run = make_run(make_test(make_campaign(project, started_at=timezone.now())), state="running")
    for name in ("run-points", "run-seconds-csv", "api-run-seconds"):
        assert "private" not in viewer.get(reverse(name, args=[run.pk])).get("Cache-Control", "")


def test_whoever_may_not_see_a_run_learns_nothing_by_naming_its_tag(viewer, run, charlie):
    address = reverse("run-seconds-csv", args=[run.pk])
    tag = viewer.get(address)["ETag"]
    stranger = Client()
    stranger.force_login(charlie)
    assert stranger.get(address, headers={"If-None-Match": tag}).status_code == 404


def test_a_page_has_no_tag_because_its_form_token_is_always_new(viewer, run):
    assert "ETag" not in page_of(viewer, run)


PROXY = "127.0.0.1"


def test_the_last_address_that_is_no_proxy_of_ours():
    for peer, header, proxies, address in [
        ("198.51.100.7", "", [PROXY], "198.51.100.7"),
        (PROXY, "", [PROXY], PROXY),
        (PROXY, "198.51.100.7", [PROXY], "198.51.100.7"),
        (PROXY, "10.9.9.9, 198.51.100.7", [PROXY], "198.51.100.7"),
        ("198.51.100.7", "10.9.9.9", [PROXY], "198.51.100.7"),
        (PROXY, "198.51.100.7, 10.0.0.2", [PROXY, "10.0.0.0/24"], "198.51.100.7"),
        ("10.0.0.2", "198.51.100.7", ["10.0.0.0/24"], "198.51.100.7"),
        (PROXY, "not an address", [PROXY], PROXY),
        (PROXY, "198.51.100.7, x", [PROXY], PROXY),
        ("", "198.51.100.7", [PROXY], "198.51.100.7"),
        ("172.18.0.3", "9.9.9.9, 198.51.100.7", ["*"], "198.51.100.7"),
        ("172.18.0.3", "", ["*"], "172.18.0.3"),
        ("::1", "2001:db8::7", ["::1"], "2001:db8::7"),
    ]:
        meta = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": header}
        assert client_address(meta, proxies) == address
