# SPDX-License-Identifier: Apache-2.0
"""What was asked of AWS and what is there, in a form in which two runs can be compared.

Ids and ARNs differ from run to run, names do not: every id that a create gave becomes the name that was asked for.  The order of
lists does not count, and how rules and targets are spread over calls does not, either.

    names = Names()
    said = statements(exchanges, names)      {("CreateTargetGroup", "tg:k8s-…"): {"Port": "30080", "Tags": "…"}}
    documents(world["aws"])                  {"elbv2.TargetGroups k8s-…": {"Port": …}}
"""
import base64
import json
import re
import time

import aws_client

GIVES = {"CreateSecurityGroup": ".//groupId", "CreateLoadBalancer": ".//LoadBalancerArn",
         "CreateTargetGroup": ".//TargetGroupArn", "CreateListener": ".//ListenerArn"}
SUBJECTS = ("Name", "LoadBalancerName", "GroupName", "ListenerArn", "TargetGroupArn", "GroupId", "LoadBalancerArn")
RULES = ("AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress", "UpdateSecurityGroupRuleDescriptionsIngress")
MEMBERS = {"RegisterTargets", "DeregisterTargets", "RegisterInstancesWithLoadBalancer",
           "DeregisterInstancesFromLoadBalancer"}
# Said by the cloud, not by who asked: times, addresses, states, and defaults where the recorded one (moto) is not as AWS is.
INCIDENTAL = {"CreatedTime", "DNSName", "CanonicalHostedZoneId", "CanonicalHostedZoneName", "CanonicalHostedZoneNameID", "State",
              "TargetHealth", "SecurityGroupArn", "AdditionalAttributes", "AvailabilityZones", "OwnerId", "UserId",
              "SourceSecurityGroup", "BackendServerDescriptions", "ForwardConfig", "LoadBalancerArns", "Matcher",
              "HealthCheckTimeoutSeconds"}


class Names:
    """id or ARN -> name."""

    def __init__(self, known=()):
        self.known = dict(known)

    def of(self, text):
        return self.known.get(text, text)

    def learn(self, action, params, gave):
        if not gave:
            return
        if action == "CreateListener":
            self.known[gave] = f"listener:{self.of(params['LoadBalancerArn'])}:{params['Port']}"
        elif action == "CreateTargetGroup":
            self.known[gave] = "tg:" + params["Name"]
        else:
            self.known[gave] = params.get("Name") or params["GroupName"]


def recorded(entry):
    """(action, params, id that was given) of a line of requests.jsonl."""
    params = {k: v for k, v in entry["request"].items() if k not in ("Action", "Version")}
    return entry["request"]["Action"], params, entry.get("gave")


def logged(entry):
    """The same of a line of the simulator's traffic log."""
    import urllib.parse  # pylint: disable=import-outside-toplevel
    params = dict(urllib.parse.parse_qsl(entry["request"], keep_blank_values=True))
    action = params.pop("Action")
    params.pop("Version")
    gave = aws_client.Answer(entry["response"], {}).text(GIVES[action]) if action in GIVES else None
    return action, params, gave


def _items(params, names):
    """{"Port": "80", "Tags": ["…", "…"]}: numbered parameters as sorted lists of texts."""
    plain, lists = {}, {}
    for name, value in params.items():
        value = names.of(value)
        found = re.fullmatch(r"(\w+?)(?:\.member)?\.(\d+)(?:\.(.+))?", name)
        if found is None:
            plain[name] = value
        else:
            lists.setdefault(found[1], {}).setdefault(found[2], {})[found[3] or ""] = value
    for name, items in lists.items():
        plain[name] = sorted(" ".join(f"{k}={v}" for k, v in sorted(item.items())) for item in items.values())
    return plain


def _rules(params, names):
    """Rules one by one, whatever permission they came in."""
    found, permissions = [], {}
    for name, value in params.items():
        at = re.fullmatch(r"IpPermissions\.(\d+)\.(.+)", name)
        if at is not None:
            permissions.setdefault(at[1], {})[at[2]] = names.of(value)
    for p in permissions.values():
        ports = f"{p['IpProtocol']} {p.get('FromPort', '')}-{p.get('ToPort', '')}"
        for name, value in p.items():
            at = re.fullmatch(r"((?:IpRanges|Groups)\.\d+)\.(CidrIp|GroupId)", name)
            if at is not None:
                found.append(f"{ports} {value} {p.get(at[1] + '.Description', '')}".strip())
    return found


def statements(exchanges, names):
    """{(action, subject): {member: value}} of the writes among (action, params, gave)."""
    said = {}
    for action, params, gave in exchanges:
        if action.startswith("Describe"):
            continue
        names.learn(action, params, gave)
        subject = names.of(next(params[s] for s in SUBJECTS if s in params))
        if action == "CreateListener":
            subject = names.of(gave) if gave else f"listener:{subject}:{params['Port']}"
        if action in RULES:
            key, members = (action, subject), {"rules": _rules(params, names)}
        else:
            key, members = (action, subject), _items(params, names)
        if action in RULES or action in MEMBERS:  # one call or several
            for name, value in members.items():
                old = said.setdefault(key, {}).get(name, [])
                said[key][name] = sorted(old + value) if isinstance(value, list) else value
        else:
            said[key] = members
    return said


# --- tokens -------------------------------------------------------------------------------------------------

def identity_token(subject, life_s=3600):
    """A service account's token (JWT) as a kubelet writes it; its signature is none, which the simulator does not look at."""
    def part(o):
        return base64.urlsafe_b64encode(json.dumps(o).encode()).decode().rstrip("=")
    claims = {"iss": "https://issuer.example", "sub": subject, "exp": int(time.time()) + life_s, "aud": ["sts.amazonaws.com"]}
    return ".".join((part({"alg": "RS256", "typ": "JWT"}), part(claims), "c2ln"))


# --- documents ----------------------------------------------------------------------------------------------

def _plain(v):
    if isinstance(v, dict):
        return {k: _plain(x) for k, x in sorted(v.items()) if k not in INCIDENTAL and x not in (None, [], {})}
    if isinstance(v, list):
        return sorted((_plain(x) for x in v), key=lambda x: json.dumps(x, sort_keys=True))
    return v


def documents(aws):
    """{"KIND NAME": document} of what balancers consist of, with names for ids."""
    ids = {g["GroupId"]: g["GroupName"] for g in aws["ec2"]["SecurityGroups"] if g["GroupName"] != "default"}
    v2, elb = aws.get("elbv2", {}), aws.get("elb", {})
    ids.update((b["LoadBalancerArn"], b["LoadBalancerName"]) for b in v2.get("LoadBalancers", ()))
    ids.update((t["TargetGroupArn"], t["TargetGroupName"]) for t in v2.get("TargetGroups", ()))
    ids.update((e["ListenerArn"], f"{ids[e['LoadBalancerArn']]}:{e['Port']}") for e in v2.get("Listeners", ()))
    text = json.dumps(aws)
    for i, name in sorted(ids.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(json.dumps(i), json.dumps(name))
    aws = json.loads(text)
    v2, elb, found = aws.get("elbv2", {}), aws.get("elb", {}), {}
    lists = (("group", aws["ec2"]["SecurityGroups"], "GroupName"), ("nlb", v2.get("LoadBalancers", ()), "LoadBalancerName"),
             ("target group", v2.get("TargetGroups", ()), "TargetGroupName"), ("listener", v2.get("Listeners", ()), "ListenerArn"),
             ("tags", v2.get("Tags", ()), "ResourceArn"), ("classic", elb.get("LoadBalancerDescriptions", ()), "LoadBalancerName"),
             ("classic tags", elb.get("Tags", ()), "LoadBalancerName"))
    for kind, items, name in lists:
        found.update((f"{kind} {d[name]}", _plain(d)) for d in items)
    for kind, members in (("nlb attributes", v2.get("Attributes", {})), ("targets", v2.get("TargetHealth", {})),
                          ("classic attributes", elb.get("Attributes", {}))):
        found.update((f"{kind} {name}", {"all": _plain(d)}) for name, d in members.items())
    for name, document in found.items():
        if name.startswith("group "):
            document["IpPermissions"] = _spread(document.get("IpPermissions", []))
        if name.startswith("targets "):    # "traffic-port" or its number
            document["all"] = sorted(f"{t['Target']['Id']}:{t['Target']['Port']}" for t in document["all"])
    return found


def _spread(permissions):
    """Rules one by one."""
    rules = []
    for p in permissions:
        ports = f"{p['IpProtocol']} {p.get('FromPort', '')}-{p.get('ToPort', '')}"
        rules += [f"{ports} {r.get('CidrIp') or r.get('GroupId')} {r.get('Description', '')}".strip()
                  for r in p.get("IpRanges", []) + p.get("UserIdGroupPairs", [])]
    return sorted(rules)
