#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The director's thread of the provider local, with real packets: announcements, and targets whose check fails.

    director_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

The simulator is the API server alone; nodes are the namespaces of world.py, each with a health port of its own.
"""
import collections
import json
import os
import shutil
import socket
import struct
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import product  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from world import command, inside, tcp  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_DIRECTOR_TEST"
SORRY_PORT = 30099
VIP, VIP_TOO = "192.0.2.50", "192.0.2.51"
CHECKS = "director: {drainTimeout: 1s, checks: {interval: 500ms, timeout: 400ms, fall: 3, rise: 2}}\n"


class Neighbour(threading.Thread):
    """Hears ARP at the client: how often each address was claimed by each MAC, and how often it was probed."""

    def __init__(self):
        super().__init__(daemon=True)
        self.claims, self.probes = collections.Counter(), collections.Counter()
        self.socket = world.socket_in("client", socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
        self.start()

    def run(self):
        while True:
            frame = self.socket.recv(200)
            mac, sender, _, target = struct.unpack("!6s4s6s4s", frame[22:42])
            if sender == target:
                self.claims[socket.inet_ntoa(sender), mac.hex(":")] += 1
            elif sender == bytes(4):
                self.probes[socket.inet_ntoa(target)] += 1


class Cluster(product.Cluster):
    """Without the address that a test has taken from the namespace's kernel when it ends."""

    def __init__(self):
        super().__init__(PROGRAMS, tempfile.mkdtemp(prefix="trimtab-test-"))
        with open(self.config, "a", encoding="utf-8") as f:
            f.write(CHECKS)
        self.start()

    def serve_at(self, name, address):
        self.serve(name, {"local.trimtab.io/addresses": address}, ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        self.until(f"{name} has its address", lambda: self.addresses(name) == [address])

    def until_event(self, name, reason, text=""):
        def found():
            items = self.must("GET", "/api/v1/namespaces/demo/events")["items"]
            return [e["message"] for e in items if (e["involvedObject"]["name"], e["reason"]) == (name, reason) and text in e["message"]]
        return self.until(f"{name} has event {reason}", found)

    def __exit__(self, kind, value, trace):
        super().__exit__(kind, value, trace)
        command("nft", "-f", "-", text="table inet trimtab\ndelete table inet trimtab\n")
        for address in (VIP, VIP_TOO):
            command("ip", "route", "flush", "table", "local", "to", address)


def mac_of(name):
    [link] = json.loads(command("ip", "-j", "link", "show", "dev", name))
    return link["address"]


def slots():
    """The node of each slot of the frontend's map."""
    listed = command("nft", "list", "table", "inet", "trimtab")
    return {n for n in world.NODES if f"{world.node_address(n)} . {world.TCP_PORT}" in listed}


def test_health__check_fails__no_slots_until_it_is_well_again():
    with Cluster() as c:
        c.serve_at("web", VIP)
        c.until("all nodes have slots", lambda: slots() == set(world.NODES))
        SERVERS.sick.add("n2")
        c.until("n2 has no slots", lambda: slots() == {"n1", "n3"})
        c.until_event("web", "TargetsEjected")
        assert {tcp(VIP, 80)[0] for _ in range(20)} == {"n1", "n3"}
        # A restart takes over what the kernel shows, and its first look changes nothing.
        c.stop()
        before = command("nft", "list", "table", "inet", "trimtab")
        c.start()
        c.until("the Service is synced", lambda: c.logged("Synced", "demo/web"))
        assert command("nft", "list", "table", "inet", "trimtab") == before
        SERVERS.sick.update(world.NODES)
        c.until_event("web", "FailOpen")
        c.until("all have slots", lambda: slots() == set(world.NODES))
        SERVERS.sick.clear()
        asked = SERVERS.asked["n2"]
        c.until("n2 was asked again", lambda: SERVERS.asked["n2"] > asked + 3)
        assert slots() == set(world.NODES)
        c.remove("web")


def test_sorry__all_fail__answers_until_a_node_is_well():
    with Cluster() as c:
        c.serve("web", {"local.trimtab.io/addresses": VIP, "local.trimtab.io/sorry": f"{world.node_address('n3')}:{SORRY_PORT}"},
                ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
        c.until("all nodes have slots", lambda: slots() == set(world.NODES))
        SERVERS.sick.update(world.NODES)
        c.until("the sorry server answers", lambda: tcp(VIP, 80)[0] == "sorry")
        c.until("no node has slots", lambda: not slots())
        SERVERS.sick.discard("n1")
        c.until("n1 answers again", lambda: tcp(VIP, 80)[0] == "n1")
        assert slots() == {"n1"}
        SERVERS.sick.clear()


def test_drain__node_deleted__its_connections_end_after_a_while():
    with Cluster() as c:
        c.serve_at("web", VIP)
        c.until("all nodes have slots", lambda: slots() == set(world.NODES))
        connections = [world.Connection(VIP, 80) for _ in range(12)]
        by_node = {x.ask()[0]: x for x in connections}
        assert set(by_node) == set(world.NODES), by_node
        c.must("DELETE", "/api/v1/nodes/n3")

        def is_over():
            try:
                by_node["n3"].ask()
                return False
            except ConnectionResetError:
                return True
        c.until("connections to n3 end", is_over)
        assert slots() == {"n1", "n2"}
        assert [by_node[n].ask()[0] for n in ("n1", "n2")] == ["n1", "n2"]
        for x in connections:
            x.close()


def test_announce__takeover_then_another_mac__neighbours_hear_of_it():
    heard = Neighbour()
    with Cluster() as c:
        c.serve_at("web", VIP)
        mac = mac_of("eth0")
        c.until("the whole burst is heard", lambda: heard.claims[VIP, mac] >= 10)  # requests and replies
        assert heard.probes[VIP] == 3, heard.probes
        command("ip", "link", "set", "eth0", "address", "02:00:00:00:00:99")
        c.until("the new MAC is heard", lambda: heard.claims[VIP, "02:00:00:00:00:99"] >= 2)
        command("ip", "link", "set", "eth0", "address", mac)


def test_announce__address_of_another_host__not_announced():
    heard = Neighbour()
    inside("client", "ip", "addr", "add", f"{VIP_TOO}/32", "dev", "eth0")
    with Cluster() as c:
        c.serve_at("other", VIP_TOO)
        [text, *_] = c.until_event("other", "AddressInUse")
        assert text.startswith(f"{VIP_TOO} answers from ") and text.endswith("; not announced"), text
        assert not heard.claims[VIP_TOO, mac_of("eth0")]
    inside("client", "ip", "addr", "del", f"{VIP_TOO}/32", "dev", "eth0")


def answers(address):
    """The MAC that answers one ARP request of the client's (an announcement answers nobody); None: none in a moment."""
    with world.socket_in("client", socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806)) as s:
        s.bind(("eth0", 0x0806))
        s.settimeout(0.3)
        own, mine = s.getsockname()[4], socket.inet_aton(world.CLIENT)
        s.send(b"\xff" * 6 + own + b"\x08\x06" + struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, own, mine, bytes(6), socket.inet_aton(address)))
        try:
            while True:
                operation, mac, sender, _, target = struct.unpack("!H6s4s6s4s", s.recv(200)[20:42])
                if (operation, socket.inet_ntoa(sender), target) == (2, address, mine):
                    return mac.hex(":")
        except TimeoutError:
            return None


def test_arp_ignore__set__trimtab_answers_in_place_of_the_kernel():
    world.sysctl("ipv4/conf/all/arp_ignore", 2)
    try:
        with Cluster() as c:
            c.serve_at("web", VIP)
            c.until("the log names it", lambda: c.logged("net.ipv4.conf.all.arp_ignore is 2"))
            assert c.until("ARP is answered", lambda: answers(VIP)) == mac_of("eth0")
            assert tcp(VIP, 80)[0] in world.NODES
            c.stop()
            assert answers(VIP) is None  # the kernel does not
    finally:
        world.sysctl("ipv4/conf/all/arp_ignore", 0)


def main():
    global PROGRAMS, SERVERS  # pylint: disable=global-statement
    PROGRAMS, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    SERVERS = world.Servers(more=[("n3", SORRY_PORT, "sorry")])
    return tap.run(tap.tests_of(globals(), chosen))


PROGRAMS = SERVERS = None
if __name__ == "__main__":
    sys.exit(main())
