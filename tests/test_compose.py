"""docker-compose.yml, checked without an engine: schema, settings, commands, secrets."""

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import yaml
from django.urls import reverse

from local.site import programs
from tests.test_settings import names_documented, names_read

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(TEXT)
OURS = {
    name: service
    for name, service in COMPOSE["services"].items()
    if service["image"].startswith("benchsite")
}
SECRETS = {"BENCHSITE_SECRET_KEY", "BENCHSITE_TOKEN_PEPPER", "POSTGRES_PASSWORD", "REDIS_PASSWORD"}

# What `make run`, its demo target and agents read, and what somebody gives to one command.
NOT_OF_COMPOSE = {
    *("BENCHSITE_PORT", "BENCHSITE_DEMO_HTTP_PORT", "BENCHSITE_DEMO_HTTPS_PORT", "BENCHSITE_VAR"),
    *("BENCHSITE_ADMIN", "BENCHSITE_ADMIN_PASSWORD", "BENCHSITE_AGENT_TOKEN"),
}


def test_every_variable_is_known_to_the_settings():
    for name in OURS:
        assert set(OURS[name]["environment"]) - names_read() == set()


def test_every_service_runs_as_a_server():
    for name in OURS:
        assert OURS[name]["environment"]["BENCHSITE_MODE"] == "server"


def test_every_command_exists():
    for name in OURS:
        program, *arguments = OURS[name]["command"]
        if program == "python":
            module = arguments[1] if arguments[0] == "-m" else arguments[0].removesuffix(".py")
            assert importlib.util.find_spec(module)
        else:
            assert importlib.util.find_spec(program)
        for flag, place in pairwise(arguments):
            if flag == "-c" and program == "gunicorn":
                assert (ROOT / place).exists()
            if flag == "-A":
                assert importlib.util.find_spec(f"{place}.celery")


def test_every_queue_of_the_settings_has_a_worker(settings):
    commands = [" ".join(service["command"]) for service in OURS.values()]
    queues = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    for queue in {*queues, settings.CELERY_TASK_DEFAULT_QUEUE}:
        assert any(f"-Q {queue}" in command for command in commands), queue


def test_secrets_come_from_outside_and_compose_refuses_without_them():
    for name in SECRETS:
        uses = re.findall(rf"(?<!\$)\$\{{{name}([^}}]*)\}}", TEXT)
        assert uses, name
        assert all(rest.startswith(":?") for rest in uses), f"{name} has a default"


def test_no_password_stands_in_the_file():
    for name, service in COMPOSE["services"].items():
        for key, value in service.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|PEPPER", key):
                assert re.fullmatch(r"\$\{[A-Z_]+:(\?[^}]+|-)\}", value), (name, key)


def test_every_variable_that_it_asks_for_is_in_the_example():
    variables = set(re.findall(r"(?<!\$)\$\{([A-Z_]+)", TEXT))
    assert variables - names_documented() - {"POSTGRES_PASSWORD", "REDIS_PASSWORD"} == set()


def test_every_setting_of_a_server_reaches_its_services():
    """What is written into .env and not named here would be ignored without a word."""
    names = {name for service in OURS.values() for name in service["environment"]}
    assert names_documented() - names == NOT_OF_COMPOSE


def test_the_web_s_health_check_asks_a_page_that_answers_plain_http(settings):
    web = COMPOSE["services"]["web"]
    host, port, path = re.search(
        r"http://([\d.]+):(\d+)(/\w+)'", web["healthcheck"]["test"][-1]
    ).groups()
    assert path == reverse("healthz")
    assert any(re.search(each, path[1:]) for each in settings.SECURE_REDIRECT_EXEMPT)
    assert web["environment"]["BENCHSITE_BIND"].endswith(f":{port}")
    assert web["environment"]["BENCHSITE_HOSTS"].endswith(f" {host}")


def test_a_worker_s_health_check_asks_it_by_its_own_name():
    for name in ["injector", "general"]:
        service = COMPOSE["services"][name]
        (node,) = (after for flag, after in pairwise(service["command"]) if flag == "-n")
        destination = re.search(r"-d (\S+)", service["healthcheck"]["test"][-1])[1]
        assert destination == node.replace("%h", "$$(hostname)")


def test_the_dispatcher_s_health_check_reads_the_file_that_it_touches():
    dispatcher = COMPOSE["services"]["dispatcher"]
    pulse = dispatcher["environment"]["BENCHSITE_PULSE"]
    assert f"find {pulse} " in dispatcher["healthcheck"]["test"][-1]


def test_the_injector_s_spool_is_a_volume_of_the_account_that_writes_it():
    injector, image = COMPOSE["services"]["injector"], (ROOT / "Dockerfile").read_text()
    spool = injector["environment"]["BENCHSITE_SPOOL"]
    assert injector["volumes"] == [f"spool:{spool}"]
    folder = spool.removeprefix("/app/")
    assert f"mkdir -p {folder}" in image
    assert f"chown -R benchsite {folder}" in image


def commands_of_workers() -> list[list[str]]:
    """As compose, `make run` and operating.md start them."""
    commands = [service["command"] for service in OURS.values()]
    commands += [each.command for each in programs({"BENCHSITE_VAR": "var"}, gives_way=False)]
    text = (ROOT / "docs" / "operating.md").read_text()
    lines = re.findall(r"celery -A benchsite worker(?:\\\n|.)*", text)
    from_docs = [command.replace("\\\n", " ").split() for command in lines]
    assert from_docs
    return [*(command for command in commands if "worker" in command), *from_docs]


def test_the_documents_give_another_injector_host_what_its_launcher_cannot_do_without():
    """Without the vault's keys it could not read the credentials that a run sends."""
    text = (ROOT / "docs" / "operating.md").read_text()
    (lines,) = re.findall(r"((?: {4}export .*\n)+) {4}make setup", text)
    names = {"DATABASE_URL", "REDIS_URL", "BENCHSITE_SECRET_KEY", "BENCHSITE_VAULT_KEYS"}
    assert names <= set(re.findall(r"([A-Z_]+)=", lines))


def test_no_worker_gossips_over_redis():
    """It would leave queues behind there, more with each host."""
    commands = commands_of_workers()
    assert len(commands) >= 5
    for command in commands:
        assert {"--without-gossip", "--without-mingle"} <= set(command), command


def test_what_can_hang_has_a_health_check():
    for name in ["web", "injector", "general", "dispatcher", "postgres", "redis"]:
        assert COMPOSE["services"][name]["healthcheck"]["test"]


def test_every_service_starts_again_and_its_log_rotates():
    for name in COMPOSE["services"]:
        service = COMPOSE["services"][name]
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
        assert service["logging"]["options"].keys() >= {"max-size", "max-file"}


def test_postgres_18_keeps_its_data_where_its_image_wants_them():
    postgres = COMPOSE["services"]["postgres"]
    assert postgres["image"] == "postgres:18"
    assert postgres["volumes"] == ["postgres:/var/lib/postgresql"]
