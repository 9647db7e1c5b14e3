"""What a page says, and browsers that ask for it."""

import csv
import re
from io import StringIO

from django.test import Client
from django.urls import reverse


def text_of(response) -> str:
    """The page; where its lines break makes no difference."""
    return " ".join(response.content.decode().split())


def words_of(response) -> str:
    """The page without its markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def page_text(client, name: str, *args) -> str:
    return text_of(client.get(reverse(name, args=args)))


def html_of(client, name: str, *args, **query) -> str:
    return client.get(reverse(name, args=args), query).content.decode()


def target_page(client, target) -> str:
    return html_of(client, "target-detail", target.pk)


def browser_of(user, **options) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def shown_text(response) -> str:
    """The page's text, without markup; thin spaces as spaces."""
    text = re.sub(r"<[^>]+>", "", response.content.decode()).replace("\u202f", " ")
    return " ".join(text.split())


def csv_rows(response) -> list[dict[str, str]]:
    """Of a file, or of what streams one."""
    return list(csv.DictReader(StringIO(response.getvalue().decode())))
