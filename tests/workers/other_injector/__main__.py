"""A second injector, written from docs/injector.md and docs/plan.md alone.

Plain blocking Python, a thread for each connection, nothing of ours imported: what this needed and
the documents did not say was added to them. It does closed and sequential HTTP plans, and refuses
the rest.
"""

import base64
import errno
import http.client
import ipaddress
import itertools
import json
import os
import queue
import resource
import select
import socket
import struct
import sys
import threading
import time
import zlib
from itertools import pairwise

NS = 1_000_000_000
DRAIN_S = 0.5
now = time.monotonic_ns


def say(type_, **fields):
    sys.stdout.write(json.dumps({"type": type_, **fields}) + "\n")
    sys.stdout.flush()


def histogram(values):
    """The histogram as docs/injector.md lays it out."""
    counts = {}
    for value in values:
        value = min(value, 3_600_000_000)
        shift = max(0, value.bit_length() - 11)
        bucket = shift * 1024 + (value >> shift)
        counts[bucket] = counts.get(bucket, 0) + 1
    data, following = b"", 0
    for bucket in sorted(counts):
        if bucket > following:
            data += leb128(-(bucket - following))
        data += leb128(counts[bucket])
        following = bucket + 1
    header = struct.pack(">iiiiqqd", 0x1C849313, len(data), 0, 3, 1, 3_600_000_000, 1.0)
    body = zlib.compress(header + data)
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(body)) + body).decode()


def leb128(number):
    zigzag, out = 2 * number if number >= 0 else -2 * number - 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def timing(values):
    return {
        "n": len(values),
        "sum_us": sum(values),
        "sum_squares": sum(value * value for value in values),
        "min_us": min(values),
        "max_us": max(values),
        "histogram": histogram(values),
    }


class Row:
    """One second at one step."""

    def __init__(self):
        self.counters, self.errors, self.statuses, self.timings = {}, {}, {}, {}

    def count(self, name, number=1, into="counters"):
        counts = getattr(self, into)
        counts[name] = counts.get(name, 0) + number

    def time(self, **durations_us):
        for name, value in durations_us.items():
            self.timings.setdefault(name, []).append(value)


class Cannot(Exception):
    """(kind, sentence): what is refused."""


USUAL = {
    "http_version": "1.1",
    "resolve": "once",
    "exchange": None,
    "auth": {"kind": "none", "user": ""},
    "order": {"kind": "round_robin", "block_repeat": 1, "weights": []},
    "variables": {"csv": "", "order": "sequential"},
}

STEP = {"label", "method", "path", "headers", "body", "extract"}
KNOWN = {
    "steps", "load", "connection_mode", "timeouts", "expected_status", "warm_up_s", "session",
    "thresholds", *USUAL,
}  # fmt: skip


def check(order):
    """The addresses to dial. Raises Cannot."""
    if order.get("protocol") != 1:
        raise Cannot("bad_order", "This injector speaks protocol 1 only.")
    if order.get("probe"):
        raise Cannot("bad_order", "probe: this injector does no single requests.")
    plan, endpoint = order["plan"], order["endpoint"]
    if unknown := sorted(set(plan) - KNOWN):
        raise Cannot("bad_order", f"plan.{unknown[0]}: this injector knows no such field.")
    if plan["http_version"] != USUAL["http_version"]:
        raise Cannot("bad_order", "plan.http_version: this injector speaks HTTP/1.1 only.")
    if plan["load"]["requests"] is not None and plan["load"]["duration_s"] is not None:
        raise Cannot("bad_order", "plan.load.duration_s: requests say already when it ends.")
    if plan["load"]["model"] not in {"closed", "sequential"}:
        raise Cannot("bad_order", "plan.load.model: this injector knows closed and sequential.")
    if order["connection_mode"] == "resumed" or endpoint["scheme"] != "http" or endpoint.get("tls"):
        raise Cannot("bad_order", "endpoint.scheme: this injector speaks plain HTTP only.")
    if order["shard"].get("weights"):
        raise Cannot("bad_order", "shard.weights: this injector has equal shares only.")
    session = {k: v for k, v in plan["session"].items() if k not in {"think_time"}}
    if (
        any(plan[name] != usual for name, usual in USUAL.items())
        or plan["session"]["think_time"]["kind"] != "none"
        or [session["calls_per_connection"], session["burst_length"]] != [0, 1]
        or session["pipeline_depth"] != 1
        or session["cookies"]
        or session["calls_per_session"]
        or any(step["extract"] or set(step) - STEP for step in plan["steps"])
        or plan["load"]["per_injector"]
        or plan["load"]["ramp_up_s"]
        or plan["load"]["start_offset_s"]
    ):
        raise Cannot("bad_order", "plan: only plain requests in turns, all connections at once.")
    never = order["policy"].get("never", [])
    addresses = [addr for addr in look_up(endpoint) if admit(addr, order["policy"]["allow"])]
    if any(f"{addr}:{endpoint['port']}" in never for addr in addresses):
        raise Cannot("address_refused", "A server of the installation.")
    return addresses


def look_up(endpoint):
    try:
        answers = socket.getaddrinfo(endpoint["host"], endpoint["port"], type=socket.SOCK_STREAM)
    except OSError as error:
        raise Cannot("dns_failed", f"{endpoint['host']} could not be resolved: {error}") from None
    return list(dict.fromkeys(each[4][0] for each in answers))


def admit(address, networks):
    ip = ipaddress.ip_address(address)
    bad = ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified
    if bad or not any(ip in ipaddress.ip_network(net) for net in networks):
        raise Cannot("address_refused", f"{address} is in none of the networks that are allowed.")
    return True


def share(total, index, count):
    """Largest remainder: 1000 over 3 are 334, 333, 333."""
    return total // count + (index < total % count)


def requests_of(load, index, count):
    """Shared by the shards that have a connection, which are the first ones."""
    if load["requests"] is None:
        return None
    n_at_work = min(count, load["connections"] or 1)
    return share(load["requests"], index, n_at_work) if index < n_at_work else 0


class Connection(threading.Thread):
    """Sends its next request when the reply to the last one is complete."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.run_, self.client, self.began, self.cut = run, None, None, None

    def run(self):
        self.run_.has_stopped.wait(max(0, self.run_.start_ns - now()) / NS)
        while (number := self.run_.next_number()) is not None:
            kind = self.attempt(number % len(self.run_.plan["steps"]))
            if kind and kind.startswith("connect"):
                time.sleep(0.01)
        self.close()

    def attempt(self, place):
        step, run, marks = self.run_.plan["steps"][place], self.run_, {}
        with run.lock:
            self.began, self.cut = now(), None
            run.row(place, self.began).count("started")
        status, size, kind = None, 0, None
        try:
            if self.client is not None and self.is_closed_by_server():
                self.close()
            if self.client is None:
                self.connect(run)
                marks["connect"] = now()
            headers = {
                "User-Agent": "benchsite",
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                **({} if run.keeps else {"Connection": "close"}),
                **dict(step["headers"]),
            }
            body = step["body"].encode() or None
            self.client.request(step["method"], step["path"], body, headers)
            marks["send"] = now()
            if not self.client.sock.recv(1, socket.MSG_PEEK):
                raise http.client.RemoteDisconnected
            marks["wait"] = now()
            reply = self.client.getresponse()
            status, size = reply.status, len(reply.read())
            if not run.expects(status):
                kind = "status_unexpected"
            if reply.will_close or not run.keeps:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            kind = self.cut or kind_of(error, marks, self.client)
            self.close()
        with run.lock:
            run.record(place, self, marks, status, size, kind)
        return kind

    def connect(self, run):
        address = run.addresses[0]
        self.client = http.client.HTTPConnection(address, run.order["endpoint"]["port"])
        self.client.timeout = run.plan["timeouts"]["connect_s"]
        self.client.connect()
        self.client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client.sock.settimeout(None)
        # The Host header has the name, whatever address was dialled.
        self.client.host = run.order["endpoint"]["host"]
        with run.lock:
            run.row(0, now()).count("connections_opened")

    def is_closed_by_server(self):
        """Between requests nothing else can be there to be read."""
        return bool(select.select([self.client.sock], [], [], 0)[0])

    def close(self):
        if self.client is not None:
            self.client.close()
            self.client = None

    def interrupt(self, kind):
        """From another thread: the attempt under way fails with this kind."""
        self.cut, client = kind, self.client
        try:
            client.sock.shutdown(socket.SHUT_RDWR)
        except (AttributeError, OSError):
            return


def kind_of(error, marks, client):
    if isinstance(error, ConnectionRefusedError):
        return "connect_refused"
    if getattr(error, "errno", None) in {errno.EMFILE, errno.EADDRNOTAVAIL}:
        return "client_fd_exhausted" if error.errno == errno.EMFILE else "client_ports"
    if client is None or client.sock is None:
        return "connect_timeout" if isinstance(error, TimeoutError) else "connect_unreachable"
    if isinstance(error, http.client.RemoteDisconnected):
        return "eof_before_reply"
    if isinstance(error, http.client.IncompleteRead):
        return "eof_mid_body"
    if isinstance(error, ConnectionError):
        return "reset" if "send" in marks else "write_error"
    return "http_parse"


class Run:
    def __init__(self, order, addresses):
        self.order, self.plan, self.addresses = order, order["plan"], addresses
        self.lock, self.rows = threading.RLock(), {}
        self.keeps = order["connection_mode"] == "keep-alive"
        load, shard = self.plan["load"], order["shard"]
        part = (shard["index"], shard["count"])
        self.n_connections = share(load["connections"] or 1, *part)
        self.n_planned = self.n_left = requests_of(load, *part)
        # Each of the two counts its own requests from 0.
        self.warm_up, self.numbers = itertools.count(*part), itertools.count(*part)
        self.has_stopped = threading.Event()
        self.why, self.stopped_at, self.last_end = None, None, 0
        self.totals, self.total_errors, self.peers = {}, {}, 0

    def begin(self, start_ns):
        self.start_ns, self.zero_ns = start_ns, start_ns + self.plan["warm_up_s"] * NS
        duration_s = self.plan["load"]["duration_s"]
        self.end_ns = None if duration_s is None else self.zero_ns + int(duration_s * NS)
        self.next_second = -self.plan["warm_up_s"]
        self.used_s = time.process_time()

    def stop(self, why):
        with self.lock:
            self.why, self.stopped_at = self.why or why, self.stopped_at or now()
            self.has_stopped.set()

    def next_number(self):
        """Of the request to send now, or None for no more."""
        with self.lock:
            instant = now()
            if self.why or (self.end_ns and instant >= self.end_ns) or self.n_left == 0:
                return None
            if instant < self.zero_ns:
                return next(self.warm_up)
            if self.n_left is not None:
                self.n_left -= 1
            return next(self.numbers)

    def expects(self, status):
        text = str(status)
        return any(rule in {text, text[0] + "xx"} for rule in self.plan["expected_status"])

    def row(self, step, instant):
        return self.rows.setdefault(((instant - self.zero_ns) // NS, step), Row())

    def record(self, step, connection, marks, status, size, kind):
        """Under the lock, so that a second that was written has nothing to come."""
        began, end = connection.began, now()
        connection.began, self.last_end = None, max(self.last_end, end)
        row = self.row(step, end)
        if began < self.zero_ns <= end:
            row.count("carried")
            return
        if status:
            row.count(str(status), into="statuses")
        if kind:
            row.count("failed")
            row.count(kind, into="errors")
            row.time(failed=end // 1000 - began // 1000)
            return
        row.count("ok")
        row.count("body_received", size)
        instants = [began // 1000, *(each // 1000 for each in marks.values()), end // 1000]
        for name, (since, until) in zip([*marks, "receive"], pairwise(instants), strict=True):
            row.time(**{name: until - since})
        response_us = instants[-1] - instants[0]
        row.time(response=response_us, service=response_us)

    def write_seconds(self, until_ns):
        """Every second that was over at this instant."""
        with self.lock:
            while self.zero_ns + (self.next_second + 1) * NS <= until_ns:
                self.write_second(self.next_second)
                self.next_second += 1

    def write_second(self, second):
        in_flight = sum(each.began is not None for each in self.connections)
        for step in range(len(self.plan["steps"])):
            row = self.rows.pop((second, step), None)
            if row is None and step:
                continue
            row = row or Row()
            for mine, its in ((self.totals, row.counters), (self.total_errors, row.errors)):
                for name, number in its.items():
                    mine[name] = mine.get(name, 0) + number
            timings = {name: timing(values) for name, values in row.timings.items()}
            say("second", second=second, step=step, counters=row.counters, errors=row.errors,
                statuses=row.statuses, in_flight=0 if step else in_flight, timings=timings,
                vitals=None if step else self.vitals())  # fmt: skip

    def vitals(self):
        used_s, self.used_s = self.used_s, time.process_time()
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        n_open = sum(each.client is not None for each in self.connections)
        return {"cpu_share": self.used_s - used_s, "rss_bytes": rss, "open_connections": n_open}

    def mind(self):
        """Limits and the end of a stop's patience."""
        for each in self.connections:
            with self.lock:
                began = each.began
            if began is None:
                continue
            if self.why and now() - self.stopped_at > DRAIN_S * NS:
                each.interrupt("aborted_by_stop")
            elif now() - began > self.plan["timeouts"]["total_s"] * NS:
                each.interrupt("first_byte_timeout")

    def send(self):
        self.connections = [Connection(self) for _ in range(self.n_connections)]
        for each in self.connections:
            each.start()
        while any(each.is_alive() for each in self.connections):
            time.sleep(0.02)
            self.mind()
            self.write_seconds(now())
        last = max((second for second, _ in self.rows), default=self.next_second - 1)
        self.write_seconds(self.zero_ns + (last + 1) * NS)
        duration_us = max(0, self.last_end - self.zero_ns) // 1000
        say("end", outcome="stopped" if self.why else "complete", reason=self.why or "",
            totals=self.totals, errors=self.total_errors, in_flight=0, duration_us=duration_us,
            cpu_us=round(time.process_time() * 1e6), tls=[], peers={},
            certificate_der_b64=None)  # fmt: skip


class Control(threading.Thread):
    """Lines of the launcher: the start, a stop, a sign of life, or the end of all."""

    def __init__(self, run, dead_man_s):
        super().__init__(daemon=True)
        self.run_, self.dead_man_s, self.start_at = run, dead_man_s, queue.SimpleQueue()
        self.lines = queue.SimpleQueue()

    def run(self):
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            try:
                line = self.lines.get(timeout=self.dead_man_s)
            except queue.Empty:
                return self.give_up("dead_man")
            if not line:
                return self.give_up("parent_gone")
            message = json.loads(line)
            if "stop" in message:
                self.run_.stop(message["stop"])
                self.start_at.put(now())
            elif "start_at_ns" in message:
                self.start_at.put(message["start_at_ns"])

    def read(self):
        for line in sys.stdin:
            self.lines.put(line)
        self.lines.put("")

    def give_up(self, why):
        self.run_.stop(why)
        self.run_.stopped_at -= NS
        self.start_at.put(now())


def main():
    order = json.loads(sys.stdin.readline())
    try:
        run = Run(order, check(order))
    except Cannot as refusal:
        kind, reason = refusal.args
        say("refused", kind=kind, reason=reason)
        return 2
    control = Control(run, order.get("dead_man_s"))
    control.start()
    facts = {"resolved": run.addresses, "connections": run.n_connections,
             "descriptors": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
             "planned_requests": run.n_planned}  # fmt: skip
    say("ready", protocol=1, pid=os.getpid(), facts=facts)
    run.begin(control.start_at.get())
    run.send()
    return 0


if __name__ == "__main__":
    sys.exit(main())
