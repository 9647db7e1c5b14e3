"""WebSocket addresses on the command line."""

import json

import pytest

from tests.injector.servers import scripted
from tests.injector.websocket.peers import echo
from workers.injector import cli


@pytest.mark.alone
def test_it_measures_an_exchange(capsys):
    with scripted(echo()) as server:
        address = f"ws://127.0.0.1:{server.port}/feed"
        status = cli.main(
            [address, "--requests", "6", "--connections", "2", "--messages", "5", "--size", "100"]
        )
    printed = capsys.readouterr().out
    assert status == 0
    assert "6 ok" in printed
    for row in ("handshake", "exchange", "close", "message"):
        assert any(line.startswith(row) for line in printed.splitlines())


def test_the_object_has_the_messages(capsys):
    with scripted(echo()) as server:
        cli.main([f"ws://127.0.0.1:{server.port}/", "--messages", "3", "--json", "--binary"])
    said = json.loads(capsys.readouterr().out)
    counters = said["counters"]
    assert counters["messages_sent"] == counters["messages_received"] == 3
    assert counters["close_code_1000"] == 1
    assert said["timings_ms"]["message"]["n"] == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["http://127.0.0.1:1/", "--messages", "3"],
        ["ws://127.0.0.1:1/", "--body", "x"],
        ["ws://127.0.0.1:1/", "--close-code", "1005"],
    ],
)
def test_what_does_not_fit_the_address_is_wrong_usage(arguments, capsys):
    assert cli.main(arguments) == cli.REFUSED
    assert capsys.readouterr().err
