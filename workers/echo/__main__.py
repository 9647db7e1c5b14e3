"""The demo target as a program: `python -m workers.echo --http-port 8081 --https-port 8444`."""

import argparse
import signal
import sys
from pathlib import Path

import gevent
from gevent.event import Event

from workers.echo.arrival import Journal
from workers.echo.server import EchoServer
from workers.echo.tls import ensure_certificate, ensure_rsa_certificate, make_tls_context


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workers.echo",
        description="Answers HTTP and HTTPS, and on the same ports ws and wss, until SIGTERM.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--http-port", type=int, help="port for http; 0 takes a free one")
    parser.add_argument("--https-port", type=int, help="port for https; 0 takes a free one")
    parser.add_argument("--cert-dir", default=".", help="where certificates are kept or made")
    parser.add_argument("--log", help="file that gets one JSON line for each request")
    options = parser.parse_args()
    journal = Journal(options.log)
    servers = []
    if options.http_port is not None:
        servers.append(EchoServer((options.host, options.http_port), "http", journal))
    if options.https_port is not None:
        folder = Path(options.cert_dir)
        ecdsa = ensure_certificate(folder, options.host)
        tls = make_tls_context(ecdsa, ensure_rsa_certificate(folder, options.host))
        servers.append(EchoServer((options.host, options.https_port), "https", journal, tls))
    if not servers:
        sys.exit("Give --http-port, --https-port or both.")
    for server in servers:
        server.start()
        print(f"{server.scheme}://{options.host}:{server.port}/ is ready", flush=True)
    over = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        gevent.signal_handler(number, over.set)
    over.wait()
    for server in servers:
        server.stop()
    journal.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
