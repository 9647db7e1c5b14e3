"""What sends notifications dials no address that the policy refuses, whatever library dials, and
tells no secret. Real sockets: a receiver that heard nothing was not asked."""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from apprise.plugins.discord import NotifyDiscord
from apprise.plugins.slack import NotifySlack
from django.conf import settings

from campaigns.notifications import sender
from tests.injector.authority import issue, server_context
from tests.notifications.receivers import http_receiver, smtp_receiver
from workers.notifying import Sender

LOOPBACK = {"allow": ["127.0.0.0/8"], "never": []}
NOWHERE = {"allow": [], "never": []}
_BODY = "**p95**: 42 ms\n\n[See the result](https://bench.example/campaigns/1/)"
TOLD = {"title": "Nightly is 11 % slower.", "body": _BODY, "site": "https://bench.example"}
HOOK = {"body": "{}", "headers": {"webhook-id": "1"}}


@pytest.fixture(scope="module")
def process():
    """Of all tests: its start takes a second."""
    notifier = Sender()
    yield notifier
    notifier.end()


@pytest.fixture
def receiver():
    with http_receiver() as receiver:
        yield receiver


def addresses(port: int) -> dict[str, dict]:
    """Orders that different libraries dial for."""
    return {
        "webhook": {"address": f"http://127.0.0.1:{port}/hook", **HOOK},
        "webhook by name": {"address": f"http://localhost:{port}/hook", **HOOK},
        "apprise": {"address": f"json://127.0.0.1:{port}/", **TOLD},
        "apprise by name": {"address": f"mmost://localhost:{port}/{'c' * 24}", **TOLD},
    }


@pytest.mark.parametrize("kind", addresses(1))
def test_only_allowed_addresses_are_dialled(process, receiver, kind):
    order = addresses(receiver.port)[kind]
    assert process.send({**order, **LOOPBACK}).problem == ""
    assert len(receiver.received) == 1
    answer = process.send({**order, **NOWHERE})
    assert "is not a public address" in answer.problem
    own = {"allow": ["127.0.0.0/8"], "never": [f"127.0.0.1:{receiver.port}"]}
    assert "is a server of this installation" in process.send({**order, **own}).problem
    assert len(receiver.received) == 1


def test_mail_servers_that_people_type_are_vetted_as_well(process):
    with smtp_receiver() as (port, mails):
        order = {
            "address": f"mailto://127.0.0.1:{port}?from=a@shop.example&to=b@shop.example"
            "&mode=insecure",
            **TOLD,
        }
        assert "is not a public address" in process.send({**order, **NOWHERE}).problem
        assert mails == []
        assert process.send({**order, **LOOPBACK}).problem == ""
        assert [to for to, _ in mails] == [["b@shop.example"]]


def test_a_redirect_leads_nowhere_else(process, receiver):
    with http_receiver(statuses=[307], location=receiver.url) as first:
        order = {"address": first.url, **HOOK, **LOOPBACK}
        assert "Redirects are not followed" in process.send(order).problem
        # Apprise follows them, and the guard vets where they lead.
        only_first = {"allow": [f"127.0.0.0/8:{first.port}"], "never": []}
        order = {"address": f"json://127.0.0.1:{first.port}/", **TOLD, **only_first}
        assert "is not a public address" in process.send(order).problem
    assert receiver.received == []


def test_a_name_that_changes_its_address_is_vetted_where_it_is_dialled(monkeypatch, receiver):
    """Whatever a name server said before: the hook sees the address that the socket gets."""
    guard = sender.DialGuard(NOWHERE)
    with (
        socket.socket() as own_socket,
        pytest.raises(PermissionError, match="not a public address"),
    ):
        guard("socket.connect", (own_socket, ("127.0.0.1", receiver.port)))
    with socket.socket() as own_socket, pytest.raises(PermissionError, match="not an IP address"):
        guard("socket.connect", (own_socket, ("localhost", receiver.port)))
    with (
        socket.socket(socket.AF_UNIX) as own_socket,
        pytest.raises(PermissionError, match="over IP only"),
    ):
        guard("socket.connect", (own_socket, "/run/postgresql/.s.PGSQL.5432"))


def test_it_reads_no_file_and_starts_no_program(process, tmp_path):
    secret = tmp_path / "card.json"
    secret.write_text('{"secret": "s3cr3t"}')
    with http_receiver() as receiver:
        address = f"workflows://127.0.0.1:{receiver.port}/flow/signature?template={secret}"
        assert process.send({"address": address, **TOLD, **LOOPBACK}).problem
        assert receiver.received == []
    guard = sender.DialGuard(LOOPBACK)
    with pytest.raises(PermissionError):
        guard("subprocess.Popen", ("sh", ["sh"], None, None))
    with pytest.raises(PermissionError):
        guard("open", (str(tmp_path / "new"), "w", 0o101))


def test_it_has_none_of_our_secrets(process):
    environment = Path(f"/proc/{process.start().pid}/environ").read_text()
    names = {each.partition("=")[0] for each in environment.split("\0") if each}
    assert names <= {"PATH", "LC_CTYPE"}


def test_a_receiver_that_says_410_wants_no_more(process):
    with http_receiver(statuses=[410]) as receiver:
        result = process.send({"address": receiver.url, **HOOK, **LOOPBACK})
    assert result.is_gone


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/s3cr3t-path?token=s3cr3t", "mmost://127.0.0.1:1/s3cr3ts3cr3ts3cr3ts3cr3t"],
)
def test_a_problem_never_has_the_address(process, address):
    more = HOOK if address.startswith("http") else TOLD
    problem = process.send({"address": address, **more, **LOOPBACK}).problem
    assert problem
    assert "s3cr3t" not in problem


def test_one_that_hangs_delays_no_other(process, receiver):
    with http_receiver(hold=threading.Event()) as silent:
        waiter = threading.Thread(
            target=process.send, args=[{"address": silent.url, **HOOK, **LOOPBACK}]
        )
        waiter.start()
        began = time.monotonic()
        assert process.send({"address": receiver.url, **HOOK, **LOOPBACK}).problem == ""
        assert time.monotonic() - began < 5
        silent.hold.set()
        waiter.join(20)


def test_a_killed_process_is_started_again(process, receiver):
    dead = process.start()
    dead.kill()
    dead.wait(5)
    assert process.send({"address": receiver.url, **HOOK, **LOOPBACK}).problem == ""


def test_slack_gets_headline_facts_and_link(monkeypatch, receiver):
    address = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    root = f"http://127.0.0.1:{receiver.port}/services"
    monkeypatch.setattr(NotifySlack, "webhook_url", root)
    guard = sender.DialGuard(LOOPBACK)
    assert sender.answer_to({"address": address, **TOLD, **LOOPBACK}, guard) == {"problem": ""}
    (request,) = receiver.received
    assert request.path.startswith("/services/T1JJ3T3L2/")
    (attachment,) = request.json["attachments"]
    assert attachment["title"] == TOLD["title"]
    assert "*p95*: 42 ms" in attachment["text"]
    assert "<https://bench.example/campaigns/1/|See the result>" in attachment["text"]


def test_discord_gets_headline_and_link(monkeypatch, receiver):
    address = f"https://discord.com/api/webhooks/123456789012345678/{'t' * 64}"
    root = f"http://127.0.0.1:{receiver.port}/api/webhooks"
    monkeypatch.setattr(NotifyDiscord, "notify_url", root)
    guard = sender.DialGuard(LOOPBACK)
    assert sender.answer_to({"address": address, **TOLD, **LOOPBACK}, guard) == {"problem": ""}
    (request,) = receiver.received
    assert request.path == f"/api/webhooks/123456789012345678/{'t' * 64}"
    assert TOLD["title"] in request.json["content"]
    assert "[See the result](https://bench.example/campaigns/1/)" in request.json["content"]


_SIGNED_IN = {"access_token": "t", "user_id": "@bot:home", "home_server": "home", "room_id": "!r:h"}


def test_matrix_gets_the_message_in_its_room(process):
    with http_receiver(answer=json.dumps(_SIGNED_IN).encode()) as home:
        address = f"matrix://bot:s3cr3t@127.0.0.1:{home.port}/#room"
        assert process.send({"address": address, **TOLD, **LOOPBACK}).problem == ""
    paths = [each.path for each in home.received]
    assert paths[0].endswith("/login")
    assert "/join/%23room" in paths[1]
    assert "/rooms/%21r%3Ah/send/m.room.message/" in paths[2]
    assert TOLD["title"] in home.received[2].json["body"]


def test_teams_gets_an_adaptive_card(process):
    with http_receiver(tls=server_context(issue(names=("127.0.0.1",)))) as receiver:
        address = f"workflows://127.0.0.1:{receiver.port}/flow/signature?verify=no"
        assert process.send({"address": address, **TOLD, **LOOPBACK}).problem == ""
    (card,) = receiver.received[0].json["attachments"]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert TOLD["title"] in json.dumps(card, ensure_ascii=False)


def test_its_program_ends_with_its_parent():
    """Standard input is all that keeps it."""
    done = subprocess.run(
        [sys.executable, "-m", "campaigns.notifications.sender"],
        cwd=settings.BASE_DIR,
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    assert done.returncode == 0
