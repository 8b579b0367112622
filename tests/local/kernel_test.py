#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""providers/local/kernel on a real kernel: nft, ip and conntrack judge what it has written, and packets go through it.

    kernel_test.py KERNEL_TOOL [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

The tests run one after the other on one world (world.py), each with a table of its own.
"""
import collections
import functools
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from world import Refused, command, inside, tcp, udp  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_KERNEL_TEST"
HERE = os.path.dirname(os.path.abspath(__file__))
VIP, VIP6 = "192.0.2.50", "2001:db8:2::50"
N1, N2, N3 = (world.node_address(n) for n in world.NODES)


def table(**how):
    """A test with a table of its own that is gone afterwards."""
    def wrap(test):
        @functools.wraps(test)
        def run(tool):
            tool("make drop" if how.get("drop") else "make")
            try:
                test(tool)
            finally:
                tool("remove")
                tool(f"let-go {VIP} {VIP6}")
                command("ip", "addr", "flush", "dev", "eth0", "to", f"{VIP6}/128")
        return run
    return wrap


def nft(*words):
    return json.loads(command("nft", "-j", *words))["nftables"]


def elements(name, kind="set"):
    [found] = [x[kind] for x in nft("list", kind, "inet", "trimtab", name) if kind in x]
    return found.get("elem", [])


def serve(tool, where, port, targets, kind="rr", m=4, snat=False, ranges=("0.0.0.0/0",)):
    """Opens a frontend with these targets (address, port); the VIP is held."""
    protocol = "udp" if port == 53 else "tcp"
    front = f"{where} {protocol} {port}"
    tool.change(f"+ vip {where} demo/web", f"+ slots {front} {kind} {m} " + " ".join(f"{a} {p}" for a, p in targets),
                *[f"+ open {front} {r}" for r in ranges], *([f"+ snat {front}"] if snat else []))
    if ":" in where:
        tool(f"addr eth0 {where} -1")
    else:
        tool(f"hold {where}")
    return front


def expect(got, wanted):
    assert got == wanted, f"{got}, not {wanted}"


def refused(code, do, *words):
    try:
        do(*words)
    except Refused as why:
        expect(why.code, code)
        return str(why)
    raise AssertionError(f"done, not {code}: {words}")


def await_true(what, true):
    """Asks until it is true; only a broken test waits for the limit."""
    until = time.monotonic() + world.LIMIT_S
    while not true():
        assert time.monotonic() < until, f"never: {what}"


# --- the table ------------------------------------------------------------------------------------------------

def printed_of_text(text):
    """The output of nft for a text that it has loaded, in a namespace of its own."""
    done = subprocess.run(["unshare", "-n", "sh", "-c", "nft -f - && nft list table inet trimtab"], input=text, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted_parts(done.stdout)


def sorted_parts(text):
    """Sets and chains of a printed table, sorted; the order of sets is of no meaning."""
    return sorted(re.sub(r"\s+", " ", part).strip() for part in re.split(r"\n\s*\n|(?<=\d\")\n", text.strip().rstrip("}")))


def layout(drop):
    with open(os.path.join(HERE, "layout.nft"), encoding="utf-8") as f:
        text = f.read()
    if drop:
        text, n = re.subn(r" *meta l4proto tcp reject.*\n.*icmpx port-unreachable\n", "    drop\n", text)
        expect(n, 1)
    return text


def test_table__made__is_what_nft_makes_of_the_text(tool):
    for drop in (False, True):
        tool("make drop" if drop else "make")
        ours = sorted_parts(command("nft", "list", "table", "inet", "trimtab"))
        expect(tool("look"), ["exists=1 ours=1 layout=3"])
        tool("remove")
        wanted = printed_of_text(layout(drop))
        assert ours == wanted, "\n".join(f"{a}\n{b}" for a, b in zip(ours, wanted) if a != b) or f"{len(ours)} parts, not {len(wanted)}"
    expect(tool("look"), ["exists=0 ours=0 layout=0"])
    expect(command("nft", "list", "ruleset"), "")


# Rules that others have changed in one value.
REPLACED = (("tt_snat", "masquerade", "meta mark & 0x00001000 != 0 masquerade fully-random"),
            ("tt_guard", "!= @vip4", "ip daddr != 192.0.2.0/24 return"),
            ("tt_guard", "with tcp reset", "meta l4proto udp reject with icmpx admin-prohibited"),
            ("tt_guard", "@snat4", "ip daddr . meta l4proto . th dport @snat4 meta mark set meta mark | 0x00004000"))


def replaced(chain, text, rule):
    """The command that puts a rule in place of the first one of the chain that nft prints with this text."""
    lines = command("nft", "-a", "list", "chain", "inet", "trimtab", chain).splitlines()
    handle = next(line.rsplit(" ", 1)[1] for line in lines if text in line)
    return f"replace rule inet trimtab {chain} handle {handle} {rule}"


def test_table__of_another_configuration__is_seen_and_made_anew(tool):
    tool("make")
    for how in ("mark 4096", "mark 4096 drop", "mark 2147483648 drop", ""):
        expect(tool(f"check {how}"), ["whole=0"])
        tool(f"remake {how}")
        expect(tool(f"check {how}"), ["whole=1"])
    tool("remove")


def test_routes__of_other_numbers__become_ours(tool):
    tool("make routes 117 118")
    expect(tool("check"), ["whole=0", "routes 117 118"])
    for where in (VIP, VIP6):
        command("ip", "route", "add", "local", where, "dev", "lo", "table", "local", "proto", "117")
        command("ip", "route", "add", "blackhole", where, "table", "118", "proto", "117")
    tool("adopt 117 118")
    ours = [f"{kind} {where}" for kind in ("hold", "export") for where in (VIP, VIP6)]
    expect(sorted(tool("routes")), sorted(ours))
    for family, where in (("-4", VIP), ("-6", VIP6)):
        expect([r["dst"] for r in json.loads(command("ip", "-j", family, "route", "show", "table", "local", "proto", "116"))], [where])
        expect([r["dst"] for r in json.loads(command("ip", "-j", family, "route", "show", "table", "116", "proto", "116"))], [where])
        expect(command("ip", family, "route", "show", "table", "all", "proto", "117"), "")
    tool("adopt 117 118")
    expect(sorted(tool("routes")), sorted(ours))
    tool("remake")
    expect(tool("check"), ["whole=1"])
    tool(f"let-go {VIP} {VIP6}")
    tool(f"withdraw {VIP} {VIP6}")
    tool("remove")
    expect(tool("routes"), [])


def test_table__rules_of_others__are_seen_and_made_again_with_all_elements(tool):
    elements = [f"+ vip {VIP} a/b", f"+ open {VIP} tcp 80 0.0.0.0/0", f"+ slot {VIP} tcp 80 rr 4 0 10.1.0.1 30080", "+ scope 192.0.2.0/24"]
    tool("make")
    tool.change(*elements)
    expect(tool("check"), ["whole=1"])
    before, listed = sorted_parts(command("nft", "list", "table", "inet", "trimtab")), tool("list")
    for others in ("flush table inet trimtab", "insert rule inet trimtab tt_guard tcp dport 80 drop", "flush chain inet trimtab tt_snat",
                   "add chain inet trimtab x { type filter hook input priority 0; }; add rule inet trimtab x accept",
                   "add chain inet trimtab x { type filter hook input priority 0; policy drop; }", "add chain inet trimtab y",
                   "chain inet trimtab tt_guard { policy drop; }", "add set inet trimtab z { type inet_service; }",
                   *REPLACED):
        command("nft", others if isinstance(others, str) else replaced(*others))
        expect(tool("check"), ["whole=0"])
        for line in elements:
            tool(line)
        tool("remake")
        expect((tool("check"), sorted_parts(command("nft", "list", "table", "inet", "trimtab")), tool("list")), (["whole=1"], before, listed))
    tool("remove")


def make_layout(number):
    with open(os.path.join(HERE, f"layout{number}.nft"), encoding="utf-8") as f:
        subprocess.run(["nft", "-f", "-"], input=f.read(), text=True, check=True)


def becomes_ours(tool, layout):
    """Connections to two ports while a table of another layout becomes that of now."""
    tool(f"hold {VIP}")
    expect((tool("look"), tool("check")[:1]), ([f"exists=1 ours=1 layout={layout}"], ["whole=0"]))
    listed = tool("list")
    expect([x for x in listed if x.startswith("open")], [f"open {VIP} tcp 80 0.0.0.0/0", f"open {VIP} tcp 81 {world.CLIENT}/32",
                                                         f"open {VIP} tcp 81 198.51.100.0/24", f"open {VIP6} udp 53 ::/0"])
    clients = [world.Clients(VIP, port) for port in (80, 81)]
    await_true("connections", lambda: all(c.done > 20 for c in clients))
    for line in listed:
        tool("+ " + line.removesuffix(" -"))
    tool("remake")
    seen, done = [], [c.done for c in clients]
    await_true("more of them", lambda: all(c.done > n + 20 for c, n in zip(clients, done)))
    seen = [set(c.stop()) for c in clients]
    expect((seen, tool("check")[:1], tool("list")), ([{"n1"}, {"n1"}], ["whole=1"], listed))
    expect({s["set"]["name"] for s in nft("list", "sets") if "set" in s and s["set"]["name"].startswith("open")}, set())
    expect([tcp(VIP, port, source=world.CLIENT_TOO)[0] for port in (80, 81)], ["n1", "r"])
    tool("remove")
    tool(f"let-go {VIP}")


def test_table__of_layout_2__becomes_ours_without_a_lost_connection(tool):
    make_layout(2)
    tool.change(f"+ vip {VIP} demo/web", f"+ slots {VIP} tcp 80 rr 4 {N1} 30080", f"+ slots {VIP} tcp 81 rr 4 {N1} 30080", f"+ vip {VIP6}",
                f"+ snat {VIP} tcp 80", f"+ snat {VIP} tcp 81", f"+ open {VIP} tcp 80 0.0.0.0/0", f"+ open {VIP} tcp 81 {world.CLIENT}/32",
                f"+ open {VIP} tcp 81 198.51.100.0/24", f"+ open {VIP6} udp 53 ::/0")
    becomes_ours(tool, 2)


def test_table__of_layout_1__becomes_ours_without_a_lost_connection(tool):
    make_layout(1)
    slots = ", ".join(f"{VIP} . tcp . {port} . {i} : {N1} . 30080" for port in (80, 81) for i in range(4))
    everybody = "0.0.0.0-255.255.255.255"
    for name, items in (("vip4", f'{VIP} comment "demo/web"'), ("f4_rr_4", slots), ("snat4", f"{VIP} . tcp . 80, {VIP} . tcp . 81"),
                        ("open4", f"{VIP} . tcp . 80 . {everybody}, {VIP} . tcp . 81 . {world.CLIENT}, {VIP} . tcp . 81 . 198.51.100.0/24"),
                        ("vip6", VIP6), ("open6", f"{VIP6} . udp . 53 . ::/0")):
        command("nft", f"add element inet trimtab {name} {{ {items} }}")
    becomes_ours(tool, 1)


def test_table__of_others__is_refused_and_seen(tool):
    command("nft", "add table inet trimtab { comment \"mine\"; }")
    expect(tool("look"), ["exists=1 ours=0 layout=0"])
    refused("conflict", tool, "make")
    command("nft", "delete", "table", "inet", "trimtab")
    tool("remove")


# --- elements -------------------------------------------------------------------------------------------------

@table()
def test_elements__added__are_what_nft_lists(tool):
    tool.change("+ scope 10.0.0.0/29", "+ scope 10.0.0.8/30", "+ scope 2001:db8::/64", f"+ vip {VIP} demo/web", f"+ vip {VIP6}",
                f"+ open {VIP} tcp 80 192.0.2.0/24", f"+ open {VIP} tcp 80 198.51.100.7/32", f"+ open {VIP6} udp 53 ::/0",
                f"+ snat {VIP} tcp 80", f"+ slot {VIP} tcp 80 hash 16 9 10.1.0.1 30080", f"+ slot {VIP6} udp 53 rr 256 255 fd00:1::1 30053")
    expect(sorted(json.dumps(e) for e in elements("scope4")), [json.dumps({"prefix": {"addr": "10.0.0.0", "len": 29}}),
                                                                json.dumps({"prefix": {"addr": "10.0.0.8", "len": 30}})])
    expect(elements("vip4"), [{"elem": {"val": VIP, "comment": "demo/web"}}])
    expect(elements("vip6"), [VIP6])
    expect(elements("all6"), [{"concat": [VIP6, "udp", 53]}])
    expect(sorted(json.dumps(e) for e in elements("from4")),
           sorted(json.dumps({"concat": [VIP, "tcp", 80, last]}) for last in ({"prefix": {"addr": "192.0.2.0", "len": 24}}, "198.51.100.7")))
    expect(elements("snat4"), [{"concat": [VIP, "tcp", 80]}])
    expect(elements("f4_hash_16", "map"), [[{"concat": [VIP, "tcp", 80, 9]}, {"concat": ["10.1.0.1", 30080]}]])
    expect(elements("f6_rr_256", "map"), [[{"concat": [VIP6, "udp", 53, 255]}, {"concat": ["fd00:1::1", 30053]}]])
    expect(len(tool("list")), 11)
    expect(tool(f"read {VIP} tcp 80"), [f"open {VIP} tcp 80 192.0.2.0/24", f"open {VIP} tcp 80 198.51.100.7/32", f"snat {VIP} tcp 80 ",
                                         f"vip {VIP} demo/web"])


@table()
def test_elements__stale_changes__conflict_and_undo_all(tool):
    tool.change(f"+ vip {VIP} a/b", f"+ slot {VIP} tcp 80 rr 4 0 10.1.0.1 80", f"+ open {VIP} tcp 80 10.0.0.0/8")
    before = tool("list")
    said = refused("conflict", tool.change, f"+ vip 192.0.2.51 a/c", f"+ slot {VIP} tcp 80 rr 4 0 10.1.0.2 80")
    assert f"{VIP}:80/tcp" in said and "192.0.2.51" not in said, said
    said = refused("conflict", tool.change, f"- vip {VIP}", "- slot 192.0.2.52 udp 53 rr 4 1 10.1.0.2 80", f"+ vip 192.0.2.51")
    assert "192.0.2.52:53/udp" in said, said
    refused("conflict", tool.change, f"+ open {VIP} tcp 80 10.1.0.0/16")  # inside another range
    expect(tool("list"), before)
    tool.change(f"+ vip {VIP} a/b", f"+ slot {VIP} tcp 80 rr 4 0 10.1.0.1 80")  # there, with the same value
    expect(tool("list"), before)
    tool.change(f"+ open {VIP} tcp 80 10.1.0.0/16", f"- open {VIP} tcp 80 10.0.0.0/8")  # away first, whatever the order
    expect(tool(f"read {VIP} tcp 80"), [f"open {VIP} tcp 80 10.1.0.0/16", f"slot {VIP} tcp 80 rr 4 0 10.1.0.1 80", f"vip {VIP} a/b"])
    refused("conflict", tool.change, f"- open {VIP} tcp 80 0.0.0.0/0")
    tool.change(f"+ open {VIP} tcp 80 0.0.0.0/0", f"- open {VIP} tcp 80 10.1.0.0/16")
    refused("conflict", tool.change, f"- open {VIP} tcp 80 10.1.0.0/16")


@table()
def test_elements__slot_missing_in_the_kernel__others_are_read(tool):
    tool.change(f"+ vip {VIP}", f"+ slots {VIP} tcp 80 rr 256 {N1} 80 {N2} 80")
    command("nft", "delete element inet trimtab f4_rr_256 { %s . tcp . 80 . 7 }" % VIP)
    found = tool(f"read {VIP} tcp 80")
    expect(len(found), 256)
    assert not [x for x in found if " 256 7 " in x]


@table()
def test_elements__ranges_of_one_frontend__are_copied_and_never_stale(tool):
    def requests():
        return int(tool("requests nft")[0])

    def read():
        before = requests()
        found = [x.split()[-1] for x in tool(f"read {VIP} tcp 80") if x.startswith("open")]
        return found, requests() - before
    tool.change(f"+ vip {VIP}", f"+ open {VIP} tcp 80 10.0.0.0/8", f"+ open {VIP} tcp 81 10.0.0.0/8", f"+ slots {VIP} tcp 80 rr 4 {N1} 80")
    first, second = read(), read()
    expect(first[0], ["10.0.0.0/8"])
    expect((second[0], second[1] < first[1]), (["10.0.0.0/8"], True))
    tool.change(f"- open {VIP} tcp 80 10.0.0.0/8", f"+ open {VIP} tcp 80 172.16.0.0/12", f"+ open {VIP} tcp 80 192.0.2.0/24")
    expect(read(), (["172.16.0.0/12", "192.0.2.0/24"], second[1]))  # our own change costs nothing
    command("nft", "add element inet trimtab from4 { %s . tcp . 80 . 198.51.100.0/24 }" % VIP)
    expect(read(), (["172.16.0.0/12", "192.0.2.0/24", "198.51.100.0/24"], first[1]))  # that of others does
    refused("conflict", tool.change, f"- open {VIP} tcp 80 10.0.0.0/8")
    expect(read(), (["172.16.0.0/12", "192.0.2.0/24", "198.51.100.0/24"], first[1]))
    tool.change(f"- vip {VIP}", *[f"- open {VIP} tcp 80 {r}" for r in ("172.16.0.0/12", "192.0.2.0/24", "198.51.100.0/24")])
    expect(read()[0], [])


@table()
def test_elements__everybody_among_the_ranges__is_no_other_element(tool):
    tool.change(f"+ vip {VIP}", f"+ from {VIP} tcp 80 0.0.0.0/0")  # as others may write it
    expect(tool(f"read {VIP} tcp 80"), [f"from {VIP} tcp 80 0.0.0.0/0", f"vip {VIP} -"])
    tool.change(f"+ open {VIP} tcp 80 0.0.0.0/0")
    expect(tool("list"), [f"from {VIP} tcp 80 0.0.0.0/0", f"open {VIP} tcp 80 0.0.0.0/0", f"vip {VIP} -"])
    tool.change(f"- from {VIP} tcp 80 0.0.0.0/0")
    expect(tool("list"), [f"open {VIP} tcp 80 0.0.0.0/0", f"vip {VIP} -"])


def test_elements__set_of_others_with_a_size__full_is_said_and_nothing_is_taken_away(tool):
    with open(os.path.join(HERE, "layout.nft"), encoding="utf-8") as f:
        text = f.read().replace("set all4 { typeof ip daddr . meta l4proto . th dport; }", "set all4 { typeof ip daddr . meta l4proto . th dport; size 2; }")
    assert "size 2" in text
    subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True)
    tool.change(f"+ vip {VIP}", f"+ open {VIP} tcp 80 0.0.0.0/0", f"+ open {VIP} tcp 81 0.0.0.0/0")
    before = tool("list")
    said = refused("invalid", tool.change, f"+ vip 192.0.2.51", f"+ open {VIP} tcp 82 0.0.0.0/0")
    assert said.startswith(f"invalid: nft set full: no room for {VIP}:82/tcp (Too many open files in system); others made the set with a size"), said
    expect(tool("list"), before)
    tool.change(f"- open {VIP} tcp 80 0.0.0.0/0")
    tool.change(f"+ open {VIP} tcp 82 0.0.0.0/0")
    tool("remove")


@table()
def test_elements__ranges_that_stand_in__may_overlap_those_of_the_other_set(tool):
    tool.change(f"+ vip {VIP}", f"+ open {VIP} tcp 80 10.0.0.0/8", f"+ also {VIP} tcp 80 10.1.0.0/16")
    expect(tool(f"read {VIP} tcp 80"), [f"also {VIP} tcp 80 10.1.0.0/16", f"open {VIP} tcp 80 10.0.0.0/8", f"vip {VIP} -"])
    expect(len(elements("also4")), 1)
    refused("conflict", tool.change, f"+ also {VIP} tcp 80 10.1.2.0/24")
    tool.change(f"- open {VIP} tcp 80 10.0.0.0/8", f"+ open {VIP} tcp 80 10.1.0.0/16")
    tool.change(f"- also {VIP} tcp 80 10.1.0.0/16")
    refused("conflict", tool.change, f"- also {VIP} tcp 80 10.1.0.0/16")
    expect(tool("list"), [f"open {VIP} tcp 80 10.1.0.0/16", f"vip {VIP} -"])


# --- packets --------------------------------------------------------------------------------------------------

@table()
def test_guard__range_that_stands_in__lets_its_clients_in_and_no_other(tool):
    tool.change(f"+ vip {VIP}", f"+ slots {VIP} tcp 80 rr 4 {N1} 30080", f"+ snat {VIP} tcp 80", f"+ also {VIP} tcp 80 {world.CLIENT}/32")
    tool(f"hold {VIP}")
    try:
        expect((tcp(VIP, 80)[0], tcp(VIP, 80, source=world.CLIENT_TOO)), ("n1", "refused"))
    finally:
        tool(f"let-go {VIP}")


def test_guard__port_of_the_director__is_reached_without_and_reset_with_it(tool):
    tool(f"hold {VIP}")
    expect(tcp(VIP, 22), ["director", world.CLIENT])  # a daemon on 0.0.0.0 answers for every address of the machine
    tool("make")
    try:
        tool.change(f"+ vip {VIP} demo/web")
        expect(tcp(VIP, 22), "refused")
        expect(tcp(VIP, 81), "refused")
        expect(udp(VIP, 5353), "refused")
        expect(tcp("192.0.2.1", 22), ["director", world.CLIENT])  # not a VIP
        world.ping(VIP)
    finally:
        tool("remove")
        tool(f"let-go {VIP}")


@table(drop=True)
def test_guard__closed_ports_drop__is_silent(tool):
    serve(tool, VIP, 80, [(N1, 30080)], snat=True)
    expect(tcp(VIP, 81), "silent")
    expect(tcp(VIP, 80)[0], "n1")


@table()
def test_guard__ranges__let_in_only_theirs_for_each_port(tool):
    serve(tool, VIP, 80, [(N1, 30080)], snat=True, ranges=[f"{world.CLIENT}/32"])
    front = f"{VIP} tcp 81"
    tool.change(f"+ slots {front} rr 4 {N2} 30080", f"+ snat {front}", f"+ open {front} {world.CLIENT_TOO}/32")
    expect([tcp(VIP, p, source=s) for p in (80, 81) for s in (world.CLIENT, world.CLIENT_TOO)],
           [["n1", "10.1.0.254"], "refused", "refused", ["n2", "10.1.0.254"]])
    open_one = world.Connection(VIP, 80)
    expect(open_one.ask()[0], "n1")
    tool.change(f"- open {VIP} tcp 80 {world.CLIENT}/32", f"+ open {VIP} tcp 80 {world.CLIENT_TOO}/32")
    try:
        open_one.ask()
        raise AssertionError("an open connection goes on though its range is closed")
    except ConnectionResetError:
        pass
    finally:
        open_one.close()
    tool.change(f"+ open {VIP} tcp 80 0.0.0.0/0", f"- open {VIP} tcp 80 {world.CLIENT_TOO}/32")
    expect([tcp(VIP, 80, source=s)[0] for s in (world.CLIENT, world.CLIENT_TOO)], ["n1", "n1"])
    tool.change(f"- open {VIP} tcp 80 0.0.0.0/0")  # as a Service with ranges of the other family only, or without targets
    expect(tcp(VIP, 80), "refused")


def shares(count, where=VIP, **how):
    return collections.Counter(tcp(where, 80, **how)[0] for _ in range(count))


@table()
def test_slots__rr__share_exactly(tool):
    serve(tool, VIP, 80, [(N1, 30080), (N2, 30080)], snat=True)
    expect(shares(40), {"n1": 20, "n2": 20})
    tool.change(f"- slots {VIP} tcp 80 rr 4 {N1} 30080", f"+ slots {VIP} tcp 80 rr 16 {N1} 30080 {N2} 30080 {N3} 30080")
    expect(shares(48), {"n1": 18, "n2": 15, "n3": 15})


@table()
def test_slots__hash__one_client_one_target(tool):
    serve(tool, VIP, 80, [(N1, 30080), (N2, 30080), (N3, 30080)], kind="hash", m=16, snat=True)
    expect([len(shares(12, source=s)) for s in (world.CLIENT, world.CLIENT_TOO)], [1, 1])
    command("ip", "-n", "client", "-batch", "-", text="".join(f"addr add 192.0.2.{i}/24 dev eth0\n" for i in range(100, 140)))
    everybody = collections.Counter(tcp(VIP, 80, source=f"192.0.2.{i}")[0] for i in range(100, 140))
    expect(sorted(everybody), ["n1", "n2", "n3"])


@table()
def test_snat__element_present_or_not__target_sees_director_or_client(tool):
    front = serve(tool, VIP, 80, [(N1, 30080)], snat=False)
    expect(tcp(VIP, 80), ["n1", world.CLIENT])  # n1's way back leads through the director
    tool.change(f"+ snat {front}")
    expect(tcp(VIP, 80), ["n1", "10.1.0.254"])
    expect(tcp(VIP, 80, name="n1"), ["n1", "10.1.0.254"])  # client and target at once
    expect(tcp(VIP, 80, name=None), ["n1", "10.1.0.254"])  # the director's own client


@table()
def test_udp__is_answered(tool):
    serve(tool, VIP, 53, [(N1, world.UDP_PORT)], snat=True)
    expect(udp(VIP, 53), ["n1", "10.1.0.254"])


@table()
def test_ipv6__packets_ping_and_closed_ports(tool):
    serve(tool, VIP6, 80, [("fd00:1::1", 30080), ("fd00:1::2", 30080)], snat=True, ranges=["::/0"])
    expect(shares(8, VIP6), {"n1": 4, "n2": 4})
    expect(tcp(VIP6, 80)[1], "fd00:1::fe")
    expect(tcp(VIP6, 81), "refused")
    world.ping(VIP6)
    [a] = [a for link in json.loads(command("ip", "-j", "addr", "show", "dev", "eth0")) for a in link["addr_info"] if a.get("local") == VIP6]
    expect((a["prefixlen"], a.get("deprecated"), a["preferred_life_time"], a.get("nodad"), a.get("noprefixroute")), (128, True, 0, True, True))


@table()
def test_open_connection__slots_change__stays(tool):
    serve(tool, VIP, 80, [(N1, 30080)], snat=True)
    command("conntrack", "-F")  # those of earlier tests
    c = world.Connection(VIP, 80)
    expect(c.ask()[0], "n1")
    tool.change(f"- slots {VIP} tcp 80 rr 4 {N1} 30080", f"+ slots {VIP} tcp 80 rr 4 {N2} 30080")
    expect(c.ask()[0], "n1")
    expect(shares(4), {"n2": 4})
    expect(len(tracked(N1)), 1)
    expect(tool(f"end {VIP} tcp 80 {N2} 30081"), ["0"])
    expect(tool(f"end {VIP} tcp 80 {N1} 30080"), ["1"])
    expect(tracked(N1), [])
    assert tracked(N2), "connections of others ended, too"
    c.close()
    over = len(tracked(N2))
    expect(tool(f"end {VIP} tcp 80 {N2} 30080"), ["0"])  # they are over: a client could be at such a port again by now
    expect(len(tracked(N2)), over)
    expect(tool(f"end {VIP} tcp 80 any 0"), [str(over)])


@table()
def test_connections__of_several_frontends_and_both_families__end_in_one_walk(tool):
    serve(tool, VIP, 80, [(N1, 30080)], snat=True)
    serve(tool, VIP, 81, [(N2, 30080)], snat=True)
    serve(tool, VIP6, 80, [(world.node_address("n3", 6), 30080)], snat=True, ranges=("::/0",))
    command("conntrack", "-F")
    opened = [world.Connection(vip, port) for vip, port in ((VIP, 80), (VIP, 81), (VIP6, 80))]
    expect([c.ask()[0] for c in opened], ["n1", "n2", "n3"])
    [before] = tool("requests ct")
    expect(tool(f"end {VIP} tcp 80 {N1} 30080 {VIP6} tcp 80 {world.node_address('n3', 6)} 30080 {VIP} tcp 81 {N1} 30080"), ["2"])
    [after] = tool("requests ct")
    expect(int(after) - int(before), 1 + 2)  # one list, two ends
    expect((tracked(N1), len(tracked(N2))), ([], 1))
    for c in opened:
        c.close()


@table()
def test_connections__of_a_frontend_with_any_target__end_and_no_others(tool):
    serve(tool, VIP, 80, [(N1, 30080)], snat=True)
    serve(tool, VIP, 81, [(N2, 30080)], snat=True)
    command("conntrack", "-F")
    with socket.socket() as own:  # an answer of the machine itself, at the frontend's port
        own.bind((VIP, 82))
        own.listen()
        opened = [world.Connection(VIP, port) for port in (80, 81)]
        expect([c.ask()[0] for c in opened], ["n1", "n2"])
        tool.change(f"- slots {VIP} tcp 80 rr 4 {N1} 30080", f"+ slots {VIP} tcp 80 rr 4 {N2} 30080")
        opened.append(world.Connection(VIP, 80))
        expect(opened[-1].ask()[0], "n2")
        expect((len(tracked(N1)), len(tracked(N2))), (1, 2))
        expect(tool(f"end {VIP} tcp 80 any 0"), ["2"])
        expect((tracked(N1), len(tracked(N2))), ([], 1))
        tool.change(f"+ open {VIP} tcp 82 0.0.0.0/0")
        with world.Connection(VIP, 82).socket:
            expect(tool(f"end {VIP} tcp 82 any 0"), ["0"])
            assert tracked(VIP)
        expect(tool(f"end {VIP} tcp 81 any 0 {VIP} tcp 80 {N1} 30080"), ["1"])  # several: the whole table is walked
    for c in opened:
        c.close()


@table()
def test_swaps_of_all_targets__under_load__lose_no_connection(tool):
    front, targets = serve(tool, VIP, 80, [(N1, 30080)], snat=True), [N1, N2]
    clients = world.Clients(VIP, 80)
    swaps = 0
    while swaps < 300 or clients.done < 300:
        old, new = targets[swaps % 2], targets[(swaps + 1) % 2]
        tool.change(f"- slots {front} rr 4 {old} 30080", f"+ slots {front} rr 4 {new} 30080")
        swaps += 1
    seen = clients.stop()
    print(f"# {swaps} swaps, {clients.done} connections: {dict(seen)}")
    expect(set(seen), {"n1", "n2"})


def tracked(target):
    """Connections whose answers come from this target, as conntrack lists them."""
    lines = command("conntrack", "-L", "--orig-dst", VIP, "--reply-src", target).splitlines()
    return [x for x in lines if "[UNREPLIED]" not in x]


# --- routes, addresses, ARP -------------------------------------------------------------------------------------

def local_routes(family=4):
    return {r["dst"] for r in json.loads(command("ip", f"-{family}", "-j", "route", "show", "table", "local", "proto", "116"))}


def test_routes__held_and_exported__are_what_ip_lists(tool):
    vips = [f"192.0.2.{i}" for i in range(100, 230)]
    tool("hold " + " ".join([*vips, VIP6]))
    tool("hold " + " ".join(vips))  # there already
    tool(f"export {VIP} {VIP6}")
    expect(local_routes(), set(vips))
    expect(local_routes(6), {VIP6})
    expect([(r["type"], r["dst"], r["protocol"]) for r in json.loads(command("ip", "-j", "route", "show", "table", "116"))],
           [("blackhole", VIP, "116")])
    expect([(r["type"], r["dst"], r["protocol"]) for r in json.loads(command("ip", "-6", "-j", "route", "show", "table", "116"))],
           [("blackhole", VIP6, "116")])
    expect(len(tool("routes")), len(vips) + 3)
    expect(tool.say("hold 192.0.2.1")[0], "192.0.2.1 in-use")  # the machine's own
    tool("let-go " + " ".join([*vips, VIP6]))
    tool("let-go " + " ".join(vips))  # gone already
    tool(f"withdraw {VIP} {VIP6}")
    expect(tool("routes"), [])
    expect(local_routes() | local_routes(6), set())
    tcp("192.0.2.1", 22)  # the route of another protocol still stands


def test_hold__route_on_lo__answers_arp(tool):
    tool(f"hold {VIP}")
    mac = json.loads(command("ip", "-j", "link", "show", "eth0"))[0]["address"]
    inside("client", "ip", "neigh", "flush", "all")
    world.ping(VIP)
    expect(neighbour(VIP), mac)
    tool(f"let-go {VIP}")
    inside("client", "ip", "neigh", "flush", "all")


def test_address__valid_lifetime__goes_by_itself(tool):
    monitor = subprocess.Popen(["ip", "monitor", "address"], stdout=subprocess.PIPE, text=True)
    while not select.select([monitor.stdout], [], [], 0.1)[0]:  # it listens when it has said something
        tool("addr lo 192.0.2.61 600000")
    tool("addr-del lo 192.0.2.61")
    tool(f"addr lo {VIP} 60000")
    assert f"{VIP}/32 link=1 forever=0 ours=1" in tool("addrs"), tool("addrs")
    tool(f"addr lo {VIP} 2000")  # counts anew
    tool("addr lo 192.0.2.60 600000")
    for line in monitor.stdout:  # the kernel says when
        if line.startswith("Deleted") and VIP in line:
            break
    monitor.kill()
    monitor.wait()
    left = tool("addrs")
    assert not [x for x in left if x.startswith(VIP)] and [x for x in left if x.startswith("192.0.2.60")], left
    tool("addr-del lo 192.0.2.60")
    tool("addr-del lo 192.0.2.60")  # gone already
    expect([x for x in tool("addrs") if "ours=1" in x], [])


def neighbour(address):
    for n in json.loads(inside("client", "ip", "-j", "neigh", "show", address, "dev", "eth0")):
        return n.get("lladdr")
    return None


def test_announce__neighbours_entry__moves(tool):
    mac = json.loads(command("ip", "-j", "link", "show", "eth0"))[0]["address"]
    others = "02:00:00:00:00:99"
    for address in (VIP, VIP6):
        inside("client", "ip", "neigh", "replace", address, "lladdr", others, "dev", "eth0", "nud", "stale")
    expect([neighbour(VIP), neighbour(VIP6)], [others, others])
    tool(f"announce eth0 {VIP} {VIP6} " + " ".join(f"192.0.2.{i}" for i in range(100, 220)))
    await_true("the entries move", lambda: [neighbour(VIP), neighbour(VIP6)] == [mac, mac])


def test_probe__foreign_answer__is_seen(tool):
    mac = json.loads(inside("client", "ip", "-j", "link", "show", "eth0"))[0]["address"]
    for taken, free in ((world.CLIENT, VIP), (world.CLIENT6, VIP6)):
        tool(f"probe eth0 {free}")
        tool(f"probe eth0 {taken}")
        await_true("an answer", lambda: tool(f"answer eth0 {taken}") == [mac])  # pylint: disable=cell-var-from-loop
        expect(tool(f"answer eth0 {free}"), [])
    refused("bug", tool, "answer eth0 192.0.2.99")


def test_links__are_what_ip_lists(tool):
    ours = {x.split()[0]: x for x in tool("links")}
    wanted = {x["ifname"]: x for x in json.loads(command("ip", "-j", "link"))}
    expect(set(ours), set(wanted))
    for name, link in wanted.items():
        assert f"index={link['ifindex']} " in ours[name] and link["address"] in ours[name], ours[name]
    assert "loopback=1" in ours["lo"] and "ethernet=1" in ours["eth0"] and "up=1" in ours["eth0"]


def test_links_and_addresses__are_listed_again_after_a_change_only(tool):
    def listed():
        before = int(tool("requests rtnl")[0])
        found = " ".join(tool("links") + tool("addrs"))
        return found, int(tool("requests rtnl")[0]) - before

    def await_kept():
        await_true("nothing is listed again", lambda: listed()[1] == 0)
    await_kept()
    for change, words in (("link add near0 type veth peer name near1", "near0 index="), ("link set near0 address 02:00:00:00:00:07", "02:00:00:00:00:07"),
                          ("addr add 198.51.100.1/24 dev near0", "198.51.100.1/24 link="), ("link set near0 name near2", "near2 index=")):
        command("ip", *change.split())
        assert words in listed()[0], (change, listed())
        await_kept()
    command("ip", "addr", "add", "198.51.100.2/24", "dev", "near2", "valid_lft", "3000", "preferred_lft", "3000")
    expect([listed()[1] > 0 for _ in range(3)], [True] * 3)  # its lifetime goes down without a word
    command("ip", "addr", "del", "198.51.100.2/24", "dev", "near2")
    flood = "\n".join(f"addr {verb} 203.0.113.{i}/32 dev near2" for _ in range(4) for verb in ("add", "del") for i in range(1, 255))
    command("ip", "-batch", "-", text=flood + "\naddr add 198.51.100.3/24 dev near2\n")
    assert "198.51.100.3/24 link=" in listed()[0] and "203.0.113." not in listed()[0], listed()
    await_kept()
    command("ip", "link", "del", "near2")
    assert "near2" not in listed()[0] and "198.51.100." not in listed()[0], listed()


# --- the rest ---------------------------------------------------------------------------------------------------

def test_sysctls(tool):
    expect(tool("sysctl net.ipv4.ip_forward"), ["1"])
    assert int(tool("sysctl net.netfilter.nf_conntrack_max")[0]) >= int(tool("sysctl net.netfilter.nf_conntrack_count")[0])
    tool("sysctl net.ipv4.conf.eth0.arp_ignore 1")
    with open("/proc/sys/net/ipv4/conf/eth0/arp_ignore", encoding="ascii") as f:
        expect(f.read(), "1\n")
    tool("sysctl net.ipv4.conf.eth0.arp_ignore 0")
    for name in ("net.ipv4.nothing", "..", "net..ipv4", "net.ipv4.conf.all.../../../etc/passwd"):
        refused("not-found", tool, f"sysctl {name}")


def test_lock__second_process__names_the_first(tool):
    second = world.Tool(PROGRAM)
    tool("lock t1")
    second("lock t2")
    expect(refused("conflict", second, "lock t1"),
           f'conflict: another trimtab with instance "t1" runs here (pid {tool.process.pid}); end it, or give this '
           'one another name (instance: NAME in its cloud config)')
    expect(second.close(), 0)
    tool("lock t2")  # free again


def test_answers_lost__is_told_and_forgotten(tool):
    for api in ("rtnl", "nft", "ipvs"):
        expect(tool(f"overrun {api}"), ["transient, the kernel's answers are lost (ENOBUFS), not all heard, 600 lost", "then heard its answer, errno 0"])


def test_kube_proxy__by_nftables_and_by_iptables_on_it__is_seen(tool):
    expect(tool("kube-proxy"), ["no"])
    for family in ("ip", "ip6"):
        command("nft", f"add table {family} kube-proxy")
        expect(tool("kube-proxy"), [f"table {family} kube-proxy"])
        command("nft", f"delete table {family} kube-proxy")
        command("nft", f"add table {family} nat; add chain {family} nat KUBE-SERVICES")
        expect(tool("kube-proxy"), ["chain KUBE-SERVICES"])
        command("nft", f"delete table {family} nat")
    expect(tool("kube-proxy"), ["no"])


def test_counts__each_operation_and_answer_by_its_name(tool):
    tool("make")
    tool.change(f"+ vip {VIP} d/a")
    refused("conflict", tool.change, "- vip 203.0.113.99")
    tool(f"hold {VIP}")
    counts = dict(line.rsplit(" ", 1) for line in tool("counts"))
    for what, n in (("nft newsetelem ok", 1), ("nft delsetelem ENOENT", 1), ("rtnl newroute ok", 1), ("nft newtable ok", 1)):
        assert int(counts.get(what, 0)) >= n, (what, counts)
    assert not [what for what in counts if " other " in f" {what} "], counts
    expect(sum(int(n) for what, n in counts.items() if what.startswith("nft ")), int(tool("requests nft")[0]))
    tool(f"let-go {VIP}")
    tool("remove")


def test_no_capability__is_a_sentence(_tool):
    done = subprocess.run(["setpriv", "--bounding-set=-net_admin,-net_raw", "--inh-caps=-all", PROGRAM, "real"], input="", capture_output=True,
                          text=True, check=False)
    expect(done.stdout, "auth: not allowed to change nftables: CAP_NET_ADMIN is needed\n")
    done = subprocess.run(["setpriv", "--bounding-set=-net_raw", "--inh-caps=-all", PROGRAM, "real"], input=f"announce eth0 {VIP}\n",
                          capture_output=True, text=True, check=False)
    expect(done.stdout, "auth: not allowed to send ARP: CAP_NET_RAW is needed\n")


REPLAY = f"""look
commit
+ vip {VIP} a/b
commit
make
make
look
+ vip {VIP} a/b|+ scope 10.0.0.0/24|+ open {VIP} tcp 80 10.0.0.0/8|+ open {VIP} tcp 80 192.0.2.0/24|+ snat {VIP} tcp 80|commit
+ slots {VIP} tcp 80 rr 4 {N1} 80 {N2} 80|+ slots {VIP} tcp 81 hash 16 {N1} 80|commit
list
+ vip {VIP} other/comment|commit
+ open {VIP} tcp 80 10.1.0.0/16|commit
+ open {VIP} tcp 80 10.0.0.0/8|commit
+ open {VIP} tcp 80 8.0.0.0/5|commit
- open {VIP} tcp 80 8.0.0.0/5|commit
+ scope 10.0.0.128/25|commit
+ scope 10.0.0.0/24|commit
+ scope 10.0.0.0/16|commit
+ scope 10.0.1.0/24|commit
- scope 10.0.1.0/25|commit
+ slot {VIP} tcp 80 rr 4 0 {N2} 80|commit
- slot {VIP} tcp 80 rr 4 0 {N2} 80|+ slot {VIP} tcp 80 rr 4 0 {N3} 81|commit
- slot {VIP} tcp 80 rr 4 0 {N2} 80|- slot {VIP} tcp 80 rr 4 0 {N2} 80|commit
- snat {VIP} udp 80|commit
+ open {VIP} tcp 82 0.0.0.0/0|+ from {VIP} tcp 82 10.0.0.0/8|commit
+ open {VIP} tcp 82 0.0.0.0/0|commit
list
read {VIP} tcp 82
- open {VIP} tcp 82 10.0.0.0/8|- open {VIP} tcp 82 0.0.0.0/0|commit
- open {VIP} tcp 82 0.0.0.0/0|commit
+ vip 192.0.2.51|- vip {VIP6}|commit
- vip {VIP}|- open {VIP} tcp 80 10.0.0.0/8|- snat {VIP} tcp 80|- vip 192.0.2.52|commit
- vip {VIP}|- open {VIP} tcp 80 10.0.0.0/8|- snat {VIP} tcp 80|commit
+ vip {VIP6} c/d|+ open {VIP6} tcp 80 ::/0|+ slot {VIP6} tcp 80 rr 64 63 fd00::1 80|commit
+ slot {VIP6} tcp 80 rr 64 64 fd00::1 80|commit
+ slot {VIP6} tcp 80 rr 64 0 10.0.0.1 80|commit
+ open {VIP6} tcp 80 10.0.0.0/8|commit
read {VIP6} tcp 80
read {VIP} tcp 80
read {VIP} tcp 81
list
hold {VIP} {VIP6}
hold {VIP}
export {VIP}
routes
let-go {VIP} 192.0.2.51
routes
let-go {VIP6}
withdraw {VIP}
routes
end {VIP} tcp 80 {N3} 80
sysctl net.ipv4.ip_forward
sysctl net.nothing
remove
remove
list
look
"""


def test_replay__same_commands__same_answers_of_the_fake_kernel(tool):
    fake = world.Tool(PROGRAM, "fake")
    wrong = []
    for line in REPLAY.splitlines():
        for one in line.split("|"):
            real, said = tool.say(one), fake.say(one)
            for answer in (real, said):
                answer[-1] = answer[-1].split(":")[0]  # sentences name what each of them knows
            if real != said:
                wrong.append(f"{line}\n  real: {real}\n  fake: {said}")
    expect(fake.close(), 0)
    assert not wrong, "\n".join(wrong)


@table()
def test_scale__twenty_thousand_frontends__one_change_costs_the_same(tool):
    tool("load 0 1000")
    [small] = tool("move 500 0 9")
    [before] = tool("spent")
    tool("load 1000 20000")
    [after] = tool("spent")
    [large] = tool("move 15000 0 9")
    expect(small, large)
    spent = [int(re.search(r"cpu_us=(\d+)", x).group(1)) for x in (before, after)]
    print(f"# 19,000 frontends x 4 targets: {(spent[1] - spent[0]) / 1e6:.2f} s of CPU; nft requests in all: {tool('requests nft')[0]}; one change: {large}; {after}")
    expect(len(tool("read 10.0.58.152 tcp 80")), 3 + 4)


def main():
    global PROGRAM  # pylint: disable=global-statement
    PROGRAM, chosen = sys.argv[1], sys.argv[2:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip", "conntrack", "setpriv"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    world.Servers(more=[(None, 22, "director")])
    return tap.run(tap.tests_of(globals(), chosen), world.Tool(PROGRAM))


PROGRAM = None
if __name__ == "__main__":
    sys.exit(main())
