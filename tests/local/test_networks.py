"""Load leaves a workstation only once somebody has said so."""

import pytest

from local.site import NETWORKS, confirm_networks, own_networks

HEAD = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
ROUTES = HEAD + (
    "eth0 00000000 0101A8C0 0003 0 0 0 00000000 0 0 0\n"  # the default route
    "eth0 0001A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    "tun0 0000020A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
    "eth0 0000000A 0101A8C0 0003 0 0 0 000000FF 0 0 0\n"  # behind a router
    "eth1 00020408 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"  # public
    "eth2 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"  # 192.0.2.0/24, for documentation
    "eth3 0000FEA9 00000000 0001 0 0 0 0000FFFF 0 0 0\n"  # 169.254.0.0/16, link-local
)


@pytest.fixture
def routes(tmp_path, monkeypatch):
    monkeypatch.delenv(NETWORKS, raising=False)
    path = tmp_path / "route"
    path.write_text(ROUTES)
    return path


def never(question: str) -> str:
    raise AssertionError(question)


def allowed_networks(var) -> str:
    kept = var / "networks"
    return kept.read_text().strip() if kept.exists() else ""


def test_its_own_networks_are_the_private_ones_that_need_no_router(routes, tmp_path):
    assert own_networks(routes) == ["10.2.0.0/16", "192.168.1.0/24"]
    assert own_networks(tmp_path / "missing") == []


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ("y", "127.0.0.0/8 ::1/128 10.2.0.0/16 192.168.1.0/24"),
        ("no", "127.0.0.0/8 ::1/128"),
        ("", "127.0.0.0/8 ::1/128"),
    ],
)
def test_somebody_at_a_terminal_is_asked_once(routes, tmp_path, answer, allowed):
    asked = []
    confirm_networks(tmp_path, lambda question: asked.append(question) or answer, routes)
    confirm_networks(tmp_path, never, routes)
    assert "10.2.0.0/16 192.168.1.0/24" in asked[0]
    assert allowed_networks(tmp_path) == allowed


def test_without_a_terminal_nobody_is_asked_and_told_how(routes, tmp_path, capsys):
    confirm_networks(tmp_path, routes=routes)
    assert allowed_networks(tmp_path) == ""
    assert f"{NETWORKS}=" in capsys.readouterr().out


def test_who_has_set_the_networks_is_not_asked(routes, tmp_path, monkeypatch):
    monkeypatch.setenv(NETWORKS, "10.0.0.0/8")
    confirm_networks(tmp_path, never, routes)
    assert allowed_networks(tmp_path) == ""
