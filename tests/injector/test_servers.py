"""The servers of the tests themselves."""

import socket
import threading
import warnings

from tests.injector.authority import issue, server_context
from tests.injector.servers import OK_REPLY, always, reset, scripted
from tests.waiting import eventually

_HEAD_OF_A_RECORD = b"\x16\x03\x01"


def test_a_client_that_resets_the_handshake_leaves_nothing_open():
    n_threads = threading.active_count()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with scripted(always(OK_REPLY), server_context(issue())) as server:
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(_HEAD_OF_A_RECORD)
            eventually(lambda: server.n_connections == 1, 5, "the connection")
            reset(client)
        eventually(lambda: threading.active_count() <= n_threads, 5, "the server's threads")
    assert [str(each.message) for each in seen] == []
