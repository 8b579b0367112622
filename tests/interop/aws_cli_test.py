#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line of AWS against the simulated AWS: what a user types while a load balancer is down.

    aws_cli_test.py TRIMTAB_SIM DATA [TEST…]      (TAP on stdout; skipped where `aws` is absent)

TRIMTAB_AWS_PYTHON names a Python that `aws` was installed for, where it is not on the path.

Each command runs in the environment of env-aws alone, so that file must be all that a client needs.  To start the program takes
longer than a command, so where it is a Python script its interpreter runs one command after another (SERVE); the commands that
judge the program's start and its output as text run on their own.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

SIM, DATA = sys.argv[1], sys.argv[2]
BESIDE = os.path.dirname(os.environ.get("TRIMTAB_AWS_PYTHON", ""))
AWS = shutil.which("aws", path=os.pathsep.join(filter(None, [os.environ.get("PATH"), BESIDE])))
PYTHON = None  # set by main()


# Reads the words of a command in JSON, a line each; writes its exit code, stdout and stderr in the same way.
SERVE = """
import contextlib, io, json, sys
from awscli.clidriver import create_clidriver
driver, answers = create_clidriver(), sys.stdout
for line in sys.stdin:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = driver.main(json.loads(line))
        except SystemExit as e:
            code = e.code
    print(json.dumps([code or 0, *(f.buffer.getvalue().decode() for f in (out, err))]), file=answers, flush=True)
"""


def interpreter():
    """The Python that runs the program `aws`; None: it is no script of one that has awscli."""
    with open(AWS, "rb") as f:
        first = f.readline().decode(errors="replace").split()
    python = first[0][2:] if first and first[0].startswith("#!") and "python" in first[0] else BESIDE and os.environ["TRIMTAB_AWS_PYTHON"]
    known = python or sys.executable
    found = subprocess.run([known, "-c", "import awscli.clidriver"], capture_output=True, check=False)
    return known if found.returncode == 0 else None


class Cloud:
    def __init__(self, *flags):
        self.server = None
        self.home = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.home.name, "traffic.log")
        self.process = subprocess.Popen(
            [SIM, "--port=0", "--cloud=aws", "--nodes=3", f"--traffic-log={self.log}", f"--write-cloud-config={self.home.name}", *flags],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        with open(os.path.join(self.home.name, "env-aws"), encoding="utf-8") as f:
            self.env = dict(line.rstrip("\n").split("=", 1) for line in f)
        self.env |= {"PATH": os.environ["PATH"], "HOME": self.home.name, "AWS_PAGER": "", "AWS_MAX_ATTEMPTS": "1"}

    def run(self, *words):
        words = [*words, "--output", "json"]
        if not PYTHON:
            return subprocess.run([AWS, *words], env=self.env, capture_output=True, text=True, check=False)
        if self.server is None:
            self.server = subprocess.Popen([PYTHON, "-c", SERVE], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(json.dumps(words), file=self.server.stdin, flush=True)
        code, out, err = json.loads(self.server.stdout.readline())
        return types.SimpleNamespace(returncode=code, stdout=out, stderr=err)

    def aws(self, *words):
        run = self.run(*words)
        assert run.returncode == 0, (words, run.stderr)
        return json.loads(run.stdout or "null")

    def refused(self, code, *words):
        run = self.run(*words)
        assert run.returncode != 0 and f"({code})" in run.stderr, (words, run.stdout, run.stderr)

    def stop(self):
        if self.server is not None:
            self.server.communicate()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(180)
        return status


def test_identity__of_the_environment__is_known(cloud):
    run = subprocess.run([AWS, "sts", "get-caller-identity", "--output", "json"], env=cloud.env, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["Account"] == cloud.aws("sts", "get-caller-identity")["Account"] == "123456789012"


def test_ec2__described_and_filtered__as_text_for_people(cloud):
    run = subprocess.run([AWS, "ec2", "describe-instances", "--query", "Reservations[].Instances[].PrivateDnsName", "--output", "text"],
                         env=cloud.env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["ip-10-0-0-10.ec2.internal", "ip-10-0-64-10.ec2.internal", "ip-10-0-128-10.ec2.internal"], run.stdout
    subnets = cloud.aws("ec2", "describe-subnets", "--filters", "Name=tag:kubernetes.io/role/elb,Values=1")["Subnets"]
    assert len(subnets) == 3, subnets


def test_groups__made_and_removed__by_hand(cloud):
    vpc = cloud.aws("ec2", "describe-vpcs")["Vpcs"][0]["VpcId"]
    group = cloud.aws("ec2", "create-security-group", "--group-name", "g", "--description", "d", "--vpc-id", vpc)["GroupId"]
    cloud.aws("ec2", "authorize-security-group-ingress", "--group-id", group, "--protocol", "tcp", "--port", "443", "--cidr", "10.0.0.0/8")
    cloud.aws("ec2", "create-tags", "--resources", group, "--tags", "Key=a,Value=b")
    got = cloud.aws("ec2", "describe-security-groups", "--group-ids", group)["SecurityGroups"][0]
    assert got["IpPermissions"][0]["IpRanges"] == [{"CidrIp": "10.0.0.0/8"}] and got["Tags"] == [{"Key": "a", "Value": "b"}], got
    cloud.aws("ec2", "delete-security-group", "--group-id", group)
    cloud.refused("InvalidGroup.NotFound", "ec2", "describe-security-groups", "--group-ids", group)


def test_balancers__of_both_generations__made_listed_and_removed(cloud):
    subnets = [s["SubnetId"] for s in cloud.aws("ec2", "describe-subnets")["Subnets"]]
    cloud.aws("elb", "create-load-balancer", "--load-balancer-name", "c", "--subnets", *subnets, "--listeners",
              "Protocol=TCP,LoadBalancerPort=80,InstanceProtocol=TCP,InstancePort=30080")
    listed = cloud.aws("elb", "describe-load-balancers")["LoadBalancerDescriptions"]
    assert [b["LoadBalancerName"] for b in listed] == ["c"], listed
    cloud.aws("elb", "delete-load-balancer", "--load-balancer-name", "c")
    made = cloud.aws("elbv2", "create-load-balancer", "--name", "n", "--type", "network", "--subnets", *subnets)
    arn = made["LoadBalancers"][0]["LoadBalancerArn"]
    assert cloud.aws("elbv2", "describe-listeners", "--load-balancer-arn", arn)["Listeners"] == []
    vpc = cloud.aws("ec2", "describe-vpcs")["Vpcs"][0]["VpcId"]
    group = cloud.aws("elbv2", "create-target-group", "--name", "t", "--protocol", "TCP", "--port", "30080", "--vpc-id", vpc)
    group = group["TargetGroups"][0]["TargetGroupArn"]
    cloud.aws("elbv2", "create-listener", "--load-balancer-arn", arn, "--protocol", "TCP", "--port", "80",
              "--default-actions", f"Type=forward,TargetGroupArn={group}")
    machine = cloud.aws("ec2", "describe-instances")["Reservations"][0]["Instances"][0]["InstanceId"]
    cloud.aws("elbv2", "register-targets", "--target-group-arn", group, "--targets", f"Id={machine}")
    health = cloud.aws("elbv2", "describe-target-health", "--target-group-arn", group)["TargetHealthDescriptions"]
    assert [(h["Target"]["Id"], h["Target"]["Port"], h["TargetHealth"]["State"]) for h in health] == [(machine, 30080, "healthy")]
    cloud.aws("elbv2", "add-tags", "--resource-arns", arn, "--tags", "Key=a,Value=b")
    tags = cloud.aws("elbv2", "describe-tags", "--resource-arns", arn)["TagDescriptions"][0]["Tags"]
    assert tags == [{"Key": "a", "Value": "b"}], tags
    cloud.aws("elbv2", "wait", "load-balancer-available", "--load-balancer-arns", arn)
    cloud.aws("elbv2", "delete-load-balancer", "--load-balancer-arn", arn)
    cloud.aws("elbv2", "delete-target-group", "--target-group-arn", group)
    cloud.refused("LoadBalancerNotFound", "elbv2", "describe-load-balancers", "--names", "n")


def test_tls__ca_of_the_environment__is_trusted(_cloud):
    cloud = Cloud("--tls")
    try:
        assert cloud.url.startswith("https://") and cloud.aws("ec2", "describe-vpcs")["Vpcs"]
    finally:
        cloud.stop()
        cloud.home.cleanup()


def test_traffic__all_of_it__is_what_the_schemas_allow(cloud):
    assert cloud.stop() == 0
    run = subprocess.run([sys.executable, f"{DATA}/schemas/check_traffic.py", "--strict-errors", cloud.log],
                         capture_output=True, text=True, check=False)
    if "python3-jsonschema" in run.stderr:
        raise tap.Absent("python3-jsonschema is not installed")
    assert run.returncode == 0, run.stdout + run.stderr


def main():
    global PYTHON  # pylint: disable=global-statement
    if not AWS:
        return tap.skip("aws is not installed (pip install awscli)")
    PYTHON = interpreter()
    cloud = Cloud()
    try:
        return tap.run(tap.tests_of(globals(), sys.argv[3:]), cloud)
    finally:
        if cloud.process.poll() is None:
            cloud.stop()
        cloud.home.cleanup()


if __name__ == "__main__":
    sys.exit(main())
