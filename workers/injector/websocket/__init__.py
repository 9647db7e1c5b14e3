"""WebSocket (RFC 6455): frames, the opening handshake, and the worker that talks over it."""
