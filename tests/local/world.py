# SPDX-License-Identifier: Apache-2.0
"""A director, three nodes and a client as network namespaces, and sockets in them.  The caller runs inside `unshare -Urnm`.

    client 192.0.2.10, 192.0.2.77 ── eth0 192.0.2.1 director 10.1.0.254 br0 ─┬─ 10.1.0.1 n1
    (2001:db8:2::10)                 (2001:db8:2::1)         (fd00:1::fe)    ├─ 10.1.0.2 n2
                                                                             └─ 10.1.0.3 n3      (fd00:1::1 …)

The process itself is in the director's namespace.  A socket belongs to the namespace of the thread that made it, so that one
process has sockets in all of them.
"""
import collections
import ctypes
import os
import selectors
import socket
import subprocess
import sys
import threading

CLONE_NEWNET = 0x40000000
LIMIT_S = 60  # for what must come; nothing is decided by it
TCP_SYNCNT = 7
NODES = ("n1", "n2", "n3")
CLIENT, CLIENT_TOO, CLIENT6 = "192.0.2.10", "192.0.2.77", "2001:db8:2::10"
TCP_PORT, UDP_PORT = 30080, 30053
HEALTH_PORT = 10256  # of kube-proxy


def command(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def inside(name, *words):
    return command("ip", "netns", "exec", name, *words)


def node_address(name, family=4):
    return ("10.1.0." if family == 4 else "fd00:1::") + name[1:]


def sysctl(name, value):
    with open("/proc/sys/net/" + name, "w", encoding="ascii") as f:
        f.write(str(value))


def namespace(name, outer, addresses, gateways):
    """A namespace whose eth0 is the other end of `outer`."""
    command("ip", "netns", "add", name)
    command("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
    command("ip", "link", "set", outer, "up")
    lines = ["link set lo up"]
    lines += [f"addr add {a} dev eth0{' nodad' if ':' in a else ''}" for a in addresses]
    lines += ["link set eth0 up"] + [f"route add default via {g}" for g in gateways]
    command("ip", "-n", name, "-batch", "-", text="\n".join(lines) + "\n")


def build():
    command("mount", "-t", "tmpfs", "none", "/run")
    command("ip", "link", "set", "lo", "up")
    namespace("client", "eth0", [f"{CLIENT}/24", f"{CLIENT_TOO}/24", f"{CLIENT6}/64"], ["192.0.2.1", "2001:db8:2::1"])
    command("ip", "link", "add", "br0", "type", "bridge")
    for n in NODES:
        namespace(n, f"to-{n}", [f"{node_address(n)}/24", f"{node_address(n, 6)}/64"], ["10.1.0.254", "fd00:1::fe"])
        command("ip", "link", "set", f"to-{n}", "master", "br0")
        command("bridge", "link", "set", "dev", f"to-{n}", "hairpin", "on")
    command("ip", "-batch", "-", text="\n".join([
        "addr add 192.0.2.1/24 dev eth0", "addr add 2001:db8:2::1/64 dev eth0 nodad",
        "addr add 10.1.0.254/24 dev br0", "addr add fd00:1::fe/64 dev br0 nodad", "link set br0 up"]) + "\n")
    sysctl("ipv4/ip_forward", 1)
    sysctl("ipv6/conf/all/forwarding", 1)
    sysctl("ipv4/icmp_ratelimit", 0)  # each refusal is sent
    sysctl("ipv6/icmp/ratelimit", 0)


def enter(name):
    """Puts the calling thread into a namespace."""
    with open(f"/run/netns/{name}", "rb") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns({name})")


def socket_in(name, family, kind, protocol=0):
    """A socket in the namespace `name`; None: the director's; "": that of the calling thread."""
    if name == "":
        return socket.socket(family, kind, protocol)
    made = []

    def make():
        try:
            if name is not None:
                enter(name)
            made.append(socket.socket(family, kind, protocol))
        except OSError as error:
            made.append(error)
    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Servers(threading.Thread):
    """On each node, TCP and UDP of both families: every line that comes is answered with the node's name and the peer's address;
    an HTTP request, too, and then the connection ends."""

    def __init__(self, more=()):
        super().__init__(daemon=True)
        self.selector = selectors.DefaultSelector()
        self.sick, self.asked = set(), collections.Counter()
        for n in NODES:
            self.listen(n, socket.AF_INET, "0.0.0.0", HEALTH_PORT, (n,))
            self.listen(n, socket.AF_INET6, "::", HEALTH_PORT, (n,))
            for family, any_address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                self.listen(n, family, any_address, TCP_PORT, n)
                self.datagrams(n, family, any_address, UDP_PORT, n)
        for namespace_name, port, said in more:
            self.listen(namespace_name, socket.AF_INET, "0.0.0.0", port, said)
            self.listen(namespace_name, socket.AF_INET6, "::", port, said)
        self.start()

    def listen(self, name, family, address, port, said):
        s = socket_in(name, family, socket.SOCK_STREAM)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        s.listen(1000)
        self.selector.register(s, selectors.EVENT_READ, (self.accept, said))

    def datagrams(self, name, family, address, port, said):
        s = socket_in(name, family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind((address, port))
        self.selector.register(s, selectors.EVENT_READ, (self.answer, said))

    def accept(self, s, said):
        connection, _ = s.accept()
        self.selector.register(connection, selectors.EVENT_READ, (self.line, said))

    def line(self, s, said):
        try:
            data = s.recv(1000)
            http = data.startswith(b"GET ")
            status = "200 OK"
            if isinstance(said, tuple):  # a health port
                [said] = said
                self.asked[said] += 1
                status = "503 Service Unavailable" if said in self.sick else status
            head = f"HTTP/1.0 {status}\r\nConnection: close\r\n\r\n" if http else ""
            if data:
                s.sendall(f"{head}{said} {s.getpeername()[0]}\n".encode())
                if not http:
                    return
        except OSError:
            pass
        self.selector.unregister(s)
        s.close()

    @staticmethod
    def answer(s, said):
        _, peer = s.recvfrom(100)
        s.sendto(f"{said} {peer[0]}\n".encode(), peer)

    def run(self):
        while True:  # until the process ends
            for key, _ in self.selector.select():
                key.data[0](key.fileobj, key.data[1])


class Connection:
    """A TCP connection to a VIP; ask() sends a line and returns [node, address that the node sees]."""

    def __init__(self, to, port, name="client", source=None, limit_s=LIMIT_S):
        family = socket.AF_INET6 if ":" in to else socket.AF_INET
        self.socket = socket_in(name, family, socket.SOCK_STREAM)
        self.socket.settimeout(limit_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, TCP_SYNCNT, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # ends at once
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((to, port))
        # The acknowledgement of the answer and the reset can overtake each other, and connection tracking takes a client that comes
        # again from the same port to the former target when the reset was not the last one: no acknowledgement.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)

    def ask(self):
        self.socket.sendall(b"?\n")
        said = self.socket.recv(200)
        if not said:
            raise ConnectionResetError("closed")
        return said.decode().split()

    def close(self):
        self.socket.close()


def tcp(to, port, name="client", source=None, limit_s=LIMIT_S):
    """[node, peer] of one connection; "refused" or "silent"."""
    c = None
    try:
        c = Connection(to, port, name, source, limit_s)
        return c.ask()
    except (ConnectionRefusedError, ConnectionResetError):
        return "refused"
    except TimeoutError:
        return "silent"
    finally:
        if c:
            c.close()


class Clients(threading.Thread):
    """Connects from the client again and again until stop(); counts what tcp() says.  Where silence is no fault, a short limit
    lets the next connection begin."""

    def __init__(self, to, port, limit_s=LIMIT_S):
        super().__init__(daemon=True)
        self.to, self.port, self.limit_s = to, port, limit_s
        self.seen, self.done, self.over = collections.Counter(), 0, False
        self.start()

    def run(self):
        enter("client")
        while not self.over:
            said = tcp(self.to, self.port, name="", limit_s=self.limit_s)
            self.seen[said if isinstance(said, str) else said[0]] += 1
            self.done += 1

    def stop(self):
        self.over = True
        self.join()
        return self.seen


class Flood(threading.Thread):
    """Sends datagrams of one flow from the client without a pause until stop(), which returns how many were sent and refused."""

    def __init__(self, to, port):
        super().__init__(daemon=True)
        self.to, self.port = to, port
        self.sent, self.refused, self.over = 0, 0, False
        self.start()

    def run(self):
        enter("client")
        with socket.socket(socket.AF_INET6 if ":" in self.to else socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect((self.to, self.port))
            while not self.over:
                try:
                    s.send(b"")
                    self.sent += 1
                except ConnectionRefusedError:
                    self.refused += 1

    def stop(self):
        self.over = True
        self.join()
        return self.sent, self.refused


def udp(to, port, name="client"):
    """The same for a datagram, which must be answered or refused."""
    s = socket_in(name, socket.AF_INET6 if ":" in to else socket.AF_INET, socket.SOCK_DGRAM)
    with s:
        s.settimeout(LIMIT_S)
        s.connect((to, port))
        try:
            s.send(b"?\n")
            return s.recv(200).decode().split()
        except ConnectionRefusedError:
            return "refused"


def ping(to, name="client"):
    """Sends an echo request and waits for the answer."""
    v6 = ":" in to
    kind = 128 if v6 else 8
    body = bytes([kind, 0, 0, 0, 0, 1, 0, 1])
    if not v6:  # the kernel makes that of IPv6
        total = 0xffff ^ sum(int.from_bytes(body[i:i + 2], "big") for i in range(0, len(body), 2))
        body = body[:2] + total.to_bytes(2, "big") + body[4:]
    with raw_socket(name, v6) as s:
        s.settimeout(LIMIT_S)
        s.connect((to, 0))
        s.send(body)
        while True:
            said = s.recv(200)
            if said[0 if v6 else 20] == (129 if v6 else 0):
                return


def raw_socket(name, v6):
    return socket_in(name, socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_RAW,
                     socket.IPPROTO_ICMPV6 if v6 else socket.IPPROTO_ICMP)


class Tool:
    """A kernel-tool; a command raises Refused with the word of its code."""

    def __init__(self, program, kind="real"):
        self.process = subprocess.Popen([program, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, line):
        """All lines of an answer, the last one too."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        lines = []
        while True:
            heard = self.process.stdout.readline()
            if not heard:
                raise AssertionError(f"kernel-tool ended at: {line}")
            lines.append(heard.rstrip("\n"))
            if lines[-1] == "ok" or ": " in lines[-1]:
                return lines

    def __call__(self, line):
        lines = self.say(line)
        if lines[-1] != "ok":
            raise Refused(lines[-1])
        return lines[:-1]

    def change(self, *changes):
        """One transaction: each change begins with + or -."""
        for c in changes:
            self(c)
        return self("commit")

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


class Refused(Exception):
    @property
    def code(self):
        return str(self).split(":", maxsplit=1)[0]


def reexec_unshared(script, arguments, mark):
    """Runs the script again in namespaces of its own; returns its exit status, or why that is not possible."""
    trial = subprocess.run(["unshare", "-Urnm", "sh", "-c", "mount -t tmpfs none /run && ip link set lo up && nft add table inet x"],
                           capture_output=True, text=True, check=False)
    if trial.returncode:
        return f"no namespaces here: {trial.stderr.strip() or trial.returncode}"
    return subprocess.run(["unshare", "-Urnm", "--kill-child", "env", mark + "=1", sys.executable, script, *arguments], check=False).returncode


def here(mark):
    return os.environ.get(mark) == "1"
