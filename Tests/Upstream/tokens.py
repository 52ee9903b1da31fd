"""HS256 tokens: made for tests, and verified with PostgREST's codes and texts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any


class TokenError(Exception):
    """A token that PostgREST refuses with 401; `args` are code, message and details."""


def encode(claims: dict[str, Any], secret: str) -> str:
    head = _base64(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    signed = f"{head}.{_base64(json.dumps(claims).encode())}"
    return f"{signed}.{_base64(_signature(signed, secret))}"


def decode(token: str, secret: str, claims_code: str = "PGRST301") -> dict[str, Any]:
    """The claims of a valid token. `claims_code` is the code of a well-signed token that is out of its time:
    PGRST301 up to PostgREST 12, PGRST303 since 13."""
    if not token:
        raise TokenError("PGRST301", "Empty JWT is sent in Authorization header", None)
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenError("PGRST301", f"Expected 3 parts in JWT; got {len(parts)}", None)
    try:
        head, signature = json.loads(_bytes(parts[0])), _bytes(parts[2])
        algorithm = head["alg"]
    except (ValueError, KeyError, TypeError):
        raise TokenError("PGRST301", "JWT cryptographic operation failed", None) from None
    if algorithm != "HS256":
        raise TokenError("PGRST301", "Wrong or unsupported encoding algorithm", None)
    if not hmac.compare_digest(signature, _signature(f"{parts[0]}.{parts[1]}", secret)):
        raise TokenError("PGRST301", "No suitable key or wrong key type",
                         "None of the keys was able to decode the JWT")
    return _in_time(parts[1], claims_code)


def _in_time(payload: str, code: str) -> dict[str, Any]:
    try:
        claims = json.loads(_bytes(payload))
    except ValueError:
        claims = None
    if not isinstance(claims, dict):
        raise TokenError(code, "Parsing claims failed", None)
    now = time.time()
    for claim, refused, message in (("exp", lambda at: at <= now, "JWT expired"),
                                    ("nbf", lambda at: at > now, "JWT not yet valid"),
                                    ("iat", lambda at: at > now + 30, "JWT issued at future")):
        value = claims.get(claim)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TokenError(code, f"The JWT '{claim}' claim must be a number", None)
        if refused(value):
            raise TokenError(code, message, None)
    return claims


def _signature(text: str, secret: str) -> bytes:
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
