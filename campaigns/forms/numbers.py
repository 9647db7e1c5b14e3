"""Numbers in forms: typed as text, parsed leniently, validated by the domain."""


def number(text: str) -> int | float | str | None:
    """The text as a number if it is one; else the text, for the domain to reject."""
    text = text.strip().replace(",", "") if _has_thousands(text) else text.strip()
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _has_thousands(text: str) -> bool:
    """1,000 is a thousand; 0,5 is ambiguous and rejected."""
    groups = text.strip().split(",")
    return len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:])
