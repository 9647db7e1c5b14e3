"""The bundled demo target: HTTP, HTTPS and WebSocket with options for delay, size and errors."""
