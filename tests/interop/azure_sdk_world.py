# SPDX-License-Identifier: Apache-2.0
"""A simulated Azure behind TLS, and Azure's own Python clients pointed at it.

Nothing of the clients is changed but what they offer to every user of another cloud than the public one: endpoint, scopes,
the api-version, and a transport, which here notes down how long the client wants to pause instead of pausing.
"""
import json
import os
import re
import signal
import ssl
import subprocess
import tempfile
import urllib.request

try:
    from azure.core.pipeline.policies import RetryPolicy, SansIOHTTPPolicy
    from azure.core.pipeline.transport import RequestsTransport
    from azure.identity import ManagedIdentityCredential
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient
    MISSING = ""
except ImportError as error:
    MISSING = str(error)
    RequestsTransport = SansIOHTTPPolicy = object

SUBSCRIPTION = "00000000-0000-4000-8000-000000000001"
TENANT = "00000000-0000-4000-8000-000000000002"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
NET, CPU = f"{GROUP}/Microsoft.Network", f"{GROUP}/Microsoft.Compute"
SUBNET = f"{NET}/virtualNetworks/vnet/subnets/sn"
PREFIX = f"{NET}/publicIPPrefixes/prefix"
PLACE = {"location": "eastus"}


class ApiVersion(SansIOHTTPPolicy):
    """A client may be younger than the cloud: asks for the cloud's api-version instead of a later one."""

    def __init__(self, version):
        super().__init__()
        self.version = version

    def on_request(self, request):
        def replaced(match):
            return f"api-version={min(match.group(1), self.version)}"
        request.http_request.url = re.sub(r"api-version=([0-9-]+)", replaced, request.http_request.url)


class Transport(RequestsTransport):
    """Pauses are noted down, not made."""

    def __init__(self, pauses):
        super().__init__()
        self.pauses = pauses

    def sleep(self, duration):
        self.pauses.append(duration)


class Cloud:
    """The simulator and its clients; use as a context manager."""

    def __init__(self, sim, schemas, **settings):
        self.folder = tempfile.mkdtemp(prefix="trimtab-sdk-")
        self.log = f"{self.folder}/traffic.log"
        self.schemas, self.pauses, self.number = schemas, [], 0
        self.process = subprocess.Popen(
            [sim, "--port=0", "--cloud=azure", "--tls", "--nodes=3", f"--write-cloud-config={self.folder}",
             f"--traffic-log={self.log}"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]
        with open(f"{self.folder}/env-azure", encoding="utf-8") as f:
            os.environ.update(line.strip().split("=", 1) for line in f)
        self.tls = ssl.create_default_context(cafile=f"{self.folder}/ca.crt")
        self.scope = f"{self.url}/.default"
        self.arrange(settings)
        self.use(ManagedIdentityCredential())

    def use(self, credential):
        self.network = self.client(NetworkManagementClient, "network", credential)
        self.compute = self.client(ComputeManagementClient, "compute", credential)
        return self

    def client(self, kind, api, credential):
        with open(f"{self.schemas}/azure-{api}.json", encoding="utf-8") as f:
            version = json.load(f)["version"]
        return kind(credential, SUBSCRIPTION, base_url=self.url, credential_scopes=[self.scope], polling_interval=1,
                    transport=Transport(self.pauses), per_call_policies=[ApiVersion(version)],
                    retry_policy=RetryPolicy(retry_total=4, retry_backoff_factor=0.5))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(180)
        self.process.stdout.close()
        subprocess.run(["rm", "-rf", self.folder], check=False)

    # --- the simulator's controls ---
    def control(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/sim/{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=180, context=self.tls) as answer:
            return json.loads(answer.read() or b"null")

    def arrange(self, settings):
        """A prefix of public addresses, which no request can make here, and how the cloud behaves."""
        state = self.control("GET", "state")
        state["azure"][PREFIX] = {**PLACE, "sku": {"name": "Standard"}, "properties": {
            "prefixLength": 28, "ipPrefix": "20.99.0.16/28", "provisioningState": "Succeeded"}}
        state.setdefault("sim", {})["azure"] = settings
        self.control("PUT", "state", state)

    def fault(self, **fault):
        self.control("POST", "faults", fault)

    def calls(self, op):
        return self.control("GET", "calls")["azure"].get(op, 0)

    def forget(self):
        """No counts, no faults, no pauses."""
        self.control("DELETE", "calls")
        self.control("DELETE", "faults")
        self.pauses.clear()

    # --- things that tests need ---
    def name(self, kind):
        """One that no other test has."""
        self.number += 1
        return f"{kind}-{self.number}"

    def make_address(self, name=None, **properties):
        body = {**PLACE, "sku": {"name": "Standard"},
                "properties": {"publicIPAllocationMethod": "Static", **properties}}
        return self.network.public_ip_addresses.begin_create_or_update("rg", name or self.name("pip"), body).result()

    def make_balancer(self, name, **more):
        """With a frontend "f" (public unless `more` says otherwise), a pool "k", a probe and a rule."""
        return self.network.load_balancers.begin_create_or_update("rg", name, self.balancer_body(name, **more)).result()

    def balancer_body(self, name, frontend=None, port=80):
        own = f"{NET}/loadBalancers/{name}"
        if frontend is None:
            frontend = {"publicIPAddress": {"id": self.make_address().id}}
        return {**PLACE, "sku": {"name": "Standard"}, "properties": {
            "frontendIPConfigurations": [{"name": "f", "properties": frontend}],
            "backendAddressPools": [{"name": "k"}],
            "probes": [{"name": "p", "properties": {"protocol": "Http", "port": 10256, "requestPath": "/healthz"}}],
            "loadBalancingRules": [{"name": "r", "properties": {
                "protocol": "Tcp", "frontendPort": port, "backendPort": port,
                "frontendIPConfiguration": {"id": f"{own}/frontendIPConfigurations/f"},
                "backendAddressPool": {"id": f"{own}/backendAddressPools/k"}, "probe": {"id": f"{own}/probes/p"}}}]}}

    def make_interface(self, name, *pools):
        body = {**PLACE, "properties": {"ipConfigurations": [{"name": "c", "properties": {
            "primary": True, "subnet": {"id": SUBNET},
            "loadBalancerBackendAddressPools": [{"id": pool} for pool in pools]}}]}}
        return self.network.network_interfaces.begin_create_or_update("rg", name, body).result()
