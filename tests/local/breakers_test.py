#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that can be wrong around the provider local (§11 of its specification), one row each: the exact sentence, what works stays, and all
is well once the cause is gone.

    breakers_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)
    breakers_test.py --without-netfilter COMMAND…     runs it where a socket of netfilter cannot be made, as on a kernel without nf_tables

demo/web is served all the time: after each row's break its client is answered, and its elements and routes are as before.
"""
import contextlib
import errno
import os
import platform
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import confine  # noqa: E402  pylint: disable=wrong-import-position
import product  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from product import configured, events  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_BREAKERS_TEST"
AF_NETLINK, NETLINK_NETFILTER = 16, 12
FIRST = "192.0.2.48"
POOL = "pools:\n- {name: public, addresses: [192.0.2.48/29]}\n"
NO_IPVS = ("not allowed to change IPVS: CAP_NET_ADMIN in the initial user namespace is needed" if os.path.exists("/proc/net/ip_vs")
           else "this kernel has no IPVS (module ip_vs); mode nft works without")
PLAIN = ("setpriv", "--bounding-set=-net_admin,-net_raw", "--inh-caps=-all")
NO_RAW = ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-all")
NO_NETFILTER = (sys.executable, os.path.abspath(__file__), "--without-netfilter")


# --- what stops a start -------------------------------------------------------------------------------------------

@contextlib.contextmanager
def nothing(_c):
    yield


@contextlib.contextmanager
def foreign_table(_c):
    world.command("nft", "add", "table", "inet", "keep")
    yield
    assert "inet keep" in world.command("nft", "list", "tables")
    world.command("nft", "delete", "table", "inet", "keep")


# (what is wrong, the configuration or None, what surrounds the start, a command that starts trimtab, its words)
STARTS = [
    ("no capability", POOL, nothing, PLAIN, "not allowed to change nftables: CAP_NET_ADMIN is needed"),
    ("a kernel without nf_tables", POOL, nothing, NO_NETFILTER, "this kernel has no nf_tables (module nf_tables)"),
    ("a pool of IPVS, and no IPVS", "pools:\n- {name: public, addresses: [192.0.2.48/29], mode: ipvs-dr}\n", nothing, (), NO_IPVS),
    ("a table of others", "instance: keep\n" + POOL, foreign_table, (), "table inet keep exists and is not ours; choose another instance"),
    ("pools that overlap", "pools:\n- {name: a, addresses: [192.0.2.48/29]}\n- {name: b, addresses: [192.0.2.52-192.0.2.60]}\n", nothing, (),
     'pools "a" and "b" both have 192.0.2.52'),
    ("a pool with an address of this machine", "pools:\n- name: public\n  addresses: [192.0.2.0/26]\n", nothing, (),
     'pool "public" contains 192.0.2.1, which this machine has on eth0'),
    ("no pools", "pools: []\n", nothing, (), "no pools: nothing could be handed out"),
    ("two directors that would both answer", "role: director\ndirector: {redundancy: ecmp}\n" + POOL, nothing, (),
     "two machines would answer ARP for one address"),
]


def kept(_c):
    return product.elements(), product.held()


def starts_again(c):
    c.start()
    c.until("a first sync", lambda: c.logged("Synced", "demo/web"))
    c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)


def test_start__that_cannot_be__says_why_and_takes_nothing_down(c):
    before, wrong = kept(c), []
    for what, config, around, command, sentence in STARTS:
        with configured(c, config), around(c):
            said = c.start_fails(*command)
        if sentence not in said:
            wrong.append(f"{what}: {said[-400:]}")
        if world.tcp(FIRST, 80)[0] not in world.NODES or kept(c) != before:
            wrong.append(f"{what}: demo/web is not as it was")
        c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)  # configured() has started it with its own again
    assert not wrong, "\n".join(wrong)


# --- what goes wrong while it runs ---------------------------------------------------------------------------------

@contextlib.contextmanager
def forwards_nothing(_c):
    world.sysctl("ipv4/ip_forward", 0)
    yield
    world.sysctl("ipv4/ip_forward", 1)


@contextlib.contextmanager
def route_of_others(_c):
    world.command("ip", "route", "add", "local", "192.0.2.50/32", "dev", "lo", "table", "local", "proto", "99")
    yield
    world.command("ip", "route", "del", "local", "192.0.2.50/32", "table", "local", "proto", "99")


@contextlib.contextmanager
def neighbour(_c):
    world.inside("client", "ip", "addr", "add", "192.0.2.51/32", "dev", "eth0")
    yield
    world.inside("client", "ip", "addr", "del", "192.0.2.51/32", "dev", "eth0")


# (what is wrong, annotations below local.trimtab.io/ of a new Service, what surrounds it, words of an event of it, whether it is served
# by itself once the cause is gone)
SERVICES = [
    ("forwarding is off", {}, forwards_nothing, "net.ipv4.ip_forward is 0: this machine forwards nothing (sysctl -w net.ipv4.ip_forward=1)", True),
    ("mode of IPVS, and no IPVS", {"mode": "ipvs-dr"}, nothing, NO_IPVS, False),
    ("a scheduler that the mode lacks", {"scheduler": "lc"}, nothing, "scheduler lc needs an ipvs mode; nft has rr, wrr, sh and mh", False),
    ("a route of others", {"addresses": "192.0.2.50"}, route_of_others, "192.0.2.50: another program has a route for it", True),
    ("an address of a neighbour", {"addresses": "192.0.2.51"}, neighbour, "192.0.2.51 answers from ", False),
    ("an address of another Service", {"addresses": FIRST}, nothing, f"{FIRST} is demo/web's, which does not share", False),
    ("an address in no pool", {"addresses": "10.9.9.9"}, nothing, "10.9.9.9 is in no pool", False),
    ("targets that the director does not reach", {"targets": "pod"}, nothing, "targets pod: the director does not reach pods (director.podsRoutable)",
     False),
    ("no such interface", {"interfaces": "ens*"}, nothing, "no interface of this machine that annotation local.trimtab.io/interfaces names", False),
]


def test_service__that_cannot_be_served__is_told_and_others_stay(c):
    before, wrong = kept(c), []
    for i, (what, wishes, around, sentence, recovers) in enumerate(SERVICES):
        name = f"s{i}"
        with around(c):
            c.post(name, {f"local.trimtab.io/{k}": v for k, v in wishes.items()}, ports=((8080, 30180 + i),))
            c.until(what, lambda name=name, sentence=sentence: [m for _, m in events(c, name) if sentence in m])
            if what != "forwarding is off" and world.tcp(FIRST, 80)[0] not in world.NODES:
                wrong.append(f"{what}: demo/web is not served")
        if recovers:
            c.addresses(name)
        c.remove(name)
        if kept(c) != before:
            wrong.append(f"{what}: demo/web is not as it was: {kept(c)}")
    assert not wrong, "\n".join(wrong)


def test_packets_of_arp__not_allowed__told_while_all_else_works(c):
    """CAP_NET_ADMIN alone: an address is held, and the kernel answers for it; nobody hears of it unasked."""
    c.stop()
    exe, c.trimtab_exe = c.trimtab_exe, os.path.join(c.folder, "trimtab")
    with open(c.trimtab_exe, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {' '.join(NO_RAW)} {exe} \"$@\"\n")
    os.chmod(c.trimtab_exe, 0o755)
    try:
        c.start()
        c.serve("second", ports=((8080, 30190),))
        c.until("it is told", lambda: "not allowed to send ARP: CAP_NET_RAW is needed" in c.log())
        assert world.tcp(FIRST, 80)[0] in world.NODES
        c.stop()
    finally:
        c.trimtab_exe = exe
    starts_again(c)
    c.remove("second")


def test_table__taken_by_others__told_and_made_again(c):
    before = kept(c)
    world.command("nft", "delete", "table", "inet", "trimtab")
    c.until("it is told", lambda: [m for r, m in events(c, "web") if r == "LoadBalancerDrift" and "table inet trimtab is missing" in m])
    c.until("all is as before", lambda: kept(c) == before)
    assert world.tcp(FIRST, 80)[0] in world.NODES


def test_interface__removed__the_address_stays_and_is_told(c):
    """The link goes for good, as a card that is pulled."""
    world.namespace("aside", "lan1", ["198.51.100.10/24"], [])
    world.command("ip", "addr", "add", "198.51.100.1/24", "dev", "lan1")
    with configured(c, POOL + "- {name: aside, addresses: [198.51.100.48/29], autoAssign: false}\n"):
        c.start()
        [address] = c.serve("aside", {"local.trimtab.io/pool": "aside"}, ports=((8080, 30191),))
        c.until("it is held", lambda: address in product.held())
        c.until("nothing to do", lambda: c.run_command("plan")[0] == 0)
        world.command("ip", "link", "del", "lan1")
        c.until("it is told", lambda: [m for r, m in events(c, "aside") if r in ("InterfaceDown", "NotAnnounced") and address in m])
        assert address in product.held() and world.tcp(FIRST, 80)[0] in world.NODES
        c.remove("aside")


def without_netfilter(command):
    """From here on socket(AF_NETLINK, …, NETLINK_NETFILTER) fails as it does without the module."""
    step, call = confine.step, confine.numbers()["socket"]
    arch, _ = confine.MACHINES[platform.machine()]
    refuse = confine.ERRNO | errno.EPROTONOSUPPORT
    steps = [step(confine.LOAD, confine.ARCH), step(confine.EQUAL, arch, 0, 6), step(confine.LOAD, confine.NUMBER), step(confine.EQUAL, call, 0, 4),
             step(confine.LOAD, confine.ARGS), step(confine.EQUAL, AF_NETLINK, 0, 2), step(confine.LOAD, confine.ARGS + 16),
             step(confine.EQUAL, NETLINK_NETFILTER, 1, 0), step(confine.RETURN, confine.ALLOW), step(confine.RETURN, refuse)]
    confine.confiner(b"".join(steps))()
    os.execvp(command[0], command)


def main():
    if sys.argv[1] == "--without-netfilter":
        return without_netfilter(sys.argv[2:])
    programs, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "setpriv"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    world.Servers()
    with tempfile.TemporaryDirectory() as folder, product.Cluster(programs, folder) as cluster:
        cluster.start()
        cluster.serve("web")
        cluster.until("nothing to do", lambda: cluster.run_command("plan")[0] == 0)
        return tap.run(tap.tests_of(globals(), chosen), cluster)


if __name__ == "__main__":
    sys.exit(main())
