# SPDX-License-Identifier: Apache-2.0
"""The networks of a cluster in the guest, as lines of a shell script.

    out (clients) ──┬── node (node-1) ── pod-0, pod-1
                    └── far (node-2 with its pods)

`out` holds a bridge: a client, node-1 and node-2 are neighbours, so that a pod of node-2 answers a client without passing
node-1.  node-1 reaches each of its pods by a link of its own, without a network of the pods, so that what a pod sends to
another one passes node-1, too.  Each world has its own namespaces, named w0-node and so on.
"""
import cluster


def batch(namespace, lines, six):
    """Commands of ip(8), one process for all."""
    text = "".join(line + "\n" for line in lines)
    return f"ip {'-6' if six else '-4'} -n {namespace} -batch - <<'END' || exit 1\n{text}END\n"


def links(name, pods):
    """The namespaces and their devices; no addresses."""
    rooms = ["node", "out", "far"] + [f"pod-{i}" for i in range(pods)]
    lines = [f"netns add {name}-{room}" for room in rooms]
    for room in ("node", "far"):
        lines.append(f"link add {room} netns {name}-out type veth peer name eth0 netns {name}-{room}")
    lines += [f"link add pod{i} netns {name}-node type veth peer name eth0 netns {name}-pod-{i}" for i in range(pods)]
    text = f"ip -batch - <<'END' || exit 1\n" + "".join(line + "\n" for line in lines) + "END\n"
    inside = {"out": ["link add lan type bridge", "link set node master lan up", "link set far master lan up", "link set lan up"],
              "node": ["link set eth0 up"] + [f"link set pod{i} up" for i in range(pods)]}
    for room in rooms:
        text += batch(f"{name}-{room}", ["link set lo up"] + inside.get(room, ["link set eth0 up"]), False)
    return text


def settings(name, six):
    """Of kube-proxy (spec: ipvs), of a router, and no limits for refusals, which clients are to see each time."""
    values = ["net/ipv4/vs/conntrack=1", "net/ipv4/vs/expire_nodest_conn=1", "net/ipv4/vs/expire_quiescent_template=1",
              "net/ipv6/conf/all/forwarding=1" if six else "net/ipv4/ip_forward=1",
              "net/ipv6/icmp/ratelimit=0" if six else "net/ipv4/icmp_ratelimit=0"]
    lines = "".join(f"echo {v.split('=')[1]} >/proc/sys/{v.split('=')[0]} || exit 1\n" for v in values)
    return f"ip netns exec {name}-node sh <<'END' || exit 1\n{lines}END\n"


def script(name, six):
    """The lines that make the networks of one world."""
    convert = cluster.in_ipv6 if six else lambda value: value
    node, far, out = convert([cluster.NODE, cluster.FAR, cluster.OUT])
    near, away = convert(cluster.NEAR_PODS), convert(cluster.FAR_PODS)
    clients = convert([cluster.CLIENT, cluster.STRANGER])
    host, lan, quick = ("128", "64", " nodad") if six else ("32", "24", "")
    door = "fe80::1" if six else node  # what answers on a pod's link
    lines = {"out": [f"addr add {a}/{host} dev lo{quick}" for a in clients] + [f"addr add {out}/{lan} dev lan{quick}"] +
                    [f"route add {s} via {node}" for s in convert(cluster.ROUTED)["services"]] +
                    [f"route add {p}/{host} via {node}" for p in near] + [f"route add {p}/{host} via {far}" for p in away],
             "far": [f"addr add {far}/{lan} dev eth0{quick}"] + [f"addr add {p}/{host} dev lo{quick}" for p in away] +
                    [f"route add {p}/{host} via {node}" for p in near] + [f"route add default via {out}"],
             "node": [f"addr add {node}/{lan} dev eth0{quick}", f"route add default via {out}"] +
                     [f"route add {p}/{host} via {far}" for p in away]}
    for i, pod in enumerate(near):
        lines["node"] += [f"route add {pod}/{host} dev pod{i}"] + ([f"addr add fe80::1/64 dev pod{i} nodad"] if six else [])
        lines[f"pod-{i}"] = [f"addr add {pod}/{host} dev eth0{quick}", f"route add default via {door} dev eth0 onlink"]
    return links(name, len(near)) + settings(name, six) + "".join(
        batch(f"{name}-{room}", rows, six) for room, rows in lines.items())


def plan(name, six, asks):
    """The input of guest_peer: pods that listen, asks [(id, namespace, protocol, source, destination, port)], probes."""
    convert = cluster.in_ipv6 if six else lambda value: value
    near, away = convert(cluster.NEAR_PODS), convert(cluster.FAR_PODS)
    where = [(f"pod-{i}", pod) for i, pod in enumerate(near)] + [("far", pod) for pod in away]
    lines = [f"listen {name}-{room} {p} {pod} {cluster.PORT}" for room, pod in where for p in ("tcp", "udp")]
    lines += [f"ask {i} {name}-{room} {protocol} {source} {dest} {port}" for i, room, protocol, source, dest, port in asks]
    probed = [("out", convert([cluster.CLIENT])[0]), ("pod-0", near[0]), ("node", convert([cluster.NODE])[0])]
    lines += [f"probe {name}-{room} {p} {source} {pod} {cluster.PORT}" for room, source in probed
              for pod in (near[1], away[0]) for p in ("tcp", "udp")]
    return "".join(line + "\n" for line in lines)
