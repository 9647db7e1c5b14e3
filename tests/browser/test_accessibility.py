"""axe finds nothing on any page, and every control can be hit: wide and narrow, light and dark.
No page is wider than a phone, whatever names people gave.

The pages are those of the access table, and those that it has no address for: what is live, empty,
shared, refused or broken. Each is opened once; then its width and its colours change.
"""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.shortcuts import render
from django.urls import reverse

from campaigns.core.permissions import Role
from tests.access_probes import address
from tests.access_table import PAGES
from tests.access_world import make_world
from tests.browser.conftest import ROOT
from tests.browser.installation import enter
from tests.browser.test_long_run import LongRun
from tests.factories import make_membership, make_project

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SMALL_CONTROLS = Path(__file__).with_name("small_controls.js").read_text()
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
# What answers with a file, a stream or a word for machines.
NO_PAGES = (
    "-csv",
    "-stream",
    "-text",
    "-points",
    "-file",
    "-reply",
    "healthz",
    "readyz",
    "metrics",
    "comparison-choose",
)
NAMES = sorted(
    name for name, methods in PAGES.items() if "GET" in methods and not name.endswith(NO_PAGES)
)
LONG_NAME = "AClassNameThatSomebodyCopied" * 5
WIDTH = "document.documentElement.scrollWidth"
THUMB, POINTER = 44, 24
# Beside axe in each page: how an element looks, and the outermost ones that look other than before
# or were not in sight.
LOOKS = """(() => {
  const looks = (each) => {
    const { color, backgroundColor } = getComputedStyle(each);
    return each.checkVisibility() && `${color} on ${backgroundColor}`;
  };
  const all = () => [...document.querySelectorAll("html, body, body *")];
  const isOther = (each) => looks(each) && looks(each) !== each.looked;
  const outermost = (some) => some.filter((each) => !some.includes(each.parentElement));
  let found;  // once a page: another theme changes all
  window.remember = () => all().forEach((each) => { each.looked = looks(each); });
  window.changed = () => (found ??= outermost(all().filter(isOther)));
})();"""
# ["select-name: #id_method", …]; axe leaves sizes out unless it is asked.
VIOLATIONS = """async ([where, rules]) => {
  const scope = where === "changed" ? changed() : where ?? document;
  if (scope.length === 0) return [];
  const asked = rules ? { runOnly: rules } : { rules: { "target-size": { enabled: true } } };
  const only = { preload: false, resultTypes: ["violations"] };
  const { violations } = await axe.run(scope, { ...asked, ...only });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}"""
# The rules whose answer depends on the width.
OF_WIDTH = ["scrollable-region-focusable", "target-size"]
OPEN_DISCLOSURES = """() => {
  for (const each of document.querySelectorAll("details:not(.menu)")) each.open = true;
}"""
EMPTY = ("campaign-list", "target-list", "plan-list", "run-list", "share-list", "campaign-new")


@pytest.fixture
def pages() -> dict[str, tuple[str, int]]:
    """Address and status by name."""
    world = make_world()
    world.rows["waiting"].delete()
    for noun in ("project", "target", "plan", "campaign"):
        row = world.rows[noun]
        most = row._meta.get_field("name").max_length
        type(row).objects.filter(pk=row.pk).update(name=LONG_NAME[:most])
    addresses = {name: (address(name, world, PAGES[name]["GET"]), 200) for name in NAMES}
    project = world.rows["project"]
    live = LongRun(project)
    live.send_until(60)
    owner = project.memberships.get(role=Role.OWNER).user
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    empty, foreign = make_project("Empty", owner=owner), make_project("Another team's")
    make_membership(foreign, owner, Role.VIEWER)
    addresses |= {f"empty {name}": (reverse(name, args=[empty.pk]), 200) for name in EMPTY}
    return addresses | {
        "live campaign": (reverse("campaign-detail", args=[live.campaign.pk]), 200),
        "live run": (reverse("run-detail", args=[live.run.pk]), 200),
        "preset": (f"{addresses['plan-new'][0]}?preset=ab", 200),
        "draft": (reverse("campaign-detail", args=[world.rows["draft"].pk]), 200),
        "shared campaign": (f"/s/{world.share_tokens['campaign']}/", 200),
        "shared run": (f"/s/{world.share_tokens['run']}/", 200),
        "not found": ("/nothing/", 404),
        "broken": ("/glossary/?broken", 500),
        "not allowed": (reverse("plan-new", args=[foreign.pk]), 403),
    }


@pytest.fixture
def page(served_tab, pages, monkeypatch, settings):
    """A tab of alice, who owns project and installation, with axe; one page can break."""
    settings.PROOF_DAYS = 90
    monkeypatch.setattr("campaigns.core.context.render", render_or_break)
    enter(served_tab, "alice")
    served_tab.add_init_script(path=AXE)
    served_tab.add_init_script(LOOKS)
    return served_tab


def test_every_page_can_be_read_by_all_and_hit_with_a_thumb(page, pages):
    texts: set[str] = set()
    faults = [
        f"{name}, {complaint}"
        for name, (where, status) in pages.items()
        for complaint in complaints(page, where, status, texts)
    ]
    page.context.clear_cookies()
    faults += [
        f"sign-in, {each}" for each in complaints(page, reverse("account_login"), 200, texts)
    ]
    assert not faults, "\n".join(faults)


def render_or_break(request, *args, **options):
    if "broken" in request.GET:
        raise RuntimeError("This page is broken.")
    return render(request, *args, **options)


def complaints(page, where: str, status: int, texts: set[str]) -> list[str]:
    """What is wrong on the page at this address. Dialogs and menus with one of `texts` came before,
    and are left out."""
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
    assert page.goto(where).status == status
    page.evaluate(OPEN_DISCLOSURES)
    return [
        *(f"wide, light: {each}" for each in axe(page)),
        *(f"wide: {each}" for each in page.evaluate(SMALL_CONTROLS, POINTER)),
        *what_opens(page, texts),
        *in_colours(page, "wide", "dark"),
        *narrow(page),
    ]


def narrow(page) -> list[str]:
    """All that depends on the width, and all of what it shows that a wide page shows otherwise."""
    page.evaluate("remember()")
    page.set_viewport_size(PHONE)
    return [
        *(f"narrow: the page is {width} px wide" for width in too_wide(page)),
        *(f"narrow: {each}" for each in axe(page, rules=OF_WIDTH)),
        *(f"narrow: {each}" for each in page.evaluate(SMALL_CONTROLS, THUMB)),
        *(f"narrow, dark: {each}" for each in axe(page, "changed")),
        *in_colours(page, "narrow", "light", "changed"),
    ]


def too_wide(page) -> list[int]:
    """The page's width, where it does not fit. Charts follow a new width in the next frames."""
    for _ in range(30):
        if (width := page.evaluate(WIDTH)) <= PHONE["width"]:
            return []
        page.wait_for_timeout(100)
    return [width]


def in_colours(page, width: str, scheme: str, within=None) -> list[str]:
    """Another theme changes contrasts only."""
    page.emulate_media(color_scheme=scheme)
    return [f"{width}, {scheme}: {each}" for each in axe(page, within, ["color-contrast"])]


def what_opens(page, texts: set[str]) -> list[str]:
    """Dialogs and menus, one open at a time, light and dark."""
    faults = []
    for each in page.query_selector_all("dialog, details.menu"):
        words = each.evaluate("(it) => it.textContent.replace(/\\s+|\\d+/g, '')")
        if words in texts:
            continue
        texts.add(words)
        each.evaluate("(it) => (it.showModal ? it.showModal() : (it.open = true))")
        faults += [f"{words[:20]}: {what}" for what in axe(page, each)]
        each.evaluate("(it) => (it.showModal ? it.close() : (it.open = false))")
    return faults


def axe(page, within=None, rules: list[str] | None = None) -> list[str]:
    return page.evaluate(VIOLATIONS, [within, rules])
