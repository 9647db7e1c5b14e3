"""A pasted OpenAPI document in YAML, as JSON would have it."""

import json
from typing import Any

import yaml

# Read by libyaml; a text that refers to parts of itself could grow beyond all bounds.
_MOST_CHARACTERS = 1_000_000


def read_yaml(text: str) -> Any:
    """Raises ValueError."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{len(text):,} characters are too many; at most {_MOST_CHARACTERS:,}")
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise ValueError("it has an alias (*name); write it out")
        return json.loads(json.dumps(yaml.load(text, Loader=yaml.CSafeLoader), default=str))
    except (yaml.YAMLError, TypeError) as error:
        raise ValueError(str(error).replace("\n", " ")) from None
