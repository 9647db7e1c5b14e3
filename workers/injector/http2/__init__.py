"""HTTP/2 (RFC 9113): its own framing, so that many streams cost little on one core."""
