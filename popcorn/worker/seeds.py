"""Seeds: one secret an evaluation, and numbers derived from it by name. Only the parent and the oracle see them."""

import hashlib
import secrets


def draw_secret() -> str:
    """32 hex digits from the system's generator."""
    return secrets.token_hex(16)


def commit(secret: str) -> str:
    """What can be published before the candidate runs: SHA-256 of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def derive(secret: str, *labels: object) -> int:
    """A 63-bit number for one purpose; numbers of different purposes tell nothing about each other."""
    text = "/".join([secret, *(str(label) for label in labels)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
