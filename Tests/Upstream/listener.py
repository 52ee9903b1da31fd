"""Connections to the upstream: accepting them, refusing them, cutting them."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

from exchange import Exchange

if TYPE_CHECKING:
    from upstream import Upstream


class Listener:
    """Accepts connections, one thread each. While closed with `keep_port` the port stays reserved: a bound
    socket that does not listen refuses connections and keeps others from taking the number."""

    def __init__(self, upstream: Upstream, port: int):
        self._upstream = upstream
        self._reserved = _bound(port)
        self.port = self._reserved.getsockname()[1]
        self._accepting: socket.socket | None = None
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def open(self) -> None:
        with self._lock:
            if self._accepting is None:
                self._accepting = _bound(self.port)
                self._accepting.listen(256)
                threading.Thread(target=self._accept, args=(self._accepting,), daemon=True).start()

    def close(self, keep_port: bool = False) -> None:
        with self._lock:
            accepting, self._accepting = self._accepting, None
            for each in [*self._connections, *([accepting] if accepting else [])]:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            if accepting:
                accepting.close()
            if not keep_port:
                self._reserved.close()

    def _accept(self, accepting: socket.socket) -> None:
        while True:
            try:
                connection, address = accepting.accept()
            except OSError:
                return
            with self._lock:
                if self._accepting is not accepting:
                    connection.close()
                    return
                self._connections.add(connection)
            threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()

    def _serve(self, connection: socket.socket, address: Any) -> None:
        try:
            Exchange(connection, address, self._upstream)
        except OSError:
            pass
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()


def _bound(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    return made
