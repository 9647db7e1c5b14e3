"""WebSocket (RFC 6455): frames, the handshakes, and the worker that exchanges messages."""
