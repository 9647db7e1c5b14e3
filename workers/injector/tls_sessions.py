"""Which TLS session the next handshake offers."""

from typing import Any


class Sessions:
    """The same session is offered as long as the server accepts it, so that what a connection does
    depends on no other one under way. Servers that accept each session only once get a new one each
    time.
    """

    def __init__(self) -> None:
        self._session: Any = None
        self._was_taken = False
        self._are_single_use = False

    def offer(self) -> Any:
        return self._session

    def learn(self, session: Any, *, was_taken: bool) -> None:
        """Learn whether the server accepted the offered session."""
        if session is not self._session:
            return
        if was_taken:
            self._was_taken = True
            return
        self._are_single_use = self._are_single_use or self._was_taken
        self._session = None

    def keep(self, tls: Any) -> None:
        """Keep a connection's session, if one is needed and it can be resumed."""
        if self._session is not None and not self._are_single_use:
            return
        session = tls.take_session()
        if session is not None:
            self._session, self._was_taken = session, False
