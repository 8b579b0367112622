#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes by others in a real kernel: nft and ip take away what trimtab wrote, and the director's thread puts it back.

    watch_test.py TRIMTAB_SIM TRIMTAB [TEST…]      (TAP; skipped only where `unshare -Urnm` is not allowed)

The simulator is the API server alone; nodes are the namespaces of world.py.  A client connects all the time; connections that were
refused or got no answer are counted and printed, and must end once the kernel is as before.
"""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position
import product  # noqa: E402  pylint: disable=wrong-import-position
import world  # noqa: E402  pylint: disable=wrong-import-position
from world import command, tcp  # noqa: E402  pylint: disable=wrong-import-position

MARK = "TRIMTAB_LOCAL_WATCH_TEST"
FIRST, FIRST6 = "192.0.2.48", "2001:db8:2::30"
CHECKS = "director: {checks: {cluster: none}}\n"
ROUTES = "  announce: {by: routes}\n"  # no probe, and so no second sync soon after the first


class Cluster(product.Cluster):
    def __init__(self, *flags, more=""):
        super().__init__(PROGRAMS, tempfile.mkdtemp(prefix="trimtab-test-"))
        self.more = list(flags)
        with open(self.config, "a", encoding="utf-8") as f:
            f.write(more + CHECKS)
        self.start()

    def flags(self):
        return super().flags() + self.more

    def told(self, words):
        """How often the owner of the Service was told of a drift with these words."""
        items = self.must("GET", "/api/v1/namespaces/demo/events")["items"]
        return sum(e.get("count", 1) for e in items if (e["involvedObject"]["name"], e["reason"]) == ("web", "LoadBalancerDrift")
                   and words in e["message"])

    def until_told(self, words, before=0):
        """Once more than `before`."""
        self.until(f"an event says {words}", lambda: self.told(words) > before)

    def __exit__(self, kind, value, trace):
        super().__exit__(kind, value, trace)
        if "inet trimtab" in command("nft", "list", "tables"):
            command("nft", "delete", "table", "inet", "trimtab")
        for family in ("-4", "-6"):
            command("ip", family, "route", "flush", "table", "local", "proto", "116")
        if FIRST6 in command("ip", "-6", "addr"):
            command("ip", "-6", "addr", "del", f"{FIRST6}/128", "dev", "eth0")


def table():
    """All that is in the table, in an order that does not depend on hashes; [] when it is not there."""
    found = []
    for item in product.ruleset():
        [(kind, body)] = item.items()
        if kind == "metainfo" or (body["name"] if kind == "table" else body["table"]) != "trimtab":
            continue
        body.pop("handle", None)
        if "elem" in body:
            body["elem"].sort(key=json.dumps)
        found.append(json.dumps(item))
    return sorted(found)


def disturbed(c, what, do, words):
    """Others do something; returns when the kernel is as before and the owner was told, with what clients met."""
    before, routes, told = table(), product.held(), c.told(words)
    clients = world.Clients(FIRST, 80, limit_s=3)
    c.until("the client is served", lambda: clients.done > 20)
    do()
    c.until("all is as before", lambda: (table(), product.held()) == (before, routes))
    done = clients.done
    c.until("the client went on", lambda: clients.done > done + 20)
    seen = clients.stop()
    lost = seen["refused"] + seen["silent"]
    print(f"# {what}: {sum(seen.values())} connections, {lost} refused or silent")
    assert lost < sum(seen.values()), seen
    c.until_told(words, told)
    assert [tcp(FIRST, 80) for _ in range(10)].count("refused") == 0


def test_elements__deleted_by_others__are_back():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        disturbed(c, "guard", lambda: command("nft", "delete", "element", "inet", "trimtab", "vip4", f"{{ {FIRST} }}"),
                  f"guard {FIRST} is missing; it is put right")
        disturbed(c, "ranges", lambda: command("nft", "flush", "set", "inet", "trimtab", "all4"), f"source ranges {FIRST}:80/tcp is missing")
        disturbed(c, "slots", lambda: command("nft", "flush", "map", "inet", "trimtab", "f4_rr_16"), f"frontend {FIRST}:80/tcp is missing")
        c.remove("web")


def test_elements__added_by_others__go():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        before = table()
        command("nft", "add", "element", "inet", "trimtab", "from4", f"{{ {FIRST} . tcp . 22 . 0.0.0.0-255.255.255.255 }}")
        c.until_told(f"source ranges {FIRST}:22/tcp should not be there")
        c.until("all is as before", lambda: table() == before)
        for port, words in ((80, f"stand-in ranges {FIRST}:80/tcp should not be there"), (23, f"source ranges {FIRST}:23/tcp should not be there")):
            command("nft", "add", "element", "inet", "trimtab", "also4", f"{{ {FIRST} . tcp . {port} . 10.0.0.0/8 }}")
            c.until_told(words)
            c.until("all is as before", lambda: table() == before)
        c.remove("web")


def test_table__deleted_by_others__is_made_again():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        disturbed(c, "table", lambda: command("nft", "delete", "table", "inet", "trimtab"), "table inet trimtab is missing")
        disturbed(c, "rule set", lambda: command("nft", "flush", "ruleset"), "table inet trimtab is missing")
        c.remove("web")


def test_rules__flushed_by_others__are_made_again():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        disturbed(c, "rules", lambda: command("nft", "flush", "table", "inet", "trimtab"), "table inet trimtab differs; it is put right")
        disturbed(c, "a rule", lambda: command("nft", "insert", "rule", "inet", "trimtab", "tt_guard", "tcp", "dport", "80", "drop"),
                  "table inet trimtab differs; it is put right")
        c.remove("web")


def test_hold__taken_by_others__is_back():
    with Cluster() as c:
        assert c.serve("web", ipFamilyPolicy="RequireDualStack", ipFamilies=["IPv4", "IPv6"]) == [FIRST, FIRST6]
        disturbed(c, "route", lambda: command("ip", "route", "del", "local", FIRST, "dev", "lo", "table", "local", "proto", "116"),
                  f"hold {FIRST} is missing; it is put right")
        command("ip", "-6", "addr", "del", f"{FIRST6}/128", "dev", "eth0")
        c.until("the address is back", lambda: FIRST6 in command("ip", "-6", "addr"))
        c.until_told(f"hold {FIRST6} is missing")
        assert tcp(FIRST6, 80)[0] in world.NODES
        c.remove("web")


def test_hold__loopback_goes_down_and_up__is_back():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        command("ip", "link", "set", "lo", "down")
        command("ip", "link", "set", "lo", "up")
        c.until("the route is back", lambda: product.held() == [FIRST])
        assert tcp(FIRST, 80)[0] in world.NODES
        c.remove("web")


def test_others__with_report__are_told_of_and_left():
    with Cluster("--drift=report", more=ROUTES) as c:
        assert c.serve("web") == [FIRST]
        command("nft", "delete", "element", "inet", "trimtab", "vip4", f"{{ {FIRST} }}")
        c.until_told(f"guard {FIRST} is missing; left as it is (--drift=report)")
        assert "vip4" not in product.elements()
        c.edit("web", sessionAffinity="ClientIP")  # the next sync mends it
        c.until("the guard is back", lambda: "vip4" in product.elements())
        c.remove("web")


def older_layout():
    """The table as an older trimtab might have left it: another number, a map and a chain that are not there any more, no IPv6."""
    text = command("nft", "-s", "list", "table", "inet", "trimtab")
    lines = [line for line in text.replace(' 1"\n', ' 0"\n', 1).splitlines() if "dnat ip6" not in line]
    lines[-1:] = ["map old4_slots { typeof ip daddr . tcp dport : ip daddr . th dport; elements = { 192.0.2.200 . 80 : 10.1.0.1 . 30080 }; }",
                  "chain tt_old { type nat hook prerouting priority dstnat - 4; dnat ip to ip daddr . tcp dport map @old4_slots; }", "}"]
    return "\n".join(lines) + "\n"


def test_layout__older_table_is_there__swapped_in_one_transaction():
    with Cluster() as c:
        assert c.serve("web") == [FIRST]
        c.until("it is served", lambda: tcp(FIRST, 80)[0] in world.NODES)
        wanted = table()
        c.stop()
        command("nft", "-f", "-", text="delete table inet trimtab\n" + older_layout())
        assert any("tt_old" in line for line in table())
        opened = world.Connection(FIRST, 80)
        said = opened.ask()
        clients = world.Clients(FIRST, 80)
        c.until("clients are served", lambda: clients.done > 20)
        c.start()
        c.until("the table is of this layout", lambda: table() == wanted)
        done = clients.done
        c.until("clients went on", lambda: clients.done > done + 20)
        seen = clients.stop()
        print(f"# layout: {sum(seen.values())} connections, {seen['refused'] + seen['silent']} refused or silent")
        assert set(seen) <= set(world.NODES), seen
        assert opened.ask() == said
        opened.close()
        c.remove("web")


def test_route__of_others_for_an_address__another_look_when_it_goes():
    command("ip", "route", "add", "local", f"{FIRST}/32", "dev", "lo", "table", "local", "proto", "99")
    with Cluster() as c:
        c.must("POST", "/api/v1/namespaces/demo/services", {"metadata": {"name": "web"}, "spec": {
            "type": "LoadBalancer", "ports": product.ports_of([(80, world.TCP_PORT)])}})
        c.until("an event", lambda: [e for e in c.must("GET", "/api/v1/namespaces/demo/events")["items"] if
                                     f"{FIRST}: another program has a route for it" in e["message"]])
        assert product.held() == []
        command("ip", "route", "del", "local", f"{FIRST}/32", "dev", "lo", "table", "local", "proto", "99")
        c.until("it is held", lambda: product.held() == [FIRST])
        assert tcp(FIRST, 80)[0] in world.NODES
        assert c.addresses("web") == [FIRST]
        c.remove("web")


def main():
    global PROGRAMS  # pylint: disable=global-statement
    PROGRAMS, chosen = sys.argv[1:3], sys.argv[3:]
    if not world.here(MARK):
        for program in ("unshare", "nft", "ip"):
            if not shutil.which(program):
                return tap.skip(f"{program} is absent")
        status = world.reexec_unshared(os.path.abspath(__file__), sys.argv[1:], MARK)
        return tap.skip(status) if isinstance(status, str) else status
    world.build()
    world.Servers()
    return tap.run(tap.tests_of(globals(), chosen))


PROGRAMS = None
if __name__ == "__main__":
    sys.exit(main())
