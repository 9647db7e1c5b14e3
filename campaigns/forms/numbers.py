"""Numbers in forms: typed as text, read leniently, judged by the domain."""


def number(text: str) -> int | float | str | None:
    """A number where the text is one; else the text, for the domain to say what is wrong."""
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
    """1,000 is a thousand; 0,5 is not a number that we guess at."""
    groups = text.strip().split(",")
    return len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:])
