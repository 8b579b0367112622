# SPDX-License-Identifier: Apache-2.0
"""The whole product on the namespaces of world.py: trimtab-sim without a cloud, trimtab with the provider local, and what judges them.

The process is the director's: it is inside `unshare -Urnm`, world.build() has run.  Judges are nft, ip and curl, and two netlink
sockets that count what was written to the kernel.
"""
import base64
import collections
import contextlib
import functools
import json
import os
import re
import socket
import ssl
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import controller_world  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position

POOL, POOL6 = "192.0.2.48-192.0.2.55", "2001:db8:2::30-2001:db8:2::37"
CONFIG = f"""apiVersion: local.trimtab.io/v1
reuseDelay: 0s
pools:
- name: public
  addresses: [{POOL}, "{POOL6}"]
"""
ROLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "deploy", "cluster_roles.yaml")
NFNL_GETGEN, NFNL_GEN_ID = 10 << 8 | 16, 1
RTM_NEWROUTE, RTM_DELROUTE, RT_SCOPE_LINK = 24, 25, 253
RTMGRP = 0x40 | 0x400 | 0x10 | 0x100  # routes and addresses, of both families


def node(name):
    addresses = [{"type": "InternalIP", "address": world.node_address(name, family)} for family in (4, 6)]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"podCIDRs": [f"10.2.{name[1:]}.0/24", f"fd00:2:{name[1:]}::/64"], "podCIDR": f"10.2.{name[1:]}.0/24"}, "status": {
        "addresses": addresses, "conditions": [{"type": "Ready", "status": "True"}]}}


class Simulator(controller_world.Simulator):
    """trimtab-sim without a cloud; `conf` holds the cloud-config of the provider local."""

    def __init__(self, programs, folder):
        self.folder, self.conf = folder, os.path.join(folder, "conf")
        self.kubeconfig, self.err = os.path.join(folder, "kubeconfig"), os.path.join(folder, "sim.err")
        os.mkdir(self.conf)
        with open(os.path.join(self.conf, "local.yaml"), "w", encoding="utf-8") as f:
            f.write(CONFIG)
        start = os.path.join(folder, "world.json")
        with open(start, "w", encoding="utf-8") as f:
            json.dump({"kubernetes": {"namespaces": [{"metadata": {"name": "demo"}}], "nodes": [node(n) for n in world.NODES]}}, f)
        roles = os.path.join(folder, "rbac.yaml")
        with open(roles, "w", encoding="utf-8") as f, open(ROLES, encoding="utf-8") as of_every_cluster:
            f.write(world.command(programs[1], "rbac", "--cloud-provider=local", "--leader-elect-resource-name=trimtab") + "---\n" +
                    world.command(programs[1], "rbac", "--cloud-provider=local", "--local-role=director", "--leader-elect=false",
                                  "--service-account=kube-system/trimtab-director") + "---\n" + of_every_cluster.read())
        with open(self.err, "ab") as err:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [programs[0], "--cloud=none", "--tls", f"--rbac={roles}", "--port=0", "--seed=1", "--ip-families=IPv4,IPv6", f"--world={start}",
                 f"--write-kubeconfig={self.kubeconfig}"], stdout=subprocess.PIPE, stderr=err, text=True)
        self.url = self.process.stdout.readline().split()[-1]


class Cluster(controller_world.World):
    """trimtab is the service account of the roles that `trimtab rbac` prints; the test is an administrator."""

    def __init__(self, programs, folder):
        super().__init__(programs, cloud="local", simulator=Simulator(programs, folder))
        with open(self.kubeconfig, encoding="utf-8") as f:
            [authority] = re.findall(r"certificate-authority-data: (\S+)", f.read())
        self.sim_tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        self.headers = {"Authorization": "Bearer sim-admin"}
        self.be_service_account()
        self.config = os.path.join(self.conf, "local.yaml")

    def environment(self):
        return {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")}

    def flags(self):
        return ["--cloud-provider=local", *controller_world.ALONE, f"--cloud-config={self.config}"]

    def serve(self, name, meta=None, ports=((80, world.TCP_PORT),), **spec):
        """The same, and its addresses when the sync has ended that gave them: events and lines of the log come after the status."""
        self.post(name, meta, ports, **spec)
        addresses = self.addresses(name)
        self.until_at_rest(f"demo/{name}")
        return addresses

    def post(self, name, meta=None, ports=((80, world.TCP_PORT),), **spec):
        """A Service of demo with these (port, node port)."""
        self.must("POST", "/api/v1/namespaces/demo/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "annotations": meta or {}},
            "spec": {"type": "LoadBalancer", "ports": ports_of(ports), **spec}})

    def path(self, name):
        return f"/api/v1/namespaces/demo/services/{name}"

    def ingress(self, name):
        return self.must("GET", self.path(name)).get("status", {}).get("loadBalancer", {}).get("ingress", [])

    def addresses(self, name):
        return [i["ip"] for i in self.until(f"demo/{name} has an address", lambda: self.ingress(name))]

    def edit(self, name, **spec):
        self.must("PATCH", self.path(name), {"spec": spec}, content_type="application/merge-patch+json")

    def carry_out(self, name, change):
        """change() asks for something else, and the sync that makes it has ended: it can take several transactions, and another
        change beside it would be one with it.  Before, no sync is under way: its end would be taken for the change's."""
        self.until_at_rest(f"demo/{name}")
        since = self.log_bytes()
        change()

        def ended():
            log = self.log(since)
            done = log.find(f'"Done" service="demo/{name}"')
            return done >= 0 and log.find(f'"Synced" service="demo/{name}"', done) >= 0
        self.until(f"a change of demo/{name} is carried out", ended)

    def remove(self, *names):
        for name in names:
            self.must("DELETE", self.path(name))
        for name in names:
            self.until(f"demo/{name} is gone", lambda name=name: self.call("GET", self.path(name))[0] == 404)

    def run_command(self, *words):
        """(exit code, stdout and stderr) of trimtab WORDS… with this cluster's flags, as an administrator."""
        done = subprocess.run([self.trimtab_exe, *words, "--cloud-provider=local", f"--cloud-config={self.config}",
                               f"--kubeconfig={self.sim.kubeconfig}"], capture_output=True, text=True, env=self.environment(), check=False)
        return done.returncode, done.stdout + done.stderr

    def start_fails(self, *before):
        """The message of trimtab when it cannot start; `before` is a command that starts it."""
        done = subprocess.run([*before, self.trimtab_exe, *self.flags(), f"--kubeconfig={self.kubeconfig}"], capture_output=True,
                              text=True, env=self.environment(), timeout=controller_world.LIMIT_S, check=False)
        assert done.returncode == 1, done
        return done.stderr


def ports_of(ports):
    """Of (port, node port), or (port, node port, protocol)."""
    return [{"name": f"p{port}", "port": port, "nodePort": node_port, "protocol": (*protocol, "TCP")[0]} for port, node_port, *protocol in ports]


# --- tests on one world ------------------------------------------------------------------------------------

@contextlib.contextmanager
def configured(c, text):
    """trimtab is not there, and would start with this configuration; afterwards it runs with its own again."""
    config, c.config = c.config, os.path.join(c.folder, "other.yaml")
    with open(c.config, "w", encoding="utf-8") as f:
        f.write("apiVersion: local.trimtab.io/v1\nreuseDelay: 0s\n" + text)
    if c.trimtab.poll() is None:
        c.stop()
    try:
        yield
    finally:
        if c.trimtab.poll() is None:
            c.stop()
        c.config = config
        c.start()


def events(c, name):
    return [(e["reason"], e["message"]) for e in c.must("GET", "/api/v1/namespaces/demo/events")["items"] if e["involvedObject"]["name"] == name]


def tidy(test):
    """The test, and after a failed one its Services go."""
    @functools.wraps(test)
    def run(c):
        try:
            test(c)
        except BaseException:
            c.remove(*[s["metadata"]["name"] for s in c.must("GET", "/api/v1/namespaces/demo/services")["items"]])
            raise
    return run


# --- judges ---------------------------------------------------------------------------------------------------

def curl(address, port=80, times=1, source=None):
    """{node: how many of the connections it has answered}; "refused" counts, too."""
    url = f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"
    done = subprocess.run(["ip", "netns", "exec", "client", "curl", "-gsS", "--max-time", str(world.LIMIT_S),
                           *(["--interface", source] if source else []), *[url] * times], capture_output=True, text=True, check=False)
    said = collections.Counter(line.split()[0] for line in done.stdout.splitlines())
    for line in done.stderr.splitlines():
        said["refused" if "Failed to connect" in line or "refused" in line else line] += 1
    return dict(said)


def elements():
    """{name of set or map: elements} of our table, empty ones left out; {} without a table."""
    found = {}
    for item in ruleset():
        for kind in ("set", "map"):
            if kind in item and item[kind]["table"] == "trimtab" and item[kind].get("elem"):
                found[item[kind]["name"]] = item[kind]["elem"]
    return found


def ruleset():
    return json.loads(world.command("nft", "-j", "list", "ruleset"))["nftables"]


def held():
    """Addresses that are local by routes of ours."""
    return sorted(r["dst"] for r in json.loads(world.command("ip", "-j", "route", "show", "table", "local", "proto", "116") or "[]"))


def generation():
    """The number of transactions that nf_tables has seen in this namespace."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as s:
        s.send(struct.pack("=IHHIIBBH", 20, NFNL_GETGEN, 1, 1, 0, 0, 0, 0))
        said = s.recv(4096)
    length, kind = struct.unpack_from("=HH", said, 20)
    assert (length, kind) == (8, NFNL_GEN_ID), said
    return struct.unpack_from(">I", said, 24)[0]


class RouteWrites:
    """Counts changes of routes of ours and of addresses since it was made; what the kernel does for its link-local ones is none."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self.socket.bind((0, RTMGRP))
        self.socket.setblocking(False)

    def count(self):
        n = 0
        while True:
            try:
                n += sum(map(self.counts, messages(self.socket.recv(65536))))
            except BlockingIOError:
                return n

    @staticmethod
    def counts(message):
        """Of `struct rtmsg` the protocol is byte 5, of `struct ifaddrmsg` the scope is byte 3."""
        [kind] = struct.unpack_from("=H", message, 4)
        return message[16 + 5] == 116 if kind in (RTM_NEWROUTE, RTM_DELROUTE) else message[16 + 3] != RT_SCOPE_LINK


def messages(said):
    while said:
        [length] = struct.unpack_from("=I", said)
        yield said[:length]
        said = said[(length + 3) & ~3:]


def outside():
    """All of the kernel's tables, routes, addresses and forwarding that is not ours."""
    def foreign(item):
        [(kind, body)] = item.items()
        return kind != "metainfo" and (body.get("name") if kind == "table" else body.get("table")) != "trimtab"
    routes = [r for v in ("-4", "-6") for r in json.loads(world.command("ip", v, "-j", "route", "show", "table", "all") or "[]")
              if r.get("protocol") != "116" and not r["dst"].startswith("fe80:")]  # those come with time
    addresses = [(link["ifname"], a["local"], a["prefixlen"]) for link in json.loads(world.command("ip", "-j", "addr"))
                 for a in link["addr_info"] if a.get("protocol") != "116" and a["scope"] != "link"]
    forwarding = []
    for name in ("ipv4/ip_forward", "ipv6/conf/all/forwarding", "ipv4/conf/all/arp_ignore"):
        with open("/proc/sys/net/" + name, encoding="ascii") as f:
            forwarding.append(f.read())
    return [i for i in ruleset() if foreign(i)], routes, addresses, forwarding
