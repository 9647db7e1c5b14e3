"""Tags of campaigns, plans, targets and projects: short words to find them by."""

from collections.abc import Iterable

from campaigns.domain.errors import InvalidFields
from campaigns.domain.typed_text import clean_name

MOST_TAGS = 20
LONGEST_TAG = 30
# A target with this tag is measured beside others to see whether the environment has moved.
REFERENCE_TAG = "reference"


def tags_in(text: str) -> list[str]:
    """The tags in what somebody typed: "nightly, release". Raises InvalidFields for "tags"."""
    return clean_tags(text.split(","))


def clean_tag(text: str) -> str:
    """As it is stored and looked for: a name in lower case."""
    return clean_name(text).lower()


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Lower case, each once, sorted; empty ones are dropped. Raises InvalidFields for "tags"."""
    clean = sorted({clean_tag(tag) for tag in tags} - {""})
    if len(clean) > MOST_TAGS:
        raise InvalidFields({"tags": f"Use at most {MOST_TAGS} tags."})
    for tag in clean:
        if len(tag) > LONGEST_TAG:
            raise InvalidFields(
                {"tags": f"The tag {tag} is too long: use at most {LONGEST_TAG} characters."}
            )
        if "," in tag:
            raise InvalidFields({"tags": "Tags cannot contain commas."})
    return clean
