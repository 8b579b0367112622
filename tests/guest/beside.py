# SPDX-License-Identifier: Apache-2.0
"""keepalived beside trimtab in the guest: each leaves the other's services alone, and the same configuration gives the same lines.

Part of local_test.py.  keepalived comes from build/tools/peers (scripts/check unpacks it); without it these checks are skipped.
"""
import os
import re
import subprocess

OTHERS = ["-A -t 172.16.0.5:80 -s wlc", "-a -t 172.16.0.5:80 -r 192.0.2.11:8080 -m -w 2", "-a -t 172.16.0.5:80 -r 192.0.2.12:8080 -m -w 1",
          "-A -u 172.16.0.5:53 -s rr", "-a -u 172.16.0.5:53 -r 192.0.2.11:53 -g -w 1"]
LIBS = "/usr/lib/peers"
KINDS = {"-m": "NAT", "-g": "DR", "-i": "TUN"}


def programs(build):
    """keepalived and the libraries that it brings, with their paths in the guest; empty: it is absent."""
    peers = os.path.join(os.path.abspath(build), "tools", "peers")
    path = peers + "/usr/sbin/keepalived"
    if not os.path.exists(path):
        return []
    found = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True, check=False,
                           env={**os.environ, "LD_LIBRARY_PATH": f"{peers}/usr/lib/{os.uname().machine}-linux-gnu"}).stdout
    brought = [library for library in re.findall(r"=> (\S+) \(0x", found) if library.startswith(peers)]
    return [(path, "/usr/sbin/keepalived")] + [(library, LIBS + "/" + os.path.basename(library)) for library in brought]


def _address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]") + " " + port


def _real(line):
    words = line.split()
    return f" real_server {_address(words[4])} {{ weight {words[words.index('-w') + 1]} }}\n"


def _kind(line):
    words = line.split()
    kind = KINDS[words[5]]
    if kind == "TUN":
        kind += " type " + words[words.index("--tun-type") + 1]
        kind += " port " + words[words.index("--tun-port") + 1] if "--tun-port" in words else ""
        kind += " nocsum" if "--tun-nocsum" in words else ""
    return kind


def config(lines):
    """keepalived's configuration for what `ipvsadm -Sn` shall print."""
    text = "global_defs {\n lvs_flush_onstop VS\n}\n"
    for line in lines:
        if not line.startswith("-A"):
            continue
        words = line.split()
        reals = [r for r in lines if r.startswith("-a " + " ".join(words[1:3]) + " ")]
        text += f"virtual_server {_address(words[2])} {{\n protocol {'TCP' if words[1] == '-t' else 'UDP'}\n lb_algo {words[4]}\n"
        text += f" lb_kind {_kind(reals[0])}\n" + (" ops\n" if "-o" in words else "")
        text += "".join(f" persistence_timeout {words[words.index('-p') + 1]}\n" for _ in range("-p" in words))
        text += "".join(f" {flag}\n" for flag in (words[words.index("-b") + 1].split(",") if "-b" in words else []))
        text += "".join(map(_real, reals)) + "}\n"
    return text


# `await_lines NAMESPACE N`: until IPVS has N lines there.
FUNCTIONS = f"""\
keep() {{
    cat /t/$2 >/tmp/$2.conf  # no program, as keepalived wants it
    LD_LIBRARY_PATH={LIBS} ip netns exec $1 keepalived -C -n -l -f /tmp/$2.conf -p /tmp/$2.pid -c /tmp/$2.c.pid >/tmp/$2.log 2>&1 &
}}
await_lines() {{
    tries=0
    until [ "$(ip netns exec $1 ipvsadm -Sn | grep -c .)" = $2 ] || [ $tries -ge 120 ]; do tries=$((tries + 1)); sleep 1; done
}}
"""


def alone(lines):
    """Keepalived writes the lines, in a namespace of its own."""
    return (f"ip netns add ka && ip -n ka link set lo up\nkeep ka keep-same; same=$!\nawait_lines ka {len(lines)}\n"
            "echo '== keepalived same'; ip netns exec ka ipvsadm -Sn\nkill $same; wait $same\necho '== keepalived log'; tail -n 5 /tmp/keep-same.log\n")


def before(n_there):
    return f"keep p-d keep-others; others=$!\nawait_lines p-d {n_there + len(OTHERS)}\n"


def after(n_left):
    return f"""echo "== keepalived beside"; $in ipvsadm -Sn
kill $others; wait $others
await_lines p-d {n_left}
echo "== keepalived ended"; $in ipvsadm -Sn
"""


def differences(got, want):
    return [f"missing: {line}" for line in sorted(set(want) - set(got))] + [f"too much: {line}" for line in sorted(set(got) - set(want))]


def check(report, said, lines, foreign, absent):
    """`lines` are ours; those of `foreign` were there first."""
    for name, part, want in (("the same configuration gives the same lines", "same", lines), ("its services and ours stand side by side", "beside", lines + foreign + OTHERS),
                             ("it ends, ours stay", "ended", lines + foreign)):
        if absent:
            report.check(f"keepalived: {name}", more="SKIP keepalived is not in build/tools/peers; scripts/check fetches it")
            continue
        wrong = differences(said.get(("keepalived", part), []), want)
        report.check(f"keepalived: {name}", wrong + (said.get(("keepalived", "log"), []) if wrong else []))

