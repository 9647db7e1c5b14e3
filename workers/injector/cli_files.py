"""Files that the command line takes a text from."""

from pathlib import Path


def text_of(path: str) -> str:
    """The file's text in UTF-8, to the byte: opened as text, CR LF would become LF. Raises OSError,
    ValueError."""
    return Path(path).read_bytes().decode()
