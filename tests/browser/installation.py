"""What a test knows of the installation that Chromium visits, and how to sign in to it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.test import Client

# In a page: what was clicked and which fields were typed into.
COUNT = """
for (const [kind, name] of [["click", "clicks"], ["input", "typed"]]) {
  addEventListener(kind, (event) => {
    if (!event.isTrusted || event.target.type === "checkbox" && kind === "input") return;
    const seen = JSON.parse(sessionStorage.getItem(name) ?? "[]");
    const what = kind === "click" ? `${event.detail}` : event.target.name;
    if (kind === "input" && seen.includes(what)) return;
    sessionStorage.setItem(name, JSON.stringify([...seen, what]));
  }, true);
}
"""


def events(page, name: str) -> list[str]:
    """`name`: clicks or typed."""
    return page.evaluate(f"JSON.parse(sessionStorage.getItem('{name}') ?? '[]')")


@dataclass(frozen=True)
class SiteFacts:
    """`pids` by process name; `arrivals` is the demo target's own log, a JSON line a request;
    `env` are its settings; `run` runs code in its Django, and returns what that printed."""

    url: str
    demo_http: str
    demo_https: str
    username: str
    password: str
    pids: dict[str, int]
    log_dir: str
    arrivals: str
    env: dict[str, str]
    run: Callable[[str], str]

    def port_of(self, scheme: str) -> int:
        address = self.demo_https if scheme == "https" else self.demo_http
        return int(address.rsplit(":", 1)[1])


def sign_in(page, username: str, password: str) -> None:
    page.goto("/login/")
    page.fill("input[name=username]", username)
    page.fill("input[name=password]", password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)


def enter(tab, username: str) -> None:
    """Give a `served_tab` this user's session; the form takes a second, and has its own tests."""
    client = Client()
    client.force_login(User.objects.get(username=username))
    (cookie,) = client.cookies.values()
    tab.context.add_cookies(
        [{"name": cookie.key, "value": cookie.value, "domain": "localhost", "path": "/"}]
    )
