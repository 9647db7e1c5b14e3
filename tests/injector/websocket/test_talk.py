"""What services say on a WebSocket: own texts, replies among other messages, scenarios."""

import json
import time

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

from tests.injector.servers import closed
from tests.injector.websocket.peers import against, echo, tally


def service(say, greeting=(), later=(), **accept):
    """Says `greeting` with its 101, `later` 50 ms after it, and `say(text)` to each message."""
    messages = []

    def script(sock, server):
        connection = WSConnection(ConnectionType.SERVER)

        def send(*texts):
            return b"".join(connection.send(TextMessage(text)) for text in texts)

        while data := sock.recv(65536):
            connection.receive_data(data)
            for event in connection.events():
                if isinstance(event, Request):
                    opening = connection.send(AcceptConnection(**accept))
                    sock.sendall(opening + send(*greeting))
                    if later:
                        time.sleep(0.05)
                        sock.sendall(send(*later))
                elif isinstance(event, CloseConnection):
                    sock.sendall(connection.send(event.response()))
                    return
                elif isinstance(event, TextMessage):
                    messages.append(event.data)
                    sock.sendall(send(*say(event.data)))

    return script, messages


WELCOME = '{"type":"welcome"}'


def test_what_a_server_says_with_its_101_is_no_reply():
    script, _ = service(lambda text: [text], greeting=[WELCOME])
    total, _ = tally(script, closed(10), {"messages": 1})
    assert (total.errors, total.count("ok"), total.count("messages_other")) == ({}, 10, 10)


def test_what_a_server_says_at_any_time_is_counted_and_ignored():
    for reply in ["echo", "pattern: ^0000", "text: benchsite"]:
        script, _ = service(lambda text: [WELCOME, text, WELCOME], later=[WELCOME])
        exchange = {"messages": 20, "rate_per_s": 200, "reply": reply}
        total, _ = tally(script, closed(4, 2), exchange)
        assert (total.errors, total.count("ok")) == ({}, 4)
        assert total.timing("message").n == 80
        assert total.count("messages_received") == 80 + total.count("messages_other")


def answers(text):
    """As some services do: an acknowledgement, then the answer."""
    number = json.loads(text)["id"]
    return [json.dumps({"ack": number}), json.dumps({"id": number, "type": "data"})]


TEXTS = ['{"id": 1}', '{"id": 2}', '{"id": 3}']


def test_the_reply_is_chosen_by_a_rule():
    for reply in [
        "json: $.type = data",
        "message: 2",
        'pattern: "type": "d',
        "text: data",
        "first",
    ]:
        script, messages = service(answers)
        exchange = {"texts": TEXTS, "reply": reply}
        total, _ = tally(script, closed(2), exchange)
        assert (total.errors, total.count("ok"), messages) == ({}, 2, TEXTS * 2)
        assert (total.timing("message").n, total.count("messages_sent")) == (6, 6)


def test_own_texts_are_repeated_and_filled_in_from_the_connections_row():
    script, messages = service(lambda text: [text])
    exchange = {"texts": ["hello ${name}", "bye"], "messages": 3, "reply": "echo"}
    plan = {"variables": {"csv": "name\nann\nbob\n"}}
    total, _ = tally(script, closed(2), exchange, plan=plan)
    assert total.errors == {}
    assert messages == ["hello ann", "bye", "hello ann", "hello bob", "bye", "hello bob"]


def test_a_reply_that_never_comes_is_named_by_its_rule():
    script, _ = service(lambda text: [WELCOME])
    exchange = {"texts": TEXTS, "reply": "text: data"}
    limits = {"connect_s": 0.2, "tls_s": 0.2, "total_s": 0.3}
    result, _ = against(script, closed(1), exchange, timeouts=limits)
    (row,) = result.measurement.failures
    assert row.details == {"no message was the reply (text: data)": 1}


GRAPHQL = ['send: {"type": "connection_init"}', "expect: json: $.type = connection_ack"]


def graphql(text):
    kind = json.loads(text)["type"]
    if kind == "connection_init":
        return ['{"type": "ping"}', '{"type": "connection_ack"}']
    return ['{"id": "1", "type": "next"}', '{"id": "1", "type": "complete"}']


def test_a_scenario_opens_each_connection_before_its_messages():
    script, messages = service(graphql, subprotocol="graphql-transport-ws")
    exchange = {
        "scenario": [*GRAPHQL, "wait: 0.05"],
        "texts": ['{"id": "1", "type": "subscribe"}'],
        "messages": 2,
        "reply": "json: $.type = complete",
        "subprotocols": ["graphql-transport-ws"],
    }
    total, _ = tally(script, closed(2), exchange)
    assert (total.errors, total.count("ok")) == ({}, 2)
    assert [json.loads(text)["type"] for text in messages[:3]] == [
        "connection_init",
        *["subscribe"] * 2,
    ]
    assert total.timing("message").n == 6
    assert total.timing("exchange").min_us >= 50_000


def test_a_scenario_expects_what_came_with_the_101_too():
    """Socket.IO's opening: the server begins."""
    script, messages = service(
        lambda text: ['40{"sid":"y"}'] if text == "40" else [], greeting=['0{"sid":"x"}']
    )
    scenario = ["expect: pattern: ^0", "send: 40", "expect: pattern: ^40"]
    total, _ = tally(script, closed(3), {"scenario": scenario})
    assert (total.errors, total.count("ok"), messages) == ({}, 3, ["40"] * 3)
    assert (total.timing("message").n, total.count("messages_other")) == (3, 0)


def test_messages_are_compressed_as_was_agreed():
    for deflate in ["context_takeover", "no_context_takeover"]:
        for server_keeps in [True, False]:
            extension = PerMessageDeflate(server_no_context_takeover=not server_keeps)
            exchange = {"messages": 5, "size_bytes": 3000, "deflate": deflate}
            # The server's extension is of one connection.
            total, _ = tally(echo(extensions=[extension]), closed(1), exchange)
            assert (total.errors, total.count("ok"), total.count("messages_received")) == ({}, 1, 5)
            assert total.count("bytes_received") < 5 * 3000 / 4
            assert total.count("bytes_sent") < 5 * 3000 / 4
            assert total.count("uncompressed") == 0


def test_a_server_without_compression_gets_messages_as_they_are():
    exchange = {"messages": 2, "size_bytes": 3000, "deflate": "context_takeover"}
    total, _ = tally(echo(), closed(2), exchange)
    assert (total.errors, total.count("ok")) == ({}, 2)
    assert total.count("bytes_sent") > 4 * 3000
    assert total.count("uncompressed") == 2
