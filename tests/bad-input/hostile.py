# SPDX-License-Identifier: Apache-2.0
"""A server between trimtab and the simulator that can be bewitched.

A Front listens on a port of its own and hands every request on, byte by byte, until a Spell is cast on it: then
requests that match the spell are answered by its function, which has the bare socket.  What really happened stays in
the simulator, so that after heal() everything can be looked at and must converge.

    front = Front(sim_port)
    front.cast(Spell(truncated, lambda r: "/targetPools/" in r.path))
    …
    front.heal()

Threads: one per connection, all ended when close() returns; nothing here waits for a fixed time but the dripping spell, whose
business that is.  Whatever happens rings the Front's Bell, so that a test that waits looks again then, and not all the time.
"""
import contextlib
import functools
import json
import re
import socket
import ssl
import threading
import time

MIB = 1 << 20
PIECE = b" " * MIB
HUGE = 2 << 30                                      # what "two gigabytes" means
SERVER = ("127.0.0.1", 0)
LIMIT_S = 180
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")
CLOSE = re.compile(rb"(?i)\r\nconnection: *close")


def shut(sock):
    """Ends a connection under whichever thread is reading or writing; past TLS, whose state is that thread's."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class Bell:
    """Counts what happened.  A test that waits for something reads the count, looks, and waits for the next one."""

    def __init__(self):
        self.count, self.condition = 0, threading.Condition()

    def ring(self):
        with self.condition:
            self.count += 1
            self.condition.notify_all()

    def wait(self, count, seconds):
        """Returns as soon as more than `count` things happened, or after `seconds`."""
        with self.condition:
            self.condition.wait_for(lambda: self.count != count, seconds)


class Request:
    def __init__(self, head, body):
        line, *rest = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = line.split(" ", 2)
        self.headers = {k.lower(): v.strip() for k, _, v in (h.partition(":") for h in rest if h)}
        self.head, self.body, self.form = head, body, None

    def __repr__(self):
        return f"{self.method} {self.path}"


class Spell:
    """`answer(connection, request)` for requests of which `matches(request)` is true."""

    def __init__(self, answer, matches):
        self.answer, self.matches = answer, matches
        self.hits, self.ended, self.sent = 0, 0, 0
        self.changed = threading.Condition()
        self.broken = threading.Event()
        self.held, self.lock = set(), threading.Lock()

    def end(self):
        """No connection is held any more, and senders stop."""
        with self.lock:
            self.broken.set()
            for sock in self.held:
                shut(sock)

    def holds(self, sock):
        """From now on end() shuts this connection."""
        with self.lock:
            self.held.add(sock)
            return not self.broken.is_set()

    def lets_go(self, sock):
        with self.lock:
            self.held.discard(sock)

    def hit(self):
        with self.changed:
            self.hits += 1
            self.changed.notify_all()

    def until_hit(self, times, seconds=LIMIT_S):
        with self.changed:
            return self.changed.wait_for(lambda: self.hits >= times, seconds)


class Connection:
    """The argument of a spell: the client's socket, with a count of bytes sent and a flag that says when to stop."""

    def __init__(self, sock, spell, front):
        self.sock, self.spell, self.front = sock, spell, front

    def send(self, data):
        """False once the client has left or the spell is broken."""
        if isinstance(data, str):
            data = data.encode()
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        self.spell.sent += len(data)
        self.front.bell.ring()
        return not self.spell.broken.is_set()

    def answer(self, status, body, headers=(), length=None):
        if isinstance(body, str):
            body = body.encode()
        head = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json",
                f"Content-Length: {len(body) if length is None else length}", "Connection: close", *headers]
        return self.send("\r\n".join(head) + "\r\n\r\n") and self.send(body)

    def really(self, request):
        """Lets the server behind do it; its answer is lost."""
        lines = [l for l in request.head.split(b"\r\n") if not l.lower().startswith((b"connection:", b"accept-encoding:"))]
        with socket.create_connection(("127.0.0.1", self.front.behind)) as there:
            there.sendall(b"\r\n".join([*lines, b"Connection: close", b"", b""]) + request.body)
            while there.recv(65536):
                pass

    def stream(self, pieces, headers=()):
        """A chunked 200 of these pieces."""
        head = ["HTTP/1.1 200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close",
                *headers]
        if not self.send("\r\n".join(head) + "\r\n\r\n"):
            return False
        for piece in pieces:
            piece = piece.encode() if isinstance(piece, str) else piece
            if not self.send(b"%x\r\n" % len(piece) + piece + b"\r\n"):
                return False
        return self.send("0\r\n\r\n")

    def hold(self, seconds=None):
        """Until the spell is broken, or the client has left; for `seconds` at most."""
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            while self.spell.holds(self.sock):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                self.sock.settimeout(left)
                if self.sock.recv(4096) == b"":
                    return
        except OSError:
            pass                                    # the time is over, or the client has left
        finally:
            self.spell.lets_go(self.sock)
            with contextlib.suppress(OSError):
                self.sock.settimeout(None)


@functools.lru_cache
def tls_context(cert, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


class Front:
    """The server.  `tls` is (certificate file, key file) or None; `twist(request, body)` may change good JSON answers.
    With TLS a connection stays open after a whole answer, as an API server's does: a handshake costs more than a request."""

    def __init__(self, port, tls=None, twist=None):
        self.behind, self.twist = port, twist
        self.spell, self.tls = None, tls and tls_context(*tls)
        self.listener = socket.create_server(SERVER, backlog=64)
        self.port = self.listener.getsockname()[1]
        self.open, self.lock = set(), threading.Lock()
        self.seen = []                              # every request, in order
        self.closed, self.bell = False, Bell()
        self.begins = threading.Lock()
        self.threads = set()
        self._begin(self._accept)

    def url(self, path=""):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}{path}"

    def cast(self, spell):
        self.spell = spell
        return spell

    def heal(self):
        """The spell is broken; connections that it held are closed."""
        spell, self.spell = self.spell, None
        if spell is not None:
            spell.end()

    def cut(self):
        """Closes every open connection (a watch begins anew)."""
        with self.lock:
            socks = list(self.open)
        for sock in socks:
            shut(sock)

    def close(self):
        self.closed = True
        self.heal()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        while threads := self._begun():             # once none is left, nothing more comes to the server behind
            threads[0].join(LIMIT_S)
            assert threads[0] not in self.threads, "a thread of a Front does not end"

    # --- inside ---
    def _begun(self):
        """Threads that have begun, so that they can be waited for."""
        with self.begins:
            return list(self.threads)

    def _begin(self, work, *args):
        def run():
            try:
                work(*args)
            finally:
                self.threads.discard(threading.current_thread())
        thread = threading.Thread(target=run, daemon=True)
        with self.begins:
            self.threads.add(thread)
            thread.start()

    def _accept(self):
        while not self.closed:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self._begin(self._serve, sock)

    def _serve(self, sock):
        with self.lock:
            self.open.add(sock)
        try:
            if self.tls is not None:
                raw, sock = sock, self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
                with self.lock:
                    self.open ^= {raw, sock}        # it is the same connection: `raw` is of no use any more
                sock.do_handshake()
            while self._one(sock):
                pass
        except (OSError, ValueError):
            pass                                    # the client left, or what it sent is no HTTP
        finally:
            with self.lock:
                self.open.discard(sock)
            shut(sock)
            sock.close()

    def _one(self, sock):
        request = read_request(sock)
        if request is None:
            return False
        self.seen.append(request)
        spell = self.spell
        if spell is not None and spell.matches(request):
            spell.hit()
            try:
                spell.answer(Connection(sock, spell, self), request)
            finally:
                spell.ended += 1
                self.bell.ring()
            return False
        try:
            return self._hand_on(sock, request)
        finally:
            self.bell.ring()

    def _hand_on(self, sock, request):
        """Whether the connection takes another request."""
        lines = [l for l in request.head.split(b"\r\n") if not l.lower().startswith((b"connection:", b"accept-encoding:"))]
        with socket.create_connection(("127.0.0.1", self.behind)) as there:
            there.sendall(b"\r\n".join([*lines, b"Connection: close", b"", b""]) + request.body)
            if self.twist is not None:
                whole = b"".join(iter(lambda: there.recv(65536), b""))
                sock.sendall(self._twisted(request, whole))
                return False
            with self.lock:
                self.open.add(there)
            try:
                data = there.recv(65536)
                missing = whole_answer(data) if self.tls else None
                if missing is not None:
                    data = CLOSE.sub(b"", data, count=1)
                while data:
                    sock.sendall(data)
                    data = there.recv(65536)
                    missing = missing and missing - len(data)
            finally:
                with self.lock:
                    self.open.discard(there)
        return missing == 0

    def _twisted(self, request, whole):
        head, _, body = whole.partition(b"\r\n\r\n")
        try:
            body = json.dumps(self.twist(request, json.loads(body))).encode()
        except ValueError:
            return whole
        lines = [l for l in head.split(b"\r\n") if not l.lower().startswith((b"content-length:", b"transfer-encoding:"))]
        return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", b""]) + body


def whole_answer(begin):
    """How many bytes of an answer are to come that begins so; None if it does not say."""
    head, end, body = begin.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return int(length.group(1)) - len(body) if end and length else None


def read_request(sock):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    request = Request(head, b"")
    want = int(request.headers.get("content-length", "0"))
    while len(body) < want:
        piece = sock.recv(65536)
        if not piece:
            return None
        body += piece
    request.body = body
    return request


# --- spells ---------------------------------------------------------------------------------------------------

def endless(begin, piece=PIECE, total=HUGE):
    """A body of two gigabytes that begins like an answer."""
    def answer(c, _):
        def pieces():
            yield begin
            for _ in range(total // len(piece)):
                yield piece
        c.stream(pieces())
    return answer


def endless_headers(c, _):
    c.send("HTTP/1.1 200 OK\r\n")
    for i in range(1 << 16):
        if not c.send(f"X-Filler-{i}: {'x' * 4000}\r\n"):
            return


def redirect_loop(c, request):
    path = request.path.split("?")[0]
    hop = int(request.headers.get("x-hop", "0"))
    c.answer(307, "", [f"Location: {c.front.url(path)}?hop={hop + 1}"])


def redirect_away(c, _):
    c.answer(307, "", ["Location: http://127.0.0.1:1/elsewhere"])


def drip(c, _):
    """A byte now and then, for ever."""
    c.send('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"items": [')
    while c.send(" "):
        c.hold(0.2)


def silence(c, _):
    c.hold()


def garbage(c, _):
    c.send(bytes(range(256)) * 64)


def tls_alert(c, _):
    c.send(b"\x15\x03\x03\x00\x02\x02\x28")


def hang_up(_c, _request):
    pass


def says(status, body, headers=(), length=None):
    text = body if isinstance(body, (str, bytes)) else json.dumps(body)

    def answer(c, _):
        c.answer(status, text, headers, length)
    return answer


def echo_secrets(status, wrap):
    """An error whose text is everything that was sent, the secrets first; `wrap` makes the API's error body of it."""
    def answer(c, request):
        told = " ".join([request.headers.get("authorization", ""), request.body.decode("latin-1"),
                         *(f"{k}: {v}" for k, v in request.headers.items())])
        c.answer(status, json.dumps(wrap(told)))
    return answer
