"""The bundled demo target: HTTP, HTTPS and WebSocket with dials for delay, size and errors."""
