# SPDX-License-Identifier: Apache-2.0
"""Follows a packet through rules of kube-proxy as the kernel would, in iptables, IPVS and nftables mode.

Reads the texts of rules alone, in the forms of the answers of services.iptables, services.ipvs and services.nftables, and
shares nothing with the library that computes traces.  Each function takes a world (tests/data/eval), the rules, and a packet
{"source", "protocol", "dest", "port"}, and returns {"outputs", "masquerade"} as the functions services.*_trace do.
A packet is the first of its connection and comes in by an interface that no rule names.
"""
import functools
import ipaddress
import re
import shlex


class Ended(Exception):
    """The packet needs no further rule."""


@functools.lru_cache(maxsize=None)
def in_net(address, net):
    ip, net = ipaddress.ip_address(address), ipaddress.ip_network(net, strict=False)
    return ip.version == net.version and ip in net


@functools.lru_cache(maxsize=None)
def words_of(rule):
    return shlex.split(rule)


def endpoint(ip, port):
    return ("[%s]:%s" if ":" in ip else "%s:%s") % (ip, port)


class Host:
    """The addresses of a node: those of its devices, loopback, and those that IPVS bound."""

    def __init__(self, world, bound=()):
        self.own = set(world["node"].get("addresses", [])) | set(bound)

    def has(self, address):
        return address in self.own or address == "::1" or in_net(address, "127.0.0.0/8")


# ---- iptables ----------------------------------------------------------------------------------------------

PROTOCOL_NUMBERS = {"tcp": "6", "udp": "17", "sctp": "132"}


class Chains:
    """Chains of iptables with a packet: which rules match, and where they lead."""

    ONE_WORD = ("--random-fully", "--reap", "--set")
    IGNORED = ("-m", "--comment", "--mode", "--nfacct-name", "--seconds", "--name", "--or-mark", "--xor-mark", "--mark")

    def __init__(self, tables, host, packet, sets=None):
        self.tables, self.host, self.packet, self.sets = tables, host, packet, sets or {}
        self.outputs, self.marked = [], False

    def in_set(self, name, directions):
        entries, kind = self.sets[name]["entries"], self.sets[name]["type"]
        address = [self.packet["dest" if d == "dst" else "source"] for d in directions.split(",")]
        port = "%s:%d" % (self.packet["protocol"], self.packet["port"])
        if kind == "bitmap:port":
            return str(self.packet["port"]) in entries
        if kind == "hash:ip":
            return address[0] in entries
        if kind == "hash:ip,port":
            return "%s,%s" % (address[0], port) in entries
        if kind == "hash:ip,port,ip":
            return "%s,%s,%s" % (address[0], port, address[2]) in entries
        items = [entry.split(",") for entry in entries]  # hash:ip,port,net
        return any(i[:2] == [address[0], port] and in_net(address[2], i[2]) for i in items)

    def test(self, option, value):
        """True when the packet fulfils an option."""
        p = self.packet
        tests = {
            "-p": lambda: p["protocol"] == value,
            "-s": lambda: in_net(p["source"], value),
            "-d": lambda: in_net(p["dest"], value),
            "-i": lambda: False,
            "--dport": lambda: p["port"] == int(value),
            "--src-type": lambda: self.host.has(p["source"]),
            "--dst-type": lambda: self.host.has(p["dest"]),
            "--ctstate": lambda: "NEW" in value.split(","),
            "--vaddr": lambda: in_net(p["dest"], value),
            "--vproto": lambda: value.lower() in (p["protocol"], PROTOCOL_NUMBERS[p["protocol"]]),
            "--vport": lambda: p["port"] == int(value),
        }
        return tests[option]()

    def match(self, rule):
        """(does it match, target, where to, is it one of several by chance)."""
        words, at, holds, negated = words_of(rule), 0, True, False
        target = to = None
        while at < len(words):
            word = words[at]
            value = words[at + 1] if at + 1 < len(words) else None
            at += 1 if word == "!" or word in self.ONE_WORD else 2
            if word == "!":
                negated = True
                continue
            if word == "--rcheck":
                holds, at = False, at - 1  # no client is known yet
            elif word == "--physdev-is-in":
                holds, at = holds and negated, at - 1
            elif word == "--match-set":
                holds = holds and self.in_set(value, words[at]) != negated
                at += 1
            elif word == "-j":
                target = value
            elif word == "--to-destination":
                to = value
            elif word not in self.IGNORED + self.ONE_WORD + ("--probability",):
                holds = holds and self.test(word, value) != negated
            negated = False
        return holds, target, to, "--probability" in words

    def run(self, table, chain):
        """The verdict of a chain; None when it falls through.  All ways of a choice by chance are gone."""
        for rule in self.tables[table].get(chain, []):
            holds, target, to, by_chance = self.match(rule)
            if not holds or target in (None, "MARK", "MASQUERADE"):
                continue
            if target == "KUBE-MARK-MASQ":
                self.marked = True
            elif target == "RETURN":
                return None
            elif target == "DNAT":
                self.outputs.append(to)
                return target
            elif target in ("ACCEPT", "DROP", "REJECT"):
                return target
            else:
                verdict = self.run(table, target)
                if verdict is not None and not by_chance:
                    return verdict
        return None


def iptables(world, tables, packet):
    host = Host(world)
    chains = Chains(tables, host, packet)
    chains.run("nat", "KUBE-SERVICES")
    if chains.outputs:
        return {"outputs": chains.outputs, "masquerade": chains.marked}
    names = ["KUBE-PROXY-FIREWALL", "KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES"]
    verdict = None
    for name in names + (["KUBE-NODEPORTS"] if host.has(packet["dest"]) else []):
        verdict = verdict or chains.run("filter", name)
    return {"outputs": [verdict] if verdict else [], "masquerade": False}


# ---- IPVS --------------------------------------------------------------------------------------------------

def ipvs(world, rules, packet):
    host = Host(world, rules["bound"])
    sets = rules["sets"]
    chains = Chains(rules["iptables"], host, packet, sets)
    chains.run("nat", "KUBE-SERVICES")
    firewall = "KUBE-IPVS-OUT-FILTER" if host.has(packet["source"]) else "KUBE-PROXY-FIREWALL"
    for name in (firewall, "KUBE-NODE-PORT", "KUBE-IPVS-FILTER") if host.has(packet["dest"]) else ():
        verdict = chains.run("filter", name)
        if verdict:
            return {"outputs": [verdict], "masquerade": False}
    for server in rules["virtual_servers"]:
        if (server["address"], server["port"], server["protocol"].lower()) == (
                packet["dest"], packet["port"], packet["protocol"]):
            real = sorted(server["real"])
            loop = next(s for name, s in sets.items() if name.endswith("LOOP-BACK"))["entries"]
            ends = [r.rpartition(":") for r in real]
            itself = any("%s,%s:%s,%s" % (ip.strip("[]"), packet["protocol"], port, packet["source"]) in loop
                         for ip, _, port in ends)
            return {"outputs": real or ["REJECT"], "masquerade": bool(real) and (chains.marked or itself)}
    return {"outputs": [], "masquerade": False}


# ---- nftables ----------------------------------------------------------------------------------------------

RULE = re.compile(r'add rule ip6? kube-proxy (\S+) (.*?)(?: comment ".*")?$')
ELEMENT = re.compile(r"add element ip6? kube-proxy (\S+) \{ (.*) \}$")


class Table:
    """A table of nftables with a packet.  Statements of a rule are read from the left; each pattern has a method."""

    def __init__(self, host, lines, packet):
        self.host, self.packet, self.rules, self.elements = host, packet, {}, {}
        self.outputs, self.marked = [], False
        for line in lines:
            rule, element = RULE.match(line), ELEMENT.match(line)
            if rule:
                self.rules.setdefault(rule[1], []).append(rule[2])
            elif element:
                key, _, value = re.sub(r' comment "[^"]*"', "", element[2]).partition(" : ")
                self.elements.setdefault(element[1], {})[key] = value
        port = "%s . %d" % (packet["protocol"], packet["port"])
        self.keys = {"whole": "%s . %s" % (packet["dest"], port), "port": port}

    def run(self, chain):
        for rule in self.rules.get(chain, []):
            if self.follow(rule):
                return

    def follow(self, rule):
        """Reads one rule; True when its chain is left."""
        rest = rule
        while rest:
            for pattern, method in self.PATTERNS:
                found = pattern.match(rest)
                if found:
                    break
            else:
                raise ValueError("statement not known: " + rest)
            rest = rest[found.end():].lstrip()
            result = method(self, found)
            if result in ("no", "left"):
                return result == "left"
        return False

    def verdict(self, text):
        if text.startswith("goto "):
            self.run(text[5:])
            return "left"
        self.outputs.append(text.upper())
        raise Ended

    def local(self, found):
        return None if self.host.has(self.packet["dest" if found[1] == "d" else "source"]) else "no"

    def interface(self, found):
        return None if found[1] else "no"

    def address(self, found):
        ip, to = self.packet["dest" if found[1] == "d" else "source"], found[3]
        if to.startswith("@"):
            hit = ip in self.elements.get(to[1:], {})
        else:
            hit = any(in_net(ip, n.strip()) for n in to.strip("{ }").split(","))
        return "no" if hit == bool(found[2]) else None

    def vmap(self, found):
        text = self.elements.get(found[2], {}).get(self.keys["whole" if found[1] else "port"])
        return self.verdict(text) if text else None

    def mark(self, _):
        self.marked = True

    def jump(self, found):
        self.run(found[2])
        return "left" if found[1] == "goto" else None

    def protocol(self, found):
        return None if found[1] == self.packet["protocol"] else "no"

    def choose_address(self, found):
        self.outputs += [tuple(item.split(" : ")[1].split(" . ")) for item in found[1].split(" , ")]
        raise Ended

    def choose_chain(self, found):
        for item in found[1].split(" , "):
            try:
                self.run(item.split("goto ")[1])
            except Ended:
                pass
        raise Ended

    def to_address(self, found):
        self.outputs.append((found[1].strip("[]"), found[2]))
        raise Ended

    def nothing(self, _):
        return None

    PATTERNS = [(re.compile(pattern), method) for pattern, method in (
        (r"ct state new", nothing),
        (r"fib ([sd])addr type local", local),
        (r"iifname (!= )?\S+", interface),
        (r"(ip6? daddr \. )meta l4proto \. th dport vmap @(\S+)", vmap),
        (r"()meta l4proto \. th dport vmap @(\S+)", vmap),
        (r"ip6? ([sd])addr (!= )?(@\S+|\{[^}]*\}|\S+)", address),
        (r"mark set mark or \S+", mark),
        (r"(jump|goto) (\S+)", jump),
        (r"(?P<v>drop|reject)$", lambda self, found: self.verdict(found["v"])),
        (r"meta l4proto (\S+)(?= dnat)", protocol),
        (r"dnat ip6? addr \. port to numgen random mod \d+ map \{ (.*) \}", choose_address),
        (r"numgen random mod \d+ vmap \{ (.*) \}", choose_chain),
        (r"dnat to (\S+):(\d+)", to_address),
        (r"update @\S+ \{[^}]*\}", nothing),
    )]


def nftables(world, lines, packet):
    host = Host(world)
    table = Table(host, lines, packet)

    def hook(*chains):
        try:
            for chain in chains:
                table.run(chain)
        except Ended:
            pass
        return table.outputs

    ends = hook("filter-prerouting-pre-dnat", "nat-prerouting")
    if not ends:
        ends = hook("filter-input" if host.has(packet["dest"]) else "filter-forward")
    if not ends or isinstance(ends[0], str):
        return {"outputs": ends, "masquerade": False}
    first = "%s . %s . %s . %s" % (packet["source"], ends[0][0], packet["protocol"], ends[0][1])
    itself = first in table.elements.get("hairpin-connections", {})
    return {"outputs": [endpoint(*e) for e in ends], "masquerade": table.marked or itself}
