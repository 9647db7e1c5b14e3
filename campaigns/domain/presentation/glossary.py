"""The glossary: every term that pages use in a sense of their own, explained in a sentence.

The page /glossary/ and docs/glossary.md are drawn from TERMS; after a change: `make docs`.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """`forms` are other spellings that a page may link; `is_linked`: in running text, too."""

    name: str
    meaning: str
    forms: tuple[str, ...] = ()
    is_linked: bool = False

    @property
    def anchor(self) -> str:
        """What follows the # in the term's address."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


TERMS = (
    Term(
        "agent",
        "benchsite's own exporter: a program on a target's machine that tells its CPU, memory, "
        "network and chosen processes, and what perf counts there.",
        ("agents",),
    ),
    Term(
        "arm",
        "One endpoint with one connection mode, such as HTTPS with keep-alive. A campaign "
        "compares arms.",
        ("arms",),
        True,
    ),
    Term(
        "arrivals",
        "What a scheduled load starts: requests, connections (each new, with its "
        "requests) or sessions. The rate counts these.",
        ("what arrives",),
        True,
    ),
    Term(
        "baseline",
        "What a difference is counted from: (candidate − baseline) / baseline.",
        ("candidate",),
    ),
    Term(
        "block",
        "One pass over all tests of a campaign, in an order that balances the others. Each repeat "
        "is one block, so a drift of the target affects all arms alike.",
        ("blocks",),
        True,
    ),
    Term("campaign", "Plans × arms × repeats, measured as one experiment with one answer."),
    Term(
        "carried",
        "A request that began in the warm-up and ended after it. It counts as part of the warm-up.",
    ),
    Term(
        "closed load",
        "A fixed number of connections, each of which sends its next request when "
        "the reply to the last one has arrived. A slower target receives fewer requests.",
        is_linked=True,
    ),
    Term(
        "connection mode",
        "Whether a request opens a new connection, opens one that resumes an "
        "earlier TLS session, or uses an open one (keep-alive).",
        ("connections",),
    ),
    Term("endpoint", "One origin of a target: scheme, host and port.", ("endpoints",)),
    Term(
        "event-loop stall",
        "How long an injector process was busy with one thing and could "
        "not react. A long stall delays every request that is due in that time.",
        ("longest event-loop stall", "event-loop stalls"),
        True,
    ),
    Term(
        "exporter",
        "A program on a target's machine, such as node_exporter, that answers with figures in "
        "Prometheus' text format. An injector host asks it in each second of a run.",
        ("exporters", "Prometheus exporter", "Prometheus exporters"),
    ),
    Term(
        "flow",
        "One of several ways of users through the steps of a plan, with its share of the sessions, "
        "such as 90 % browse and 10 % buy.",
        ("flows",),
    ),
    Term(
        "Holm's correction",
        "The more comparisons a campaign makes, the likelier one of them "
        "shows a difference by chance. Holm's correction demands stronger evidence in return, "
        "so that the risk of even one false difference stays at 5 %.",
        (),
        True,
    ),
    Term(
        "injector",
        "The program that sends load and measures it. An injector process is one "
        "running copy; an injector host is a machine that runs them.",
        ("injectors",),
    ),
    Term(
        "intended start",
        "When a request should have been sent by the plan. Response times count "
        "from here, so waiting caused by a slow target is not lost.",
    ),
    Term(
        "L1, L2, L3",
        "Measurements of an earlier study of file downloads: one file; five files "
        "in blocks of 1,000 requests; five files in random order.",
        ("L1", "L2", "L3"),
        True,
    ),
    Term(
        "lateness",
        "Actual start minus intended start. It is the injector's own delay plus the "
        "wait for a free connection.",
        (),
        True,
    ),
    Term(
        "open load",
        "Requests start at planned times, whether or not earlier ones have been "
        "answered. A slower target receives just as many.",
        is_linked=True,
    ),
    Term(
        "outcome",
        "How a run ended: complete, partial, stopped, killed, failed or expired. "
        "Whether its figures can be trusted is another question: see trust.",
    ),
    Term(
        "own delay",
        "The part of lateness that the injector caused: it reacted late. Waiting for "
        "a free connection is not in it.",
        (),
        True,
    ),
    Term(
        "percentile",
        "p95 is the response time that 95 % of the requests did not exceed. A "
        "percentile with fewer than ten requests beyond it is weak, and shown in grey with ~.",
        ("percentiles",),
    ),
    Term(
        "plan",
        "What to send and how hard. Editing a plan makes a new version; results keep theirs.",
        ("plans",),
    ),
    Term(
        "pooled",
        "All requests of a test's usable runs taken together as if one run had measured "
        "them. Percentiles reach further this way; means and intervals use one value per run.",
        (),
        True,
    ),
    Term(
        "practical threshold",
        "The smallest difference that matters to you. Smaller ones are "
        "called no practical difference.",
        ("no practical difference",),
    ),
    Term(
        "precision",
        "What the number of a run's response times supports, such as 300 requests: p95 between 29 "
        "and 31 ms, no p99. A mean is as good.",
    ),
    Term("project", "A team's space: its members, targets, plans and results."),
    Term(
        "R99-1, R99-2",
        "Measurements of an earlier study of many clients: three injectors that "
        "start one second apart, and a sweep from 1 to 12 injectors.",
        ("R99-1", "R99-2"),
        True,
    ),
    Term(
        "repeat",
        "One of several measurements of the same test. Their differences show how much "
        "results vary by themselves.",
        ("repeats",),
    ),
    Term(
        "response time",
        "From the intended start to the last byte of the reply: lateness + dns + "
        "connect + tls + send + wait + receive.",
    ),
    Term("run", "One repeat of one test.", ("runs",)),
    Term(
        "rung",
        "One arm of a protocol ladder, such as TLS 1.3 on a new connection. It is compared with "
        "the rung before it, from which it differs by one layer, and with plain HTTP.",
        ("rungs",),
    ),
    Term(
        "second",
        "What one shard saw in one second at one step. Seconds count from the start of "
        "the measurement; those of the warm-up are negative.",
    ),
    Term(
        "service time",
        "From the actual start to the last byte of the reply: the response time without lateness.",
    ),
    Term("session", "A user who makes several requests and then leaves.", ("sessions",)),
    Term("shard", "The part of a run that one injector process does.", ("shards",), True),
    Term("slot", "Room for one injector process on an injector host.", ("slots",)),
    Term(
        "steady state", "The part of a run in which throughput and response times no longer drift."
    ),
    Term("step", "One request of a plan: method, path, headers and body.", ("steps",)),
    Term(
        "stream",
        "One request and its reply on a connection of HTTP/2, which carries several at a time.",
        ("streams",),
    ),
    Term(
        "sweep",
        "A campaign that runs each test at several values of one number (injectors, or a number "
        "of the plan such as its rate), to show what more load brings.",
    ),
    Term("target", "The system under test, with its endpoints.", ("targets",)),
    Term(
        "target state",
        "How the target was during a run: healthy, changing (its times or replies changed), "
        "overloaded or failing. Reported only if the measurement is trusted.",
        ("overloaded",),
    ),
    Term("test", "One plan on one arm.", ("tests",)),
    Term(
        "threshold",
        "A limit in a plan, such as p95 < 300 ms. A run passes or fails it.",
        ("thresholds",),
    ),
    Term(
        "TLS profile",
        "A named set of TLS versions, groups, ciphers and signatures that an endpoint offers, such "
        "as “Without post-quantum”. Some come with benchsite, a project adds its own.",
        ("TLS profiles",),
    ),
    Term(
        "trust",
        "Whether a run's measurement can be trusted: trusted, busy or no answer. It "
        "judges the injectors and their machine, never the target. Of a busy machine the median "
        "without the injector's part stays good. Only runs without an answer are left out.",
        ("trusted", "no answer"),
    ),
    Term(
        "verdict",
        "The word for a comparison: faster, slower, no practical difference, not slower, not "
        "faster, or too close to call. The interval says between what and what.",
    ),
    Term("warm-up", "Load before the measurement begins. It is kept out of every figure."),
    Term(
        "WMI2",
        "An earlier benchmark that ran ab and httperf once against a web application's "
        "sign-in page, over HTTPS.",
        ("the benchmark of WMI2",),
        True,
    ),
)

_BY_NAME = {name.lower(): term for term in TERMS for name in (term.name, *term.forms)}


def term_of(name: str) -> Term:
    """The term of that name or form, in any case; KeyError for what the glossary has not."""
    return _BY_NAME[name.lower()]


_LINKED = sorted(
    (name for term in TERMS if term.is_linked for name in (term.name, *term.forms)),
    key=len,
    reverse=True,
)
_LINK = re.compile(rf"\b(?:{'|'.join(map(re.escape, _LINKED))})\b", re.I)


def split_at_terms(text: str) -> list[tuple[str, Term | None]]:
    """The text in pieces; where a linked term occurs first, that piece and the term."""
    pieces: list[tuple[str, Term | None]] = []
    terms, end = set(), 0
    for match in _LINK.finditer(text):
        term = term_of(match.group())
        if term not in terms:
            terms.add(term)
            pieces += [(text[end : match.start()], None), (match.group(), term)]
            end = match.end()
    return [piece for piece in (*pieces, (text[end:], None)) if piece[0]]
