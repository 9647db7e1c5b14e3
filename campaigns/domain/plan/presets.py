"""Plans that are one click away: the classic measurements, each named by its question; what a
campaign of each looks like, as in the study that it reproduces; and the file sets of the Uniserve
study.

A search for a capacity before its first trial: what its form starts with, what it will cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Annotated, Any

from campaigns.domain.plan.estimates import SET_UP_S
from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import Plan

SOAP_BODY = """<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:s="urn:scope">
  <soapenv:Body>
    <s:addToScope>
      <s:scope>/example/production</s:scope>
      <s:serviceClass>Access</s:serviceClass>
      <s:serviceName>Catalogue</s:serviceName>
    </s:addToScope>
  </soapenv:Body>
</soapenv:Envelope>
"""
_SOAP_STEP = {
    "label": "add to scope",
    "method": "POST",
    "path": "/",
    "headers": [["Content-Type", "text/xml; charset=utf-8"], ["SOAPAction", '"addToScope"']],
    "body": SOAP_BODY,
}
_GET_STEP = {"method": "GET", "path": "/"}


# Five files as in the French study; L2 takes them in blocks, L3 at random.
_FILES = [{"method": "GET", "path": f"/index{number}.html"} for number in range(1, 6)]
_AT_RANDOM = {"kind": "random"}
STUDIES, GENERAL = "Published studies", "Everyday questions"


@dataclass(frozen=True, slots=True)
class Preset:
    """`short` is its load in a few words."""

    key: str
    question: Annotated[str, "What it answers."]
    summary: str
    name: Annotated[str, "The name that the page proposes for the plan."]
    spec: dict[str, Any]
    group: str = STUDIES
    short: str = ""


_OWN_FIELDS = {"timeouts", "order", "expected_status", "exchange", "http_version", "session"}


def _spec(steps: list[dict[str, Any]], connection_mode: str, **fields: Any) -> dict[str, Any]:
    """The stored form. Names that are not plan fields are fields of its load."""
    own = {name: fields.pop(name) for name in _OWN_FIELDS & fields.keys()}
    spec = {"steps": steps, "load": fields, "connection_mode": connection_mode, **own}
    return Plan.from_json(spec).to_json()


def _soap(key: str, question: str, requests: int, over_s: int, group: str = STUDIES) -> Preset:
    return Preset(
        key,
        question,
        f"{requests:,} SOAP requests spread over {over_s} s, each on a new connection",
        f"{requests:,} over {over_s} s",
        _spec([_SOAP_STEP], "new", model="over", requests=requests, over_s=over_s),
        group,
        f"{requests:,} requests over {over_s} s",
    )


_OF_STUDIES = (
    _soap("over-100", "What does HTTPS cost when the server has time?", 100, 100),
    _soap("over-10", "And with ten times the rate?", 100, 10),
    _soap("over-5", "The same in 5 seconds, for a first look", 100, 5),
    _soap("over-1", "The same in 1 second, for a first look", 100, 1),
    Preset(
        "ab",
        "How fast are 50 at once?",
        "1,000 requests on 50 connections, each waiting for its reply: ab -n 1000 -c 50; the study "
        "chose an HTTPS endpoint",
        "1,000 on 50 connections",
        _spec(
            [_GET_STEP], "new", http_version="1.0", model="closed", connections=50, requests=1000
        ),
    ),
    Preset(
        "httperf-1000",
        "How fast is one request after another?",
        "1,000 connections with a request each, one after another: httperf --num-conns 1000",
        "1,000 one after another",
        _spec([_GET_STEP], "new", model="sequential", requests=1000),
    ),
    Preset(
        "httperf",
        "Does it keep up with 10 a second?",
        "100 connections at 10 a second, replies or not, 1 s for each: httperf --num-conns 100 "
        "--rate 10 --timeout 1",
        "100 at 10/s",
        _spec(
            [_GET_STEP],
            "new",
            timeouts={"connect_s": 1, "tls_s": 1, "total_s": 1},
            model="open",
            arrival_unit="connection",
            rate_per_s=10,
            requests=100,
        ),
    ),
    Preset(
        "l1",
        "L1: how fast is one file?",
        "1,000 requests for one file, one after another",
        "L1",
        _spec([{"method": "GET", "path": "/index.html"}], "new", model="sequential", requests=1000),
    ),
    Preset(
        "l2",
        "L2: how fast are five files in turn?",
        "5,000 requests one after another: 1,000 for the first file, 1,000 for the next, and so on",
        "L2",
        _spec(
            _FILES,
            "new",
            order={"kind": "blocks", "block_repeat": 1000},
            model="sequential",
            requests=5000,
        ),
    ),
    Preset(
        "l3",
        "L3: how fast are five files at random?",
        "1,000 requests one after another, each for one of five files at random",
        "L3",
        _spec(_FILES, "new", order=_AT_RANDOM, model="sequential", requests=1000),
    ),
    Preset(
        "r99-1",
        "R99-1: what do three clients get when they start a second apart?",
        "each injector process is a client: 5,000 requests one after another, at random from "
        "five files; "
        "the study had 3, which begin 1 s apart",
        "R99-1",
        _spec(
            _FILES,
            "new",
            order=_AT_RANDOM,
            model="closed",
            connections=1,
            start_offset_s=1,
            requests=5000,
            per_injector=True,
        ),
    ),
    Preset(
        "r99-2",
        "R99-2: what do more clients get?",
        "each injector process is a client: 5,000 requests one after another, at random from "
        "five files; "
        "the study had 1, 2, 3, 4, 5, 6, 9 and 12",
        "R99-2",
        _spec(
            _FILES, "new", order=_AT_RANDOM, model="sequential", requests=5000, per_injector=True
        ),
    ),
    Preset(
        "wsperf",
        "How many WebSockets open and close each second?",
        "each injector process opens and closes 50,000 WebSockets, with 250 to 500 in progress; "
        "wsperf's example has 4",
        "wsperf, 4 × 50,000",
        _spec(
            [],
            "new",
            exchange={"messages": 0, "close_code": 1001},
            model="window",
            low=250,
            high=500,
            requests=50_000,
            per_injector=True,
        ),
    ),
)
_OF_EVERY_DAY = (
    _soap("https", "What does HTTPS cost?", 1000, 5, GENERAL),
    Preset(
        "smoke",
        "Does it work at all?",
        "20 requests one after another on one connection",
        "Smoke",
        _spec([_GET_STEP], "keep-alive", model="sequential", requests=20),
        GENERAL,
        "20 requests, one after another",
    ),
    Preset(
        "load",
        "How does it do on a normal day?",
        "20 requests a second for five minutes, replies or not",
        "Load",
        _spec([_GET_STEP], "keep-alive", model="open", rate_per_s=20, duration_s=300),
        GENERAL,
        "20 requests/s, kept open; 5 min",
    ),
    Preset(
        "stress",
        "What happens as load grows?",
        "from 1 to 100 requests a second within two minutes",
        "Stress",
        _spec(
            [_GET_STEP],
            "keep-alive",
            model="open",
            stages=[{"duration_s": 120, "from_per_s": 1, "to_per_s": 100}],
        ),
        GENERAL,
        "1 to 100 requests/s, rising; 2 min",
    ),
    Preset(
        "sessions",
        "How long does a whole visit take?",
        "10 visitors, one a second, each with 5 requests and 2 s of thinking between them: httperf "
        "--wsess 10,5,2 --rate 1 --timeout 5",
        "Sessions",
        _spec(
            [_GET_STEP],
            "keep-alive",
            timeouts={"connect_s": 5, "tls_s": 5, "total_s": 5},
            session={"calls_per_session": 5, "think_time": {"kind": "constant", "mean_s": 2}},
            model="open",
            arrival_unit="session",
            rate_per_s=1,
            requests=10,
        ),
        GENERAL,
        "10 visits of 5 requests each",
    ),
    Preset(
        "spike",
        "Does it survive a traffic spike?",
        "10 requests a second, then 200 for ten seconds, then 10 again, on new connections",
        "Spike",
        _spec(
            [_GET_STEP],
            "new",
            model="open",
            stages=[
                {"duration_s": duration_s, "from_per_s": rate, "to_per_s": rate}
                for duration_s, rate in ((20, 10), (10, 200), (30, 10))
            ],
        ),
        GENERAL,
        "10, 200, 10 requests/s; 1 min",
    ),
    Preset(
        "soak",
        "Does it stay fast for an hour?",
        "10 requests a second for an hour",
        "Soak",
        _spec([_GET_STEP], "keep-alive", model="open", rate_per_s=10, duration_s=3600),
        GENERAL,
        "10 requests/s, kept open; 1 h",
    ),
    Preset(
        "capacity",
        "How many requests can it answer?",
        "64 connections as fast as they get replies, for a minute",
        "Capacity",
        _spec([_GET_STEP], "keep-alive", model="closed", connections=64, duration_s=60),
        GENERAL,
        "64 connections; 1 min",
    ),
)

PRESETS: dict[str, Preset] = {preset.key: preset for preset in (*_OF_EVERY_DAY, *_OF_STUDIES)}


UNISERVE_SWEEP = (1, 2, 3, 4, 5, 6, 9, 12)


@dataclass(frozen=True, slots=True)
class Proposal:
    """`schemes` are the endpoints to measure, of one target; none: the first endpoint that fits.
    Several `injectors` are a sweep."""

    schemes: tuple[str, ...] = ()
    injectors: tuple[int, ...] = (1,)
    repeats: int = 1
    source: str = ""


_GCUBE = Proposal(("http", "https"), repeats=3, source="the study of gCube measured HTTP and HTTPS")
_LOCAL = Proposal(("http",), repeats=5, source="the study of Uniserve made five runs over HTTP")

PROPOSALS: dict[str, Proposal] = {
    "https": Proposal(("http", "https"), repeats=5),
    "over-100": _GCUBE,
    "over-10": _GCUBE,
    "over-5": _GCUBE,
    "over-1": _GCUBE,
    "ab": Proposal(("https",), source="the benchmark of WMI2 ran ab once over HTTPS"),
    "httperf-1000": Proposal(("https",), source="the benchmark of WMI2 ran httperf with --ssl"),
    "httperf": Proposal(("http",), source="httperf's own example is one run over HTTP"),
    "l1": _LOCAL,
    "l2": _LOCAL,
    "l3": _LOCAL,
    "r99-1": Proposal(
        ("http",),
        (3,),
        source="the study of Uniserve had three injector processes, 1 s after one another",
    ),
    "r99-2": Proposal(
        ("http",),
        UNISERVE_SWEEP,
        source="the study of Uniserve went from 1 to 12 injector processes",
    ),
    "wsperf": Proposal(("ws",), (4,), source="wsperf's example has four workers"),
}


def proposal_for(preset: str) -> Proposal:
    return PROPOSALS.get(preset, Proposal())


FILE_SET_REPEATS = 5
_KINDS = ("1", "2", "3")
# What L1 to L3 took on average in the study, s: time enough to see what the machine does.
_LASTED_S = {"1": 5, "2": 25, "3": 5}


def file_sets(*, local: bool) -> dict[str, dict[str, Any]]:
    """The specs of L1 to L3, or of R1 to R3, by name."""
    letter = "L" if local else "R"
    return {f"{letter}{kind}": PRESETS[f"l{kind}"].spec for kind in _KINDS}


def lasting_file_sets(*, local: bool) -> dict[str, dict[str, Any]]:
    """The same requests for as long as they took in the study, however fast the server is."""
    specs = {}
    for name, spec in file_sets(local=local).items():
        load = {"model": Model.SEQUENTIAL, "duration_s": _LASTED_S[name[-1]]}
        plan = Plan.from_json({**spec, "load": load})
        specs[f"{name} for {load['duration_s']} s"] = plan.to_json()
    return specs


# What an open load keeps for its trials; the rest of the load is the trial's own.
_KEPT = ("distribution", "arrival_unit", "max_in_flight", "when_saturated", "shares")


def trial_plan(
    plan: Plan, rate_per_s: float, trial_s: float, objective: Sequence[dict[str, Any]] = ()
) -> Plan:
    """`objective`: rules as JSON that replace the plan's own, if there are any. Raises InvalidPlan
    if its requests cannot be sent like this."""
    spec = plan.to_json()
    if objective:
        spec["thresholds"] = list(objective)
    load = spec["load"] if plan.load.model == Model.OPEN else {}
    load_kept = {name: load[name] for name in _KEPT if load.get(name) is not None}
    trial = {"model": "open", "rate_per_s": rate_per_s, "duration_s": trial_s}
    return Plan.from_json({**spec, "load": {**load_kept, **trial}})


# A search usually takes so many trials; see "The search for a capacity" in docs/measuring.md.
USUAL_TRIALS = 35
USUAL_LIMIT_PER_S = 5000
PAUSE_S = 2.0  # after each trial
_ERRORS = "errors < 1 %"
_STEPS = (1, 2, 5, 10)


def objective_for(first_us: float | None) -> str:
    """Ten times as long as the first request took, which had the service to itself, and at least
    100 ms; `first_us` None: nobody has tried one."""
    if first_us is None:
        limit_ms = 500
    else:
        least = first_us / 100
        limit_ms = max(100, min(each for each in _steps_at(least) if each >= least))
    return f"p95 < {limit_ms:g} ms, {_ERRORS}"


def start_for(first_us: float | None) -> float:
    """A rate in requests/s that should be kept easily: a fifth of what requests one after another
    would make, 1 to 100."""
    if not first_us:
        return 10
    most = 2e5 / first_us
    return min(100, max(1, *(each for each in _steps_at(most) if each <= most)))


def limit_for(most_per_s: float | None) -> float:
    """`most_per_s`: the cap of the installation, None without one."""
    return min(USUAL_LIMIT_PER_S, most_per_s or USUAL_LIMIT_PER_S)


def _steps_at(value: float) -> list[float]:
    decade = 10 ** floor(log10(value)) if value > 0 else 1
    return [step * decade for step in _STEPS]


def rules_of_text(text: str) -> Sequence[str]:
    """The rules of "p95 < 300 ms, errors < 1 %", or of lines."""
    return [rule.strip() for rule in text.replace("\n", ",").split(",") if rule.strip()]


@dataclass(frozen=True, slots=True)
class SearchCost:
    trials: Annotated[int, "About how many."]
    lasts_s: Annotated[float, "With warm-ups and pauses."]
    load_s: Annotated[float, "How much of it is load."]
    missing_s: Annotated[
        float,
        "How much more time than it has a search usually takes. Above 0 the answer may have no "
        "interval.",
    ]

    @property
    def each_s(self) -> float:
        """Of a trial, from its set-up to the end of its pause."""
        return self.lasts_s / self.trials


def search_cost(
    *, trial_s: float, warm_up_s: float, pause_s: float, longest_s: float
) -> SearchCost:
    each_s = warm_up_s + trial_s + pause_s + SET_UP_S
    usual_s = USUAL_TRIALS * each_s
    trials = min(USUAL_TRIALS, max(1, ceil(longest_s / each_s) - 1))
    return SearchCost(
        trials, trials * each_s, trials * (warm_up_s + trial_s), max(0.0, usual_s - longest_s)
    )
