"""Notes are seen where they belong, by whom they are for, and change nothing else on a page."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.core.permissions import Actor
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.models import AuditEntry, Note
from campaigns.notes.services import LONGEST_NOTE, add_note, delete_note, edit_note
from campaigns.template_words import html_of
from tests.factories import make_campaign, make_run, make_test
from tests.pages import shown_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured_test(project):
    """A test of a campaign that has ended, with a run."""
    test = make_test(make_campaign(project, started_at=timezone.now(), finished_at=timezone.now()))
    make_run(test, state="done", outcome="complete")
    return test


def page_of(noun: str, test) -> tuple[str, str]:
    """The page, and where its notes are added."""
    numbers = {"campaign": test.campaign_id, "run": test.runs.get().pk, "test": test.pk}
    page = {"campaign": "campaign-detail", "run": "run-detail", "test": "history-test"}[noun]
    return tuple(reverse(name, args=[numbers[noun]]) for name in (page, f"{noun}-note"))


@pytest.mark.parametrize("noun", ["campaign", "run", "test"])
def test_a_note_stands_on_the_page_that_it_is_of(client, bob, vera, measured_test, noun):
    page, add = page_of(noun, measured_test)
    client.force_login(bob)
    client.get(page)
    assert client.post(add, {"text": "After the **cache**"}).url == f"{page}#notes"
    text = client.get(page).content.decode()
    assert "After the <strong>cache</strong>" in text
    assert 'href="#notes">1 note</a>' in text
    client.force_login(vera)
    text = shown_text(client.get(page))
    assert "bob" in text
    assert "Add a note" not in text
    others = {"campaign", "run", "test"} - {noun}
    assert not any(
        "cache" in shown_text(client.get(page_of(each, measured_test)[0])) for each in others
    )


def test_a_note_on_a_test_stands_on_it_in_every_campaign(client, bob, project, measured_test):
    again = make_test(
        make_campaign(project), measured_test.plan_version, endpoint=measured_test.endpoint
    )
    client.force_login(bob)
    client.post(reverse("test-note", args=[measured_test.pk]), {"text": "noisy on Mondays"})
    assert "noisy on Mondays" in shown_text(client.get(reverse("history-test", args=[again.pk])))


@pytest.mark.parametrize("noun", ["campaign", "run", "test"])
def test_who_deletes_a_note_stays_on_its_page(client, bob, measured_test, noun):
    page, add = page_of(noun, measured_test)
    client.force_login(bob)
    client.post(add, {"text": "noisy"})
    delete = reverse("note-delete", args=[Note.objects.get().pk])
    assert client.post(delete).url == f"{page}#notes"
    assert not Note.objects.exists()


def test_a_note_of_a_test_that_is_gone_leads_to_the_history(client, bob, measured_test):
    client.force_login(bob)
    client.post(reverse("test-note", args=[measured_test.pk]), {"text": "noisy"})
    make_test(measured_test.campaign, connection_mode="keep-alive")
    Note.objects.update(connection_mode="resumed")
    delete = reverse("note-delete", args=[Note.objects.get().pk])
    history = reverse("history", args=[measured_test.campaign.project_id])
    assert client.post(delete).url == f"{history}#notes"


def test_what_is_refused_is_shown_as_it_was_typed(client, bob, measured_test):
    _, add = page_of("campaign", measured_test)
    client.force_login(bob)
    answer = client.post(add, {"text": "x" * (LONGEST_NOTE + 1), "is_shared": "on"})
    assert answer.status_code == 422
    assert "at most 10,000 are allowed" in shown_text(answer)
    assert answer.context["form"]["text"].value() == "x" * (LONGEST_NOTE + 1)


def test_only_its_author_and_owners_change_a_note(measured_test, alice, bob):
    author, owner = Actor(user=bob), Actor(user=alice)
    note = add_note(by=owner, of=measured_test.campaign, text="mine")
    for act in (
        lambda: edit_note(by=author, note=note, text="x", is_shared=False),
        lambda: delete_note(by=author, note=note),
    ):
        with pytest.raises(Forbidden, match="Only its author or an owner"):
            act()
    other = add_note(by=author, of=measured_test.campaign, text="theirs")
    assert edit_note(by=owner, note=other, text="better", is_shared=True).edited_at
    delete_note(by=owner, note=other)
    with pytest.raises(Refused, match="deleted meanwhile"):
        delete_note(by=owner, note=other)
    deeds = AuditEntry.objects.filter(what__startswith="note").order_by("pk")
    assert [*deeds.values_list("deed", flat=True)] == [
        *("note_added", "note_added", "note_changed", "note_deleted"),
    ]


def test_what_others_changed_is_not_overwritten_unread(client, bob, measured_test):
    note = add_note(by=Actor(user=bob), of=measured_test.campaign, text="one")
    client.force_login(bob)
    address = reverse("note-detail", args=[note.pk])
    token = client.get(address).context["edit"].opened
    edit_note(by=Actor(user=bob), note=note, text="two", is_shared=False)
    answer = client.post(address, {"text": "three", "opened": token})
    assert (answer.status_code, Note.objects.get().text) == (409, "two")
    assert "This was changed since you opened it" in shown_text(answer)


@pytest.mark.parametrize("noun", ["campaign", "run"])
def test_a_share_shows_what_is_ticked_without_its_author(client, bob, measured_test, noun):
    who = Actor(user=bob)
    of = measured_test.campaign if noun == "campaign" else measured_test.runs.get()
    add_note(by=who, of=of, text="for all", is_shared=True)
    add_note(by=who, of=of, text="for us")
    other = make_campaign(measured_test.campaign.project)
    add_note(by=who, of=other, text="elsewhere", is_shared=True)
    project = measured_test.campaign.project
    _, token = create_share(by=who, project=project, days=1, **{noun: of})
    text = shown_text(client.get(reverse("share-view", args=[token])))
    assert "for all" in text
    assert not any(each in text for each in ("for us", "elsewhere", "bob", "Add a note"))


def test_a_note_of_a_deleted_campaign_is_gone_with_it(measured_test, alice, vera):
    note = add_note(by=Actor(user=alice), of=measured_test.campaign, text="gone")
    type(measured_test.campaign).objects.update(
        deleted_at=timezone.now(), archived_at=timezone.now()
    )
    assert not Note.objects.visible_to(Actor(user=vera)).filter(pk=note.pk).exists()


def test_the_note_of_a_new_campaign_is_its_first(measured_test, bob):
    from campaigns.campaigns.services.campaigns import describe_source

    describe_source(by=Actor(user=bob), campaign=measured_test.campaign, note="why", branch="main")
    note = Note.objects.get()
    assert (note.campaign, note.text, note.author) == (measured_test.campaign, "why", bob)


@pytest.mark.parametrize("text", ["", " \n ", "\0"])
def test_an_empty_note_is_none(measured_test, bob, text):
    with pytest.raises(InvalidFields, match="Write a note"):
        add_note(by=Actor(user=bob), of=measured_test.campaign, text=text)


def test_rest_lists_adds_changes_and_deletes_them(client, bob, measured_test):
    client.force_login(bob)
    kind = {"content_type": "application/json"}
    for place in ({"campaign": measured_test.campaign_id}, {"test": measured_test.pk}):
        note = client.post("/api/v1/notes/", {"text": "a", **place}, **kind).json()
        notes = client.get("/api/v1/notes/", place).json()["results"]
        assert [each["id"] for each in notes] == [note["id"]]
        address = f"/api/v1/notes/{note['id']}/"
        assert client.put(address, {"text": "b", "is_shared": True}, **kind).json()["edited_at"]
    assert client.delete(address).status_code == 204
    assert Note.objects.get().text == "b"
    for wrong in ({}, {"campaign": measured_test.campaign_id, "test": measured_test.pk}):
        assert client.post("/api/v1/notes/", {"text": "a", **wrong}, **kind).status_code == 400


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb", "<p>a<br>\nb</p>\n"),
        ("# a", "<h3>a</h3>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("<b onclick=x>b</b>", "<p>&lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"),
        (
            "[a](https://a.example)",
            '<p><a href="https://a.example" rel="nofollow noopener noreferrer">a</a></p>\n',
        ),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("![a](https://a.example/x.png)", None),
        ("|a|\n|:-:|\n|b|", None),
        ("[a](data:text/html,x)", None),
        ("[a](//a.example)", None),
    ],
)
def test_markdown_is_safe_to_show(text, html):
    page = html_of(text)
    assert html in (None, page)
    assert not any(each in page for each in ("<img", "src=", "style=", "<script", 'href="data'))
