"""What somebody typed into a field of one's own words."""


def storable(text: str) -> str:
    """Without space around it, and without NUL, which no keyboard has and PostgreSQL refuses."""
    return text.replace("\0", "").strip()
