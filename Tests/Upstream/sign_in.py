"""A stand-in for Supabase Auth: password and refresh-token grants, with rotation."""

from __future__ import annotations

import collections
import secrets
import threading
import time
from typing import Any, Callable


class SignInError(Exception):
    """A refused grant: `body` answers with status 400."""

    def __init__(self, code: str, message: str, old: str = "invalid_grant"):
        super().__init__(message)
        self.body = {"code": 400, "error_code": code, "msg": message, "error": old,
                     "error_description": message}


class SignIn:
    """Users, sessions and their refresh tokens; `counts` has the requests by grant type."""

    def __init__(self, make_token: Callable[..., str]):
        self.expires_in = 3600
        self.counts: collections.Counter[str] = collections.Counter()
        self._make_token = make_token
        self._users: dict[str, tuple[str, str]] = {}
        self._sessions: dict[str, tuple[str, str]] = {}
        self._used: set[str] = set()
        self._lock = threading.Lock()

    def add_user(self, email: str, password: str, sub: str) -> None:
        self._users[email] = (password, sub)

    def refresh_token(self, email: str) -> str:
        """A refresh token of a new session, as if the user had signed in elsewhere."""
        with self._lock:
            return self._session(email, secrets.token_hex(8))

    def revoke(self) -> None:
        """Ends every session: no refresh token is known any more."""
        with self._lock:
            self._sessions.clear()

    def grant(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.counts[kind] += 1
            if kind == "password":
                return self._password(body)
            if kind == "refresh_token":
                return self._refresh(body)
        raise SignInError("validation_failed", "unsupported_grant_type", "unsupported_grant_type")

    def _password(self, body: dict[str, Any]) -> dict[str, Any]:
        password, _ = self._users.get(body.get("email", ""), (None, ""))
        if password is None or password != body.get("password"):
            raise SignInError("invalid_credentials", "Invalid login credentials")
        return self._answer(body["email"], secrets.token_hex(8))

    def _refresh(self, body: dict[str, Any]) -> dict[str, Any]:
        token = body.get("refresh_token")
        if not isinstance(token, str) or not token:
            raise SignInError("validation_failed", "refresh_token required", "invalid_request")
        if token in self._used:
            raise SignInError("refresh_token_already_used", "Invalid Refresh Token: Already Used")
        if token not in self._sessions:
            raise SignInError("refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
        self._used.add(token)
        return self._answer(*self._sessions.pop(token))

    def _answer(self, email: str, session: str) -> dict[str, Any]:
        sub = self._users[email][1]
        token = self._make_token(sub, ttl=self.expires_in, email=email, session_id=session,
                                 jti=secrets.token_hex(8))
        return {"access_token": token, "token_type": "bearer", "expires_in": self.expires_in,
                "expires_at": int(time.time()) + self.expires_in,
                "refresh_token": self._session(email, session),
                "user": {"id": sub, "aud": "authenticated", "role": "authenticated", "email": email}}

    def _session(self, email: str, session: str) -> str:
        token = secrets.token_urlsafe(12)
        self._sessions[token] = (email, session)
        return token
