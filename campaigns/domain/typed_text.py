"""What somebody typed into a field of one's own words."""

from unicodedata import normalize


def storable(text: str) -> str:
    """Without space around it, and without NUL, which no keyboard has and PostgreSQL refuses."""
    return text.replace("\0", "").strip()


def clean_name(text: str) -> str:
    """As a name is stored, so that no two look alike: pages show any space as one blank."""
    return " ".join(composed(text).split())


def composed(text: str) -> str:
    """Each letter in the one form that Unicode has for it: é may also be typed as e with an accent
    after it."""
    return normalize("NFC", text)
