#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulated AWS against a recorded client, a recorded world and the schema packs.

    aws_traffic_test.py TRIMTAB_SIM DATA TEST_SIM_AWS FILE…      (TAP on stdout)

Sends trimtab-sim every request that the Go controller made in the recorded scenarios, with the ids that the simulator gave in
place of the recorded ones (statuses must be of the same class), reads every document of the recorded world, and lets
check_traffic.py judge the logs.  Then runs the simulator's own unit tests and judges what they sent and got: every answer, and
every request that was accepted.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import aws_client  # noqa: E402
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, DATA, UNIT_TESTS, FILES = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
sys.path.insert(0, f"{DATA}/schemas")
LATER = ("i-68c9f5160ea427f60",)    # the instance that one scenario adds
GIVES = {"CreateSecurityGroup": ".//groupId", "CreateLoadBalancer": ".//LoadBalancerArn",
         "CreateTargetGroup": ".//TargetGroupArn", "CreateListener": ".//ListenerArn"}
# Where moto is laxer than AWS, the simulator is AWS: (scenario, action) -> why the status differs.
STRICTER = {}


class Sim:
    """A running simulator and a client that signs."""

    def __init__(self, folder, world):
        self.log = os.path.join(folder, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", "--cloud=aws", f"--world={world}", f"--traffic-log={self.log}", f"--write-cloud-config={folder}"],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        with open(f"{folder}/env-aws", encoding="utf-8") as f:
            env = dict(line.rstrip("\n").split("=", 1) for line in f)
        self.client = aws_client.Client(self.url, env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"])

    def control(self, method, path, body=None):
        connection = self.client.connection
        connection.request(method, path, None if body is None else json.dumps(body))
        return json.loads(connection.getresponse().read() or b"null")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def recorded_world():
    with open(f"{DATA}/aws/world.json", encoding="utf-8") as f:
        return json.load(f)


def base_world(folder):
    """The recorded cluster before any controller did anything."""
    world = recorded_world()
    ec2 = world["aws"]["ec2"]
    ec2["SecurityGroups"] = [g for g in ec2["SecurityGroups"] if not g["GroupName"].startswith("k8s-elb-")]
    for group in ec2["SecurityGroups"]:
        group["IpPermissions"] = []
    path = os.path.join(folder, "world.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"aws": {"ec2": ec2}, "cloud_config": world["cloud_config"]}, f)
    return path


def replay(sim):
    """Sends the recorded requests; those whose status is of another class than the recorded one."""
    wrong, scenarios, ids = [], [], {}
    with open(f"{DATA}/aws/requests.jsonl", encoding="utf-8") as f:
        entries = [json.loads(line) for line in f]
    for entry in entries:
        if entry["scenario"] not in scenarios:
            scenarios.append(entry["scenario"])
        action = entry["request"]["Action"]
        params = {k: v for k, v in entry["request"].items() if k not in ("Action", "Version")}
        for was, now in ids.items():
            params = {k: v.replace(was, now) for k, v in params.items()}
        status, answer = sim.client.call(entry["api"].split("-")[1], action, params)
        if "gave" in entry and status == 200:
            ids[entry["gave"]] = answer.text(GIVES[action])
        if status // 100 != entry["status"] // 100 and (entry["scenario"], action) not in STRICTER:
            wrong.append(f"{entry['scenario']}: {action} {params}: {status}, recorded {entry['status']}: {answer.raw}")
    return len(scenarios), len(entries), wrong


def read_everything(sim):
    """Every list, whole and in pages; and that every document of the world is in it."""
    aws, wrong, seen = recorded_world()["aws"], [], 0
    lists = [
        ("ec2", "DescribeVpcs", "vpcSet/item/vpcId", [v["VpcId"] for v in aws["ec2"]["Vpcs"]]),
        ("ec2", "DescribeSubnets", "subnetSet/item/subnetId", [s["SubnetId"] for s in aws["ec2"]["Subnets"]]),
        ("ec2", "DescribeRouteTables", "routeTableSet/item/routeTableId", [t["RouteTableId"] for t in aws["ec2"]["RouteTables"]]),
        ("ec2", "DescribeSecurityGroups", "securityGroupInfo/item/groupId", [g["GroupId"] for g in aws["ec2"]["SecurityGroups"]]),
        ("ec2", "DescribeAvailabilityZones", "availabilityZoneInfo/item/zoneName",
         [z["ZoneName"] for z in aws["ec2"]["AvailabilityZones"]]),
        ("ec2", "DescribeInstances", "reservationSet/item/instancesSet/item/instanceId",
         [i["InstanceId"] for r in aws["ec2"]["Reservations"] for i in r["Instances"]]),
        ("elb", "DescribeLoadBalancers", ".//LoadBalancerDescriptions/member/LoadBalancerName",
         [b["LoadBalancerName"] for b in aws["elb"]["LoadBalancerDescriptions"]]),
        ("elbv2", "DescribeLoadBalancers", ".//LoadBalancers/member/LoadBalancerArn",
         [b["LoadBalancerArn"] for b in aws["elbv2"]["LoadBalancers"]]),
        ("elbv2", "DescribeTargetGroups", ".//TargetGroups/member/TargetGroupArn",
         [t["TargetGroupArn"] for t in aws["elbv2"]["TargetGroups"]]),
    ]
    for size in (0, 2):
        sim.control("PUT", "/sim/settings/aws", {"page_size": size} if size else {})
        for service, action, path, want in lists:
            got, token = [], None
            while True:
                page = {"NextToken" if service == "ec2" else "Marker": token} if token else {}
                status, answer = sim.client.call(service, action, page)
                got += answer.all(path)
                token = answer.text("nextToken") or answer.text(".//NextMarker")
                if status != 200 or not token:
                    break
            seen += len(got)
            if status != 200 or sorted(got) != sorted(want):
                wrong.append(f"{service} {action}, pages of {size}: {status}, {got} instead of {want}")
    return seen, wrong


def check_log(log):
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", "--strict-errors", log],
                         capture_output=True, text=True, check=False)
    lines = (run.stdout + run.stderr).strip().splitlines()
    return lines[-1], lines[:-1] if run.returncode else []


def check_world(report):
    with tempfile.TemporaryDirectory() as folder:
        sim = Sim(folder, f"{DATA}/aws/world.json")
        before = sim.control("GET", "/sim/state")
        report.check("a recorded world is dumped as it came", [] if before["aws"] == recorded_world()["aws"] else ["another one"])
        sim.control("PUT", "/sim/state", before)
        after = sim.control("GET", "/sim/state")
        report.check("a state that is put back is the same", [] if before == after else ["another one"])
        seen, wrong = read_everything(sim)
        report.check(f"{seen} documents are listed, whole and in pages", wrong if seen else ["nothing is listed"])
        sim.stop()
        last, wrong = check_log(sim.log)
        report.check(f"recorded world: check_traffic: {last}", wrong)


def judge_unit_test(folder):
    """Violations in the logs of a unit test: of answers, and of requests that were accepted."""
    import check_traffic
    packs = check_traffic.load_packs(f"{DATA}/schemas")
    options = type("Options", (), {"strict_readonly": False, "strict_errors": True})
    wrong, seen = [], 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as log:
            for line in log:
                entry = json.loads(line)
                op, found = check_traffic.check_exchange(packs, entry, options)
                seen += 1
                refused = (entry["status"] or 0) >= 400
                wrong += [f"{name}: {op or entry['path']} {side} {path}: {message}" for side, path, message in found
                          if not refused or side == "response"]
    return seen, wrong


def main():
    try:
        import jsonschema  # noqa: F401  the checker needs it
    except ImportError:
        return tap.skip("python3-jsonschema is not installed")
    report = tap.Report()
    with tempfile.TemporaryDirectory() as folder:
        sim = Sim(folder, base_world(folder))
        scenarios, count, wrong = replay(sim)
        report.check(f"{count} requests of {scenarios} recorded scenarios get statuses of the recorded class", wrong)
        status = sim.stop()
        report.check("SIGTERM ends with 0", [] if status == 0 else [f"exit {status}"])
        last, wrong = check_log(sim.log)
        report.check(f"recorded requests: check_traffic: {last}", wrong)
    check_world(report)
    for name in FILES:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([UNIT_TESTS, name], env={**os.environ, "TRIMTAB_AWS_LOGS": folder}, capture_output=True, check=False)
            seen, wrong = judge_unit_test(folder)
            report.check(f"test-sim-aws-{name}: {seen} exchanges", wrong)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
