# SPDX-License-Identifier: Apache-2.0
"""Several directors and an allocator on one LAN, as namespaces, with the whole product in them.  The caller runs inside `unshare -Urnm`.

    lan (bridge) ─┬─ client 192.0.2.10 (a host that asks by ARP, or a router)
                  ├─ d1 192.0.2.1, d2 192.0.2.2, d3 192.0.2.3   (10.1.0.201 …: the way to the nodes)
                  └─ n1 10.1.0.1, n2 10.1.0.2, n3 10.1.0.3

The simulator and the allocator are in the outer namespace.  Each director reaches the API server by a forwarder on its own loopback
interface, which a test can close: it is then cut off from the API alone.
"""
import collections
import errno
import hashlib
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import controller_world  # noqa: E402  pylint: disable=wrong-import-position
import product  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from world import command, inside  # noqa: E402  pylint: disable=wrong-import-position

DIRECTORS = ("d1", "d2", "d3")
ROUTED = "198.51.100.0/29"
LEASE_S = 6
RTMGRP_IPV4_IFADDR, RTMGRP_IPV4_ROUTE, RTM_NEWADDR, RTM_DELROUTE = 0x10, 0x40, 20, 25
MANY, MANY_N = 31000, 24  # node ports of serve_many()
CONFIG = f"""apiVersion: local.trimtab.io/v1
reuseDelay: 0s
pools:
- name: public
  addresses: [192.0.2.64-192.0.2.127]
- name: routed
  addresses: [{ROUTED}]
  autoAssign: false
  announce: {{by: routes}}
director:
  redundancy: lease
  leaseDuration: {LEASE_S}s
  renew: 1s
  checks: {{cluster: none}}
"""
ECMP = """apiVersion: local.trimtab.io/v1
pools:
- name: routed
  addresses: [%s]
  announce: {by: routes}
director: {redundancy: ecmp, checks: {cluster: none}}
""" % ROUTED
ALL = """apiVersion: local.trimtab.io/v1
pools:
- {name: public, addresses: [192.0.2.64-192.0.2.127]}
director: {checks: {cluster: none}}
"""
CLIENT_ASKS_AS = [f"192.0.2.{n}" for n in range(129, 250)]


def address_of(director):
    return "192.0.2." + director[1:]


def build():
    """The namespaces and the bridge."""
    command("mount", "-t", "tmpfs", "none", "/run")
    command("ip", "link", "set", "lo", "up")
    command("ip", "link", "add", "lan", "type", "bridge")
    command("ip", "link", "set", "lan", "up")
    places = {"client": [f"{world.CLIENT}/24"]}
    places.update({d: [f"{address_of(d)}/24", f"10.1.0.20{d[1:]}/24"] for d in DIRECTORS})
    places.update({n: [f"{world.node_address(n)}/24"] for n in world.NODES})
    for name, addresses in places.items():
        world.namespace(name, f"to-{name}", addresses, [])
        command("ip", "link", "set", f"to-{name}", "master", "lan")
    for d in DIRECTORS:
        inside(d, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


def servers():
    """On each node, for each Service of serve_many(), too."""
    return world.Servers(more=[(n, MANY + i, n) for n in world.NODES for i in range(MANY_N)])


def mac_of(name):
    [link] = json.loads(inside(name, "ip", "-j", "link", "show", "dev", "eth0"))
    return link["address"]


class Forwarder(threading.Thread):
    """From a port on the loopback interface of a namespace to the same port of the outer one."""

    def __init__(self, name, port):
        super().__init__(daemon=True)
        self.name_of, self.port, self.open, self.pairs = name, port, True, []
        self.lock = threading.Lock()
        self.socket = world.socket_in(name, socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(100)
        self.start()

    def run(self):
        while True:
            inner, _ = self.socket.accept()
            with self.lock:
                if not self.open:
                    inner.close()
                    continue
                outer = socket.create_connection(("127.0.0.1", self.port))
                self.pairs += [inner, outer]
            for a, b in ((inner, outer), (outer, inner)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(a, b):
        try:
            while True:
                data = a.recv(65536)
                if not data:
                    break
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            self.open = False
            for s in self.pairs:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.pairs = []

    def mend(self):
        with self.lock:
            self.open = True


class Asker(threading.Thread):
    """Asks by ARP for one address, again and again, and hears who answers each question; hears who claims it, too."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.over = address, False
        self.asked, self.answers = 0, collections.defaultdict(set)  # question → MACs
        self.last = None
        self.socket = world.socket_in("client", socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
        self.socket.bind(("eth0", 0x0806))
        self.socket.settimeout(0.03)
        self.mac = bytes.fromhex(mac_of("client").replace(":", ""))
        self.start()

    def ask(self):
        source = CLIENT_ASKS_AS[self.asked % len(CLIENT_ASKS_AS)]
        self.asked += 1
        body = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, self.mac, socket.inet_aton(source), bytes(6),
                           socket.inet_aton(self.address))
        self.socket.send(b"\xff" * 6 + self.mac + b"\x08\x06" + body)

    def run(self):
        while not self.over:
            self.ask()
            until = time.monotonic() + 0.03
            while time.monotonic() < until:
                try:
                    frame = self.socket.recv(200)
                except TimeoutError:
                    break
                operation, mac, sender, _, target = struct.unpack("!H6s4s6s4s", frame[20:42])
                target = socket.inet_ntoa(target)
                if operation == 2 and socket.inet_ntoa(sender) == self.address and target in CLIENT_ASKS_AS:
                    question = self.asked - 1
                    question -= (question - CLIENT_ASKS_AS.index(target)) % len(CLIENT_ASKS_AS)
                    self.answers[question].add(mac.hex(":"))
                    self.last = mac.hex(":")

    def doubles(self):
        """Questions that two machines have answered."""
        return {q: macs for q, macs in self.answers.items() if len(macs) > 1}

    def stop(self):
        self.over = True
        self.join()


def owner(address, directors):
    """The rule of §10.2 of the provider's specification, written once more."""
    mapped = bytes(10) + b"\xff\xff" + socket.inet_aton(address)
    bucket = hashlib.sha256(mapped).digest()[0]
    return max(directors, key=lambda d: hashlib.sha256(f"{d}/{bucket}".encode()).digest())


class Cluster(product.Cluster):
    """An allocator in the outer namespace, and directors in theirs; each process has a log of its own."""

    def __init__(self, programs, config=CONFIG):
        folder = tempfile.mkdtemp(prefix="trimtab-test-")
        super().__init__(programs, folder)
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(config)
        self.port = int(self.url.rsplit(":", 1)[1])
        self.directors, self.logs, self.forwarders = {}, {}, {}
        with open(self.kubeconfig, encoding="utf-8") as f:
            text = f.read()
        self.director_kubeconfig = os.path.join(self.folder, "kubeconfig-director")
        with open(self.director_kubeconfig, "w", encoding="utf-8") as f:
            f.write(text.replace("sa:kube-system:trimtab", "sa:kube-system:trimtab-director"))
        for d in DIRECTORS:
            self.forwarders[d] = Forwarder(d, self.port)
        if config != ALL:
            self.start("--local-role=allocator")

    def direct(self, *names, flags=None, account="trimtab-director", name=None, machine=None):
        """`name`: of the director, if not the namespace's.  `machine`: what it takes for the machine's id."""
        said = name
        for name in names:
            self.logs[name] = os.path.join(self.folder, f"{name}-{len(self.logs)}-{time.monotonic_ns()}.log")
            with open(self.logs[name], "ab") as err:
                kubeconfig = self.director_kubeconfig if account == "trimtab-director" else self.kubeconfig
                self.directors[name] = subprocess.Popen(  # pylint: disable=consider-using-with
                    ["ip", "netns", "exec", name, *self.as_machine(machine), self.trimtab_exe, *self.flags(), f"--kubeconfig={kubeconfig}", "-v=2",
                     *(flags or ["--local-role=director"]), f"--local-director-name={said or name}"], stderr=err, env=self.environment())

    def as_machine(self, machine):
        """The begin of a command that runs on what looks like another machine."""
        if machine is None:
            return []
        path = os.path.join(self.folder, "machine-id")
        with open(path, "w", encoding="utf-8") as f:
            f.write(machine + "\n")
        place = "/etc/machine-id" if os.path.getsize("/etc/machine-id") > 1 else "/proc/sys/kernel/random/boot_id"
        return ["unshare", "-m", "sh", "-c", f'mount --bind {path} {place} && exec "$@"', "sh"]

    def end(self, name, number=signal.SIGTERM):
        process = self.directors.pop(name)
        process.send_signal(number)
        return process.wait(controller_world.LIMIT_S)

    def director_log(self, name):
        with open(self.logs[name], encoding="utf-8", errors="replace") as f:
            return f.read()

    def log(self, since=0):
        """Of the allocator, then of the directors."""
        return super().log(since) + "".join(f"\n--- {d}\n{self.director_log(d)}" for d in getattr(self, "logs", ()))

    def holders(self, address):
        return [d for d in DIRECTORS if address in addresses(d)]

    def until_held(self, wanted):
        """{address: director}: the holder of each, and no other."""
        self.until(f"holders are {wanted}", lambda: all(self.holders(a) == [d] for a, d in wanted.items()))

    def until_owners(self, addresses_, directors):
        self.until_held({a: owner(a, directors) for a in addresses_})

    def serve_later(self, name):
        """The address that it is going to get."""
        self.must("POST", "/api/v1/namespaces/demo/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": "LoadBalancer", "ports": product.ports_of([(80, world.TCP_PORT)]), "ipFamilyPolicy": "SingleStack",
                     "ipFamilies": ["IPv4"]}})
        return ["192.0.2.64"]

    def serve_many(self, n):
        return [self.serve(f"s{i}", ports=[(80, MANY + i)], ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])[0] for i in range(n)]

    def leases(self):
        items = self.must("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")["items"]
        return {i["metadata"]["name"].removeprefix("trimtab-director-"): i for i in items
                if i["metadata"]["name"].startswith("trimtab-director-")}

    def label(self, director, value):
        self.must("PATCH", f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/trimtab-director-{director}",
                  {"metadata": {"labels": {"local.trimtab.io/drain": value}}}, content_type="application/merge-patch+json")

    def __exit__(self, kind, value, trace):
        for name in list(self.directors):
            if kind is None:
                assert self.end(name) == 0, self.director_log(name)
            else:
                self.end(name, signal.SIGKILL)
        for f in self.forwarders.values():
            f.socket.close()
        found = [line for d in self.logs for line in controller_world.complaint_in(self.logs[d])]
        super().__exit__(kind, value, trace)
        for d in DIRECTORS:
            inside(d, "ip", "route", "flush", "table", "local", "proto", "116")
            if exported(d):
                inside(d, "ip", "route", "flush", "table", "116")
            inside(d, "ip", "addr", "flush", "dev", "lo", "to", "192.0.2.0/24")
            command("ip", "netns", "exec", d, "nft", "-f", "-", text="table inet trimtab\ndelete table inet trimtab\n")
        assert not found, found


def addresses(name):
    """Held ones: of the loopback interface, or by routes."""
    [lo] = json.loads(inside(name, "ip", "-j", "-4", "addr", "show", "dev", "lo"))
    routes = json.loads(inside(name, "ip", "-j", "route", "show", "table", "local", "proto", "116") or "[]")
    return {a["local"] for a in lo["addr_info"] if a["prefixlen"] == 32} | {r["dst"] for r in routes}


def lifetime(name, address):
    """Seconds that the kernel keeps it; None: it has none."""
    [lo] = json.loads(inside(name, "ip", "-j", "-4", "addr", "show", "dev", "lo"))
    return next((a["valid_life_time"] for a in lo["addr_info"] if a["local"] == address), None)


class Renewals:
    """Counts how often the kernel of a namespace was told of each address, since it was made."""

    def __init__(self, name):
        self.counts = collections.Counter()
        self.socket = world.socket_in(name, socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, RTMGRP_IPV4_IFADDR))
        self.socket.setblocking(False)

    def count(self, address):
        try:
            while True:
                self.read(self.socket.recv(65536))
        except BlockingIOError:
            return self.counts[address]
        except OSError as e:  # more than the socket held while nobody read: those are not counted
            if e.errno != errno.ENOBUFS:
                raise
            return self.counts[address]

    def read(self, data):
        at = 0
        while at < len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind == RTM_NEWADDR:
                self.counts[socket.inet_ntoa(data[at + 28:at + 32])] += 1  # IFA_ADDRESS is the first attribute
            at += (length + 3) & ~3


class RouteDeletions:
    """The routes of ours that went in a namespace since it was made: [(address, kind)], in the kernel's order."""

    def __init__(self, name):
        self.socket = world.socket_in(name, socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.bind((0, RTMGRP_IPV4_ROUTE))
        self.socket.setblocking(False)

    def seen(self):
        found, data = [], b""
        try:
            while True:
                data += self.socket.recv(65536)
        except BlockingIOError:
            pass
        for message in product.messages(data):
            kind, protocol, type_ = struct.unpack_from("=H", message, 4)[0], message[21], message[23]
            if kind == RTM_DELROUTE and protocol == 116:
                found.append((destination(message[28:]), {2: "local", 6: "blackhole"}[type_]))
        return found


def destination(attributes):
    """RTA_DST of a route."""
    while attributes:
        length, kind = struct.unpack_from("=HH", attributes)
        if kind == 1:
            return socket.inet_ntoa(attributes[4:8])
        attributes = attributes[(length + 3) & ~3:]
    return None


def exported(name):
    """Addresses that a routing daemon would announce."""
    said = subprocess.run(["ip", "netns", "exec", name, "ip", "-j", "route", "show", "table", "116"], capture_output=True, text=True, check=False)
    return {r["dst"] for r in json.loads(said.stdout or "[]")} if said.returncode == 0 else set()


def elements(name, kind, of):
    """Elements of a set or map of the table in the namespace."""
    said = json.loads(inside(name, "nft", "-j", "list", kind, "inet", "trimtab", of))
    return next(i[kind] for i in said["nftables"] if kind in i).get("elem", [])
