# SPDX-License-Identifier: Apache-2.0
"""A cluster of trimtab-sim whose AWS is either the simulator itself or moto, with a counting relay before it.

    with Cluster(programs, "moto", "Managed") as c: …      (or "sim"; "" for NLBs without security groups)

Both have the same network, machines and nodes, so that what trimtab makes in them can be compared (aws_view.py).  The relay
counts requests by action, and can stop answering after the nth write: what a controller finds that was killed there.
"""
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from aws_view import Account, View  # noqa: E402  pylint: disable=wrong-import-position
from controller_world import World  # noqa: E402  pylint: disable=wrong-import-position

# what trimtab logs when a sync begins: after an edit, and any
BEGINS = '"(?:Ensuring|Deleting existing) load balancer for service"'
LOOKS = '"(?:(?:Ensuring|Deleting existing) load balancer for service|Updating backends for load balancer)"'
APIS = {"2016-11-15": "ec2", "2012-06-01": "elb", "2015-12-01": "elbv2", "2011-06-15": "sts"}
SPARE = 2                     # machines that are no nodes of the cluster at first
NODES = 3


class Relay(http.server.ThreadingHTTPServer):
    """Passes requests on to `target`, and counts them."""
    daemon_threads = True

    def __init__(self, target):
        self.target = urllib.parse.urlsplit(target).netloc
        self.lock, self.calls, self.writes_left = threading.Lock(), {}, None
        self.held, self.released = threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), Passing)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """A controller that is killed leaves its connections as they are."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def count(self, op):
        """Counts a request; whether it is still passed on."""
        with self.lock:
            if self.held.is_set():
                return False
            self.calls[op] = self.calls.get(op, 0) + 1
            if self.writes_left is not None and ".Describe" not in op:
                self.writes_left -= 1
                if self.writes_left == 0:
                    self.held.set()
            return True

    def forget(self):
        with self.lock:
            self.calls = {}

    def hold_after(self, writes):
        """The answer of the nth write from now never comes, nor anything after it."""
        with self.lock:
            self.writes_left = writes
            self.released.clear()

    def release(self):
        with self.lock:
            self.writes_left = None
            self.held.clear()
            self.released.set()


class Passing(http.server.BaseHTTPRequestHandler):
    """One request, passed on as it is: its signature is over the Host header that it came with."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name  (the base class wants that name)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        form = urllib.parse.parse_qs(body.decode())
        api = APIS.get(form.get("Version", [""])[0], "other")
        passes = self.server.count(f"{api}.{form.get('Action', ['?'])[0]}")
        status, kind, answer = self.passed_on(body) if passes else (0, "", b"")
        if self.server.held.is_set():
            self.server.released.wait()
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def passed_on(self, body):
        connection = http.client.HTTPConnection(self.server.target, timeout=180)
        try:
            connection.putrequest("POST", self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", ""), answer.read()
        finally:
            connection.close()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Moto:
    """A moto_server of its own process."""

    def __init__(self, program):
        env = {"PATH": os.environ["PATH"], "MOTO_EC2_LOAD_DEFAULT_AMIS": "false"}
        self.process = subprocess.Popen([sys.executable, program, "-H", "127.0.0.1", "-p", "0"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.url, self.last = None, []
        for line in self.process.stderr:
            at = re.search(r"Running on (http://[0-9.:]+)", line)
            if at:
                self.url = at.group(1)
                break
        assert self.url, "moto_server does not say where it listens"
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        """Reads the log of requests, of which the last lines are kept."""
        for line in self.process.stderr:
            self.last = [*self.last[-39:], line.rstrip()]

    def stop(self):
        self.process.terminate()
        self.process.wait(180)


class Cluster(World):
    """Kubernetes by trimtab-sim, AWS by it ("sim") or by moto, and one trimtab; `boto3` is the module."""

    def __init__(self, programs, where, mode, boto3, moto_server=None):
        self.where, self.mode, self.moto, self.clients = where, mode, None, {}
        self.session = boto3.Session()  # the default one is for a single thread
        super().__init__(programs, f"--nodes={NODES + SPARE}", "--quota=tags=10", cloud="aws")     # moto's, row 31
        # syncs of the last step beside one of each touched Service: those that docs/adr/0073-own-writes-before-lists.md asks for
        # come ten seconds after a write, in whatever step that is
        self.more_looks = 0
        self.front, self.touched, self.edited, self.mark = self.url, set(), {}, 0
        nodes = self.must("GET", "/api/v1/nodes")["items"]
        if where == "moto":
            self.moto = Moto(moto_server)
            self.front = self.moto.url
            ids = self.copy_world(nodes)
            for node in nodes:
                node["spec"]["providerID"] = ids[node["spec"]["providerID"]]
        for node in nodes:
            for member in ("uid", "resourceVersion", "creationTimestamp"):
                node["metadata"].pop(member, None)
            self.must("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
        self.bodies = {n["metadata"]["name"]: n for n in nodes}
        for node in nodes[:NODES]:
            self.must("POST", "/api/v1/nodes", node)
        self.spare = [n["metadata"]["name"] for n in nodes[NODES:]]
        self.machines = {n["spec"]["providerID"].split("/")[-1]: n["metadata"]["name"] for n in nodes}
        self.relay = Relay(self.front)
        self.write_config()

    def __exit__(self, kind, value, trace):
        try:
            if kind is not None and self.moto:
                print("# moto:", "\n# ".join(self.moto.last))
            super().__exit__(kind, value, trace)
        finally:
            self.relay.release()
            self.relay.shutdown()
            self.relay.server_close()
            if self.moto:
                self.moto.stop()

    def client(self, service, url=None):
        url, env = url or self.front, self.environment()
        if (service, url) not in self.clients:
            self.clients[service, url] = self.session.client(
                service, endpoint_url=url, region_name="us-east-1", aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"])
        return self.clients[service, url]

    def copy_world(self, nodes):
        """The simulator's network and machines in moto; new provider ids by the old ones."""
        here, there = self.client("ec2", self.url), self.client("ec2")
        vpc = there.create_vpc(CidrBlock=here.describe_vpcs()["Vpcs"][0]["CidrBlock"])["Vpc"]["VpcId"]
        gateway = there.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        there.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        table, = there.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
        there.create_route(RouteTableId=table["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        groups, subnets, ids = {}, {}, {}
        for group in here.describe_security_groups()["SecurityGroups"]:
            if group["GroupName"] != "default":
                made = there.create_security_group(GroupName=group["GroupName"], Description=group["Description"], VpcId=vpc)
                groups[group["GroupId"]] = made["GroupId"]
                there.create_tags(Resources=[made["GroupId"]], Tags=group["Tags"])
        for group in here.describe_security_groups(GroupIds=list(groups))["SecurityGroups"]:
            for rule in group["IpPermissions"]:
                pairs = [{"GroupId": groups[p["GroupId"]]} for p in rule["UserIdGroupPairs"]]
                rule = {k: v for k, v in rule.items() if k in ("IpProtocol", "FromPort", "ToPort")}
                there.authorize_security_group_ingress(GroupId=groups[group["GroupId"]],
                                                       IpPermissions=[{**rule, "UserIdGroupPairs": pairs}])
        for subnet in here.describe_subnets()["Subnets"]:
            made = there.create_subnet(VpcId=vpc, CidrBlock=subnet["CidrBlock"], AvailabilityZone=subnet["AvailabilityZone"])
            subnets[subnet["SubnetId"]] = made["Subnet"]["SubnetId"]
            there.create_tags(Resources=[subnets[subnet["SubnetId"]]], Tags=subnet["Tags"])
        for machine in (i for r in here.describe_instances()["Reservations"] for i in r["Instances"]):
            made, = there.run_instances(
                ImageId="ami-12c6146b", InstanceType="m5.large", SubnetId=subnets[machine["SubnetId"]], MinCount=1, MaxCount=1,
                PrivateIpAddress=machine["PrivateIpAddress"],
                SecurityGroupIds=[groups[g["GroupId"]] for g in machine["SecurityGroups"]],
                TagSpecifications=[{"ResourceType": "instance", "Tags": machine["Tags"]}])["Instances"]
            ids[machine["InstanceId"]] = made["InstanceId"]
        with open(f"{self.conf}/aws.conf", encoding="utf-8") as f:
            text = f.read()
        self.rewrite(re.sub(r"VPC = .*", f"VPC = {vpc}", re.sub(
            r"SubnetID = (.*)", lambda at: f"SubnetID = {subnets[at.group(1)]}", text)))
        old = [n["spec"]["providerID"] for n in nodes]
        return {p: p.replace(p.split("/")[-1], ids[p.split("/")[-1]]) for p in old}

    def rewrite(self, text):
        with open(f"{self.conf}/aws.conf", "w", encoding="utf-8") as f:
            f.write(text)

    def write_config(self):
        with open(f"{self.conf}/aws.conf", encoding="utf-8") as f:
            text = f.read()
        self.vpc = re.search(r"VPC = (.*)", text).group(1)
        text = text.replace(self.url, self.relay.url)
        if self.mode:
            text = text.replace("[Global]\n", f"[Global]\nNLBSecurityGroupMode = {self.mode}\n")
        self.rewrite(text)

    def view(self):
        services = self.must("GET", self.services())["items"]
        return View(Account(self.client, self.vpc), services, self.machines).all()

    # --- what the user does: who is touched must be synced before the step is over ---
    def service(self, name, notes=None, **spec):
        self.touched.add(name)
        prefix = "service.beta.kubernetes.io/aws-load-balancer-"
        notes = {k if "/" in k else prefix + k: v for k, v in (notes or {}).items()}
        return self.create(name, {"annotations": notes} if notes else None, **spec)

    def note(self, name, **notes):
        """Annotations by the end of their names, with _ for -; None removes one."""
        prefix = "service.beta.kubernetes.io/aws-load-balancer-"
        self.change(name, {"metadata": {"annotations": {prefix + k.replace("_", "-"): v for k, v in notes.items()}}})

    def change(self, name, body):
        self.touched.add(name)
        self.edited[name] = f'"Service changed" service="default/{name}"', BEGINS
        self.patch(name, body)

    def nudge(self, name):
        """An edit that is a reason to look, and to do nothing."""
        self.change(name, {"metadata": {"annotations": {"example.com/nudge": str(len(self.log()))}}})

    def remove(self, name):
        self.touched.add(name)
        self.edited[name] = f'"Deleting existing load balancer for service" service="default/{name}"', BEGINS
        self.delete(name)

    def zones(self):
        """Subnets of the cluster's network with their zones."""
        here = [{"Name": "vpc-id", "Values": [self.vpc]}]
        return {s["SubnetId"]: s["AvailabilityZone"] for s in self.client("ec2").describe_subnets(Filters=here)["Subnets"]}

    def make_group(self, name):
        return self.client("ec2").create_security_group(GroupName=name, Description=name, VpcId=self.vpc)["GroupId"]

    def drop_group(self, group):
        self.client("ec2").delete_security_group(GroupId=group)

    def lose_balancers(self):
        """Somebody deletes all of both kinds."""
        for lb in self.client("elbv2").describe_load_balancers()["LoadBalancers"]:
            self.client("elbv2").delete_load_balancer(LoadBalancerArn=lb["LoadBalancerArn"])
        for lb in self.client("elb").describe_load_balancers()["LoadBalancerDescriptions"]:
            self.client("elb").delete_load_balancer(LoadBalancerName=lb["LoadBalancerName"])

    def all_services(self):
        return [s["metadata"]["name"] for s in self.must("GET", self.services())["items"]
                if s["spec"]["type"] == "LoadBalancer"]

    def touch_nodes(self):
        self.touched.update(self.all_services())
        self.edited.update({n: ('"Syncing backends for all LB services"', LOOKS) for n in self.touched})

    def add_node(self):
        self.touch_nodes()
        self.must("POST", "/api/v1/nodes", self.bodies[self.spare[0]])

    def drop_node(self):
        self.touch_nodes()
        self.must("DELETE", f"/api/v1/nodes/{self.spare[0]}")

    def restart(self):
        self.stop()
        self.begin()
        self.touched.update(self.all_services())
        self.start()

    # --- steps ---
    def begin(self):
        self.relay.forget()
        self.touched, self.edited, self.mark = set(), {}, len(self.log())

    def start(self, *flags):
        self.mark = 0
        return super().start(*flags)

    def settle(self, fails=()):
        """Until each touched Service was synced, those in `fails` without success."""
        def ended():
            log = self.log()[self.mark:]
            wrong = [line for line in log.splitlines() if '"Error syncing' in line or '"Fault of' in line]
            assert fails or not wrong, wrong
            return all(self.is_synced(log, name, "Error syncing service" if name in fails else "Synced") for name in self.touched)
        self.until(f"{sorted(self.touched)} are synced", ended)
        calls, log = dict(self.relay.calls), self.log()[self.mark:]
        syncs = max(len(re.findall(LOOKS, log)), log.count('"Synced"'))  # the step may begin within one
        self.more_looks = max(0, syncs - len(self.touched))
        return calls

    def is_synced(self, log, name, said):
        """Of an edited Service a sync counts that began after trimtab had seen the edit: it may look at it at any time, too."""
        if name in self.edited:
            seen, begins = self.edited[name]
            at = log.rfind(seen)
            begins = re.compile(f'{begins} service="default/{name}"').search(log, at) if at >= 0 else None
            log = log[begins.start():] if begins else ""
        return any(f'"{said}"' in line and f'service="default/{name}"' in line for line in log.splitlines())

    def plan(self):
        """The operations that trimtab would carry out now; none is expected.  moto's NLBs do not say at first whether logs are on (row 12
        of docs/spec/aws.md §10.4), which is told to each once."""
        run = subprocess.run([self.trimtab_exe, "plan", "-o", "json", "--cloud-provider=aws",
                              f"--cloud-config={self.conf}/aws.conf", f"--kubeconfig={self.kubeconfig}"],
                             capture_output=True, text=True, check=False, env=self.environment())
        if run.returncode == 1:
            return run.stderr.splitlines()
        operations = [(s["service"], o) for s in json.loads(run.stdout)["services"] for o in s["operations"] if o["verb"] != "keep"]
        logs = [{"path": "access_logs.s3.enabled", "old": None, "new": "false"}]
        return [f"{service}: {o}" for service, o in operations
                if self.where != "moto" or [{**f, "old": f.get("old")} for f in o["fields"]] != logs]
