"""Files of /proc that are read repeatedly; they stay open, because opening costs the most."""

import os
from typing import Self

_CHUNK_BYTES = 16 * 1024


class ProcFiles:
    """Reads the current content of such files; "" for a file that cannot be opened."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int | None] = {}

    def first_line(self, path: str) -> str:
        return self._read(path, 0).partition("\n")[0]

    def lines(self, path: str) -> list[str]:
        """All lines; the kernel returns long files page by page."""
        text, length = [], 0
        while part := self._read(path, length):
            text.append(part)
            length += len(part)
        return "".join(text).splitlines()

    def _read(self, path: str, at: int) -> str:
        descriptor = self._descriptor_of(path)
        if descriptor is None:
            return ""
        try:
            return os.pread(descriptor, _CHUNK_BYTES, at).decode("latin-1")
        except OSError:
            return ""

    def _descriptor_of(self, path: str) -> int | None:
        if path not in self._descriptors:
            try:
                self._descriptors[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._descriptors[path] = None
        return self._descriptors[path]

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            if descriptor is not None:
                os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
