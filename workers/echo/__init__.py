"""The bundled demo target: HTTP and HTTPS with dials for delay, size and errors."""
