#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Addresses that are announced by routes: BIRD and FRR take them from the table, a router hears of them by BGP.

    routes_test.py BUILD TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped where `unshare -Urnm` is not allowed, or the daemons are absent)

The daemons' configurations are those of docs/providers/local.md.  The router is BIRD in the namespace n1 of world.py; n2 is a second
director, which reaches the API server through a relay.  Judges are the routes of n1's kernel.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import product  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from world import command, inside  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_ROUTES_TEST"
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "providers", "local.md")
CONFIG = f"""apiVersion: local.trimtab.io/v1
reuseDelay: 0s
pools:
- name: public
  addresses: [{product.POOL}]
  announce: {{by: routes}}
"""
FIRST, SECOND = "192.0.2.48", "192.0.2.49"
DIRECTORS = {None: "10.1.0.254", "n2": "10.1.0.2"}  # namespace: address on the router's network
ROUTER, ROUTER_AS, DIRECTOR_AS = "10.1.0.1", 65000, 65001


def router_config():
    peers = "".join(f"""protocol bgp from{i} {{
  local {ROUTER} as {ROUTER_AS}; neighbor {address} as {DIRECTOR_AS};
  ipv4 {{ import all; export none; }};
}}
""" for i, address in enumerate(DIRECTORS.values()))
    return f"""router id {ROUTER};
protocol device {{}}
protocol kernel {{ merge paths on; ipv4 {{ import none; export all; }}; }}
{peers}"""


def documented(language, address):
    """The block of the documentation, with this test's numbers in place of its examples."""
    with open(DOCS, encoding="utf-8") as f:
        [text] = re.findall(rf"```{language}\n(.*?)```", f.read(), re.S)
    for example, real in (("192.0.2.2", address), ("192.0.2.254", ROUTER), ("64512", str(DIRECTOR_AS)), ("64511", str(ROUTER_AS))):
        text = re.sub(rf"\b{re.escape(example)}(?![\d.])", real, text)
    return text


class Daemon:
    """A program of build/tools/peers in a namespace; ends with the test."""

    def __init__(self, folder, where, *words):
        self.log = os.path.join(folder, f"{os.path.basename(words[0])}-{where or 'd1'}.log")
        before = ["ip", "netns", "exec", where] if where else []
        lib = PEERS + "/usr/lib/" + os.uname().machine + "-linux-gnu"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*before, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, "LD_LIBRARY_PATH": f"{lib}:{lib}/frr"})

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def bird(where, text):
    folder = tempfile.mkdtemp(prefix="trimtab-bird-")
    return [Daemon(folder, where, PEERS + "/usr/sbin/bird", "-f", "-c", write(folder, "bird.conf", text), "-s", folder + "/ctl")]


def frr(where, text):
    """zebra and bgpd; each heeds the lines that are its own."""
    folder = tempfile.mkdtemp(prefix="trimtab-frr-")
    conf = write(folder, "zebra.conf", "".join(line + "\n" for line in text.splitlines() if line.startswith("ip import-table")))
    bgp = write(folder, "bgpd.conf", text[text.index("router bgp"):])
    common = ["-u", "root", "-g", "root", "-z", folder + "/zserv", "--vty_socket", folder, "-P", "0", "--log", "stdout"]
    daemons = [Daemon(folder, where, PEERS + "/usr/lib/frr/zebra", "-f", conf, "-i", folder + "/zebra.pid", *common)]
    return daemons + [Daemon(folder, where, PEERS + "/usr/lib/frr/bgpd", "-f", bgp, "-i", folder + "/bgpd.pid", "-n", "-p", "179", *common)]


def users():
    """FRR asks for its group; the files are those of this mount namespace only."""
    folder = tempfile.mkdtemp(prefix="trimtab-users-")
    for name, text in (("passwd", "root:x:0:0::/:/bin/sh\nfrr:x:0:0::/:/bin/sh\n"), ("group", "root:x:0:\nfrr:x:0:\nfrrvty:x:0:frr,root\n")):
        command("mount", "--bind", write(folder, name, text), "/etc/" + name)


class Relay(threading.Thread):
    """Carries connections to a port of 127.0.0.1 in a namespace to the same port of the director's."""

    def __init__(self, where, port):
        super().__init__(daemon=True)
        self.port, self.socket = port, world.socket_in(where, socket.AF_INET, socket.SOCK_STREAM)
        self.socket.bind(("127.0.0.1", port))
        self.socket.listen(100)
        self.start()

    def run(self):
        while True:
            try:
                near, _ = self.socket.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                return
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            b.close()

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Cluster(product.Cluster):
    """The director's own process is World's; `too` starts another one in n2."""

    def __init__(self):
        super().__init__(PROGRAMS, tempfile.mkdtemp(prefix="trimtab-test-"))
        write(os.path.dirname(self.config), os.path.basename(self.config), CONFIG)
        self.second = self.relay = None
        self.daemons = []

    def too(self):
        inside("n2", "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.relay = Relay("n2", urllib.parse.urlsplit(self.sim.url).port)
        self.second_log = os.path.join(self.folder, "second")
        with open(self.second_log, "wb") as log:
            self.second = subprocess.Popen(["ip", "netns", "exec", "n2", self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}"],
                                           stderr=log, env=self.environment())

    def routes_hold(self, what, wanted):
        self.until(what + "; else: " + str(learned()) + "".join(d.words() for d in self.daemons), lambda: learned() == wanted)

    def __exit__(self, kind, value, trace):
        if self.second:
            self.second.terminate()
            self.second.wait()
            self.relay.stop()
        super().__exit__(kind, value, trace)
        for d in self.daemons:
            d.stop()
        for where in DIRECTORS:
            before = ["ip", "netns", "exec", where] if where else []
            subprocess.run([*before, "nft", "delete", "table", "inet", "trimtab"], stderr=subprocess.DEVNULL, check=False)
            for table in ("local", "116"):
                subprocess.run([*before, "ip", "route", "flush", "table", table, "proto", "116"], stderr=subprocess.DEVNULL, check=False)


def learned():
    """{address: next hops} of the router's kernel."""
    routes = json.loads(inside("n1", "ip", "-j", "route", "show", "proto", "bird") or "[]")
    return {r["dst"]: sorted(h["gateway"] for h in r["nexthops"]) if "nexthops" in r else [r["gateway"]] for r in routes}


def held_routes(where=None):
    before = ["ip", "netns", "exec", where] if where else []
    return sorted(r["dst"] for r in json.loads(command(*before, "ip", "-j", "route", "show", "table", "116") or "[]"))


def serve(c, *names):
    for i, name in enumerate(names):
        c.serve(name, ports=((80, world.TCP_PORT + i),), ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])


def life(daemons):
    """A Service comes, another one, the first goes; others' routes in the table stay here; SIGTERM leaves all as it is."""
    d1 = [DIRECTORS[None]]
    with Cluster() as c:
        c.daemons = bird("n1", router_config()) + daemons
        c.start()
        serve(c, "web", "api")
        assert held_routes() == [FIRST, SECOND], held_routes()
        c.routes_hold("the router has both", {FIRST: d1, SECOND: d1})
        c.remove("web")
        c.routes_hold("the first one is withdrawn", {SECOND: d1})
        c.stop()
        assert held_routes() == [SECOND]
        assert learned() == {SECOND: d1}, "what was there when the process ended goes on"
        c.start()
        c.remove("api")
        c.routes_hold("all is withdrawn", {})


def test_bird__takes_the_routes__and_withdraws_them():
    life(bird(None, documented("bird", DIRECTORS[None])))


def test_frr__takes_the_routes__and_withdraws_them():
    life(frr(None, documented("frr", DIRECTORS[None])))


def test_bird__routes_of_others_in_the_table__stay_here():
    with Cluster() as c:
        c.daemons = bird("n1", router_config()) + bird(None, documented("bird", DIRECTORS[None]))
        command("ip", "route", "add", "blackhole", "192.0.2.99/32", "proto", "99", "table", "116")
        c.start()
        serve(c, "web")
        c.routes_hold("the router has ours alone", {FIRST: [DIRECTORS[None]]})
        c.remove("web")
        c.routes_hold("nothing is left", {})
        command("ip", "route", "del", "blackhole", "192.0.2.99/32", "table", "116")


def test_two_directors__one_route_with_two_next_hops():
    with Cluster() as c:
        c.daemons = bird("n1", router_config()) + [d for where, address in DIRECTORS.items() for d in bird(where, documented("bird", address))]
        c.start()
        serve(c, "web")
        c.routes_hold("the router has one", {FIRST: [DIRECTORS[None]]})
        c.too()
        both = sorted(DIRECTORS.values())
        c.routes_hold("the router has two next hops", {FIRST: both})
        assert world.tcp(FIRST, 80, "n1") != "refused"
        c.edit("web", externalTrafficPolicy="Cluster", loadBalancerSourceRanges=["10.0.0.0/8"])
        c.remove("web")
        c.routes_hold("both have withdrawn it", {})
        c.until("the second holds nothing", lambda: not held_routes("n2"))


def missing(build):
    global PEERS  # pylint: disable=global-statement
    PEERS = os.path.join(build, "tools", "peers")
    if not os.path.exists(PEERS + "/usr/sbin/bird") or not os.path.exists(PEERS + "/usr/lib/frr/bgpd"):
        return f"BIRD and FRR are not in {PEERS}; scripts/check fetches them"
    for program in ("unshare", "nft", "ip"):
        if not shutil.which(program):
            return f"{program} is absent"
    return None


def main():
    global PROGRAMS  # pylint: disable=global-statement
    PROGRAMS, chosen = sys.argv[2:4], sys.argv[4:]
    why = missing(sys.argv[1])
    if why:
        return tap.skip(why)
    if not world.here(MARK):
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    users()
    world.Servers()
    return tap.run(tap.tests_of(globals(), chosen))


PROGRAMS = PEERS = None
if __name__ == "__main__":
    sys.exit(main())
