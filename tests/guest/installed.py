# SPDX-License-Identifier: Apache-2.0
"""The rules of kube-proxy in IPVS mode: rendered by trimtab-eval, as input of the tools, and as the tools save them.

A rendering is the answer of services.ipvs.  files() writes the input of `ipset restore`, `ipvsadm -R`, `ip -batch` and
iptables-restore; differences() compares a rendering with what `ipset save`, `ipvsadm -S -n`, `ip -o addr` and iptables-save
of a kernel printed, apart from what these add on their own: sizes and seeds of sets, order, built-in chains, counters.
"""
import ipaddress
import json
import shlex
import subprocess

PROTOCOL = {"TCP": "-t", "UDP": "-u", "SCTP": "--sctp-service"}


def ask(program, questions):
    """Answers of trimtab-eval to [(function, input)]."""
    lines = [json.dumps({"id": i, "fn": fn, "in": question}) for i, (fn, question) in enumerate(questions)]
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert [a["id"] for a in answers] == list(range(len(questions))), "trimtab-eval left questions unanswered"
    return [a["out"] for a in answers]


def six(text):
    return ":" in text


def target(address, port):
    return f"[{address}]:{port}" if six(address) else f"{address}:{port}"


def set_lines(rendering):
    for name, what in rendering["sets"].items():
        size = f"family {what['family']} hashsize 1024 maxelem 65536" if "family" in what else "range 0-65535"
        yield f"create {name} {what['type']} {size}"
        yield from (f"add {name} {entry}" for entry in what["entries"])


def server_lines(rendering):
    """As `ipvsadm -S -n` prints them, too."""
    for v in rendering["virtual_servers"]:
        at = f"{PROTOCOL[v['protocol']]} {target(v['address'], v['port'])}"
        yield (f"-A {at} -s {v['scheduler']}" + (f" -p {v['persistent_s']}" if "persistent_s" in v else "") +
               (" -b mh-port" if v.get("mh_port") else ""))
        yield from (f"-a {at} -r {real} -m -w 1" for real in v["real"])


def address_lines(rendering):
    yield "link set lo up"  # without a table of local addresses ip_vs takes no address for one of a server
    yield "link add kube-ipvs0 type dummy"
    for address in rendering["bound"]:
        yield f"addr add {address}/128 dev kube-ipvs0 nodad" if six(address) else f"addr add {address}/32 dev kube-ipvs0"


def rule_lines(rendering, jumps):
    for table, chains in rendering["iptables"].items():
        yield "*" + table
        yield from (f":{chain} - [0:0]" for chain in chains)
        for more in (chains, jumps[table]):
            yield from (f"-A {chain} {rule}" for chain, rules in more.items() for rule in rules)
        yield "COMMIT"


def files(rendering, jumps):
    parts = {"sets": set_lines(rendering), "servers": server_lines(rendering), "addresses": address_lines(rendering),
             "rules": rule_lines(rendering, jumps)}
    return {name: "".join(line + "\n" for line in lines) for name, lines in parts.items()}


def canonical(entry):
    """An entry of a set, or an address, with its addresses as Python's ipaddress writes them."""
    def one(part):
        try:
            return str(ipaddress.ip_network(part)) if "/" in part else str(ipaddress.ip_address(part))
        except ValueError:
            return part
    return ",".join(one(p) for p in entry.split(","))


def saved_sets(text):
    """{name: (type, family, entries)} of `ipset save`."""
    sets = {}
    for line in text.splitlines():
        words = line.split()
        if words[0] == "create":
            family = words[words.index("family") + 1] if "family" in words else None
            sets[words[1]] = (words[2], family, set())
        else:
            sets[words[1]][2].add(canonical(words[2]))
    return sets


def saved_rules(text):
    """{table: {chain: [rule]}} of iptables-save."""
    tables, table = {}, None
    for line in text.splitlines():
        if line.startswith("*"):
            table = tables.setdefault(line[1:], {})
        elif line.startswith(":"):
            table.setdefault(line[1:].split()[0], [])
        elif line.startswith("-A "):
            chain, rule = line[3:].split(" ", 1)
            table[chain].append(rule)
    return tables


def missing_and_more(what, want, got):
    want, got = set(want), set(got)
    return ([f"{what}: missing: {w}" for w in sorted(want - got)] +
            [f"{what}: too much: {g}" for g in sorted(got - want)])


def set_differences(rendering, text):
    want = {name: (s["type"], s.get("family"), {canonical(e) for e in s["entries"]}) for name, s in rendering["sets"].items()}
    got = saved_sets(text)
    wrong = missing_and_more("sets", want, got)
    for name in sorted(set(want) & set(got)):
        if want[name][:2] != got[name][:2]:
            wrong.append(f"set {name}: {got[name][:2]}, wanted {want[name][:2]}")
        wrong += missing_and_more("set " + name, want[name][2], got[name][2])
    return wrong


def rule_differences(saved, jumps, text):
    """`saved`: the answer of services.iptables_saved; the jumps are compared word by word."""
    wrong, got = [], saved_rules(text)
    for table, chains in saved.items():
        have = got.get(table, {})
        wrong += missing_and_more("chains of " + table, chains, [c for c in have if c.startswith("KUBE-")])
        for chain, rules in chains.items():
            if have.get(chain, []) != rules:
                wrong += [f"{table} {chain}: {r!r}, wanted {w!r}" for r, w in zip(have.get(chain, []), rules) if r != w]
                wrong.append(f"{table} {chain}: {len(have.get(chain, []))} rules, wanted {len(rules)}")
        for chain, rules in jumps[table].items():
            if [shlex.split(r) for r in have.get(chain, [])] != [shlex.split(r) for r in rules]:
                wrong.append(f"{table} {chain}: {have.get(chain)}, wanted {rules}")
    return wrong


def address_differences(rendering, text):
    got = [w.split("/")[0] for line in text.splitlines() for w in line.split()[3:4]]
    return missing_and_more("kube-ipvs0", map(canonical, rendering["bound"]),
                            [canonical(g) for g in got if not g.startswith("fe80:")])


def differences(rendering, saved, jumps, texts):
    """Lines; none when the kernel has what was rendered.  `texts`: what the tools printed, by the names of files()."""
    return (set_differences(rendering, texts["sets"]) +
            missing_and_more("virtual servers", server_lines(rendering), [line.rstrip() for line in texts["servers"].splitlines()]) +
            address_differences(rendering, texts["addresses"]) + rule_differences(saved, jumps, texts["rules"]))
