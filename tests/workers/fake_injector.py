"""A small program that speaks the injector's protocol: what a launcher sees, without any load.

    fake_injector.py [--seconds N] [--second-s S] [--mode MODE]

MODE: good (default) · refuse · crash (dies after the first second) · deaf (never stops by itself) ·
babble (writes a second that nobody can read) · decline, rattle and croak (refuses, ends and dies
with words that PostgreSQL cannot store) · lonely (stops after the first second, because it heard
nothing).
"""

import argparse
import json
import os
import select
import sys
import time


def say(type_, **fields):
    sys.stdout.write(json.dumps({"type": type_, **fields}) + "\n")
    sys.stdout.flush()


def second(number, timings=()):
    counters = {"started": 10, "ok": 10}
    say("second", second=number, step=0, counters=counters, errors={}, statuses={"200": 10},
        in_flight=0, timings=dict(timings), vitals={"cpu_share": 0.1})  # fmt: skip


def control(timeout_s):
    """The next line on stdin, {} for none in time, None at the end of input."""
    until = time.monotonic() + timeout_s
    while select.select([sys.stdin], [], [], max(0, until - time.monotonic()))[0]:
        line = sys.stdin.readline()
        message = json.loads(line) if line else None
        if message is None or "alive" not in message:
            return message
    return {}


def end(outcome, n_seconds, reason="", **facts):
    totals = {"started": 10 * n_seconds, "ok": 10 * n_seconds}
    say("end", outcome=outcome, reason=reason, totals=totals, errors={}, in_flight=0, tls=[],
        peers={}, certificate_der_b64=None, **facts)  # fmt: skip


def refuse(reason="The name nowhere.invalid could not be resolved."):
    say("refused", kind="dns_failed", reason=reason)
    sys.exit(2)


def await_start():
    """Sleep until the common start; exit where the launcher wants no start any more."""
    message = {}
    while not message:
        message = control(1)
        if message is None or "stop" in message:
            sys.exit(0)
    time.sleep(max(0, message["start_at_ns"] - time.monotonic_ns()) / 1e9)


def crash(words="Segmentation fault in the hot path"):
    sys.stderr.write(f"{words}\n")
    sys.exit(70)


def send(n_seconds, second_s, mode):
    for number in range(n_seconds):
        message = {} if mode == "deaf" and not time.sleep(second_s) else control(second_s)
        if message is None:
            sys.exit(0)
        second(number, {"response": {"n": 1}} if mode == "babble" else {})
        if message.get("stop"):
            end("stopped", number + 1)
            return
        if mode == "crash":
            crash()
        if mode == "croak":
            crash("Segmentation\0fault")
        if mode == "lonely":
            end("stopped", number + 1, reason="dead_man")
            return
    facts = {"mumble": {"duration_us": "2 s"}, "rattle": {"servers": ["a\0b \ud800"]}}
    end("complete", n_seconds, **facts.get(mode, {}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--second-s", type=float, default=1.0)
    parser.add_argument("--mode", default="good")
    options = parser.parse_args()
    json.loads(sys.stdin.readline())
    if options.mode == "refuse":
        refuse()
    if options.mode == "decline":
        refuse("No\0name.")
    say("ready", protocol=1, pid=os.getpid(), facts={"resolved": ["127.0.0.1"]})
    await_start()
    send(options.seconds, options.second_s, options.mode)


if __name__ == "__main__":
    main()
