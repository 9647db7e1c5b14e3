"""Files that the command line takes a text from."""

from pathlib import Path


def text_of(path: str) -> str:
    """The file's text in UTF-8, to the byte: opened as text, CR LF would become LF. Raises OSError,
    ValueError."""
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: this is no text in UTF-8 (byte {error.start + 1:,} cannot be read)."
        ) from None
