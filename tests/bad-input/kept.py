# SPDX-License-Identifier: Apache-2.0
"""Parts of the stage that do their work once for many rows: simulators that are kept, and logs that are read as they grow."""
import codecs
import os
import re
import socket
import threading

from controller_world import LIMIT_S, Simulator, complaint_in

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")


class Log:
    """A file that grows."""

    def __init__(self, path, run):
        self.path, self.run = path, run
        self.text, self.size, self.decoder = "", 0, codecs.getincrementaldecoder("utf-8")("replace")

    def all(self):
        if os.path.exists(self.path):
            with open(self.path, "rb") as f:
                f.seek(self.size)
                piece = f.read()
            self.size += len(piece)
            self.text += self.decoder.decode(piece)
        return self.text


class Line:
    """HTTP over one connection, which is kept; a test asks thousands of times.  Takes answers with a Content-Length."""

    def __init__(self, url):
        host, port = url.split("//")[1].split(":")
        self.address, self.host = (host, int(port)), f"{host}:{port}"
        self.sock, self.lock = None, threading.Lock()

    def ask(self, method, path, data=None, content_type="application/json", headers=()):
        """Returns the status and the body."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Content-Type: {content_type}",
                 f"Content-Length: {len(data or b'')}", *(f"{k}: {v}" for k, v in dict(headers).items()), "", ""]
        request = "\r\n".join(lines).encode() + (data or b"")
        with self.lock:
            answer = self.sock and self.exchange(request)
            if not answer:                          # the server ends connections that were idle for long
                self.close()
                self.sock = socket.create_connection(self.address, LIMIT_S)
                answer = self.exchange(request)
            assert answer, (method, path, "the simulator closed the connection")
            return answer

    def exchange(self, request):
        """None if the connection is closed without an answer."""
        try:
            self.sock.sendall(request)
            data = self.sock.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            return None
        if not data:
            return None
        while b"\r\n\r\n" not in data:
            data += self.more()
        head, _, body = data.partition(b"\r\n\r\n")
        found = LENGTH.search(head)
        pieces, missing = [body], (int(found.group(1)) if found else 0) - len(body)
        while missing > 0:
            pieces.append(self.more())
            missing -= len(pieces[-1])
        return int(head.split(b" ", 2)[1]), b"".join(pieces)

    def more(self):
        data = self.sock.recv(1 << 20)
        if not data:
            raise ConnectionError("the simulator closed the connection within an answer")
        return data

    def close(self):
        if self.sock:
            self.sock.close()
        self.sock = None


class KeptSimulator(Simulator):
    """Plays one world after another: reset() leaves nothing of the one before."""

    def __init__(self, template, number):
        folder = os.path.join(template.folder, f"sim-{number}")
        os.mkdir(folder)
        # It begins with the world, to which its cloud-config belongs.  Its seed is not that of the world's maker: with the same
        # one new identities would be those that the world has.
        super().__init__(template.programs[0], folder, template.cloud_name, f"--world={template.world}", f"--seed={number + 100}")
        self.world, self.begin, self.said = template.world, None, 0
        self.line = Line(self.url)

    def stop(self):
        self.line.close()
        super().stop()

    def must(self, method, path, data=None):
        status, body = self.line.ask(method, path, data)
        assert status < 300, (method, path, status, body[:1000])
        return body

    def reset(self):
        """The world is as at first, there are no faults, and no call was counted."""
        self.said = os.path.getsize(self.err)
        with open(self.world, "rb") as f:
            self.must("PUT", "/sim/state", f.read())
        self.must("DELETE", "/sim/faults")
        self.must("DELETE", "/sim/calls")
        state = self.must("GET", "/sim/state")
        self.begin = self.begin or state
        assert state == self.begin, "the simulator keeps something of the world before"

    def complaints(self):
        """Since the last reset()."""
        return complaint_in(self.err, self.said)
