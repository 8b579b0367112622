#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Azure's own Python clients (azure-identity, azure-mgmt-network, azure-mgmt-compute) against the simulated Azure.

    azure_sdk_test.py TRIMTAB_SIM DATA [TEST…]      (TAP on stdout; skipped where the modules are absent)

TRIMTAB_AZURE_PYTHON names the Python that has the modules, where it is not the one that runs this: that of a venv with
`pip install azure-identity azure-mgmt-network azure-mgmt-compute`.

The clients bring their own pollers, pagers, retries and parsers of errors: what they make of the simulator's answers is
what programs for the real cloud would make of them.  At the end all traffic is checked against the schemas.
"""
import base64
import datetime
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from azure_sdk_world import CPU, MISSING, NET, PLACE, PREFIX, SUBNET, TENANT, Cloud  # noqa: E402
import tap  # noqa: E402  pylint: disable=wrong-import-position

if not MISSING:
    from azure.core import MatchConditions
    from azure.core.exceptions import (ClientAuthenticationError, HttpResponseError, ResourceExistsError,
                                       ResourceModifiedError, ResourceNotFoundError)
    from azure.identity import (CertificateCredential, ClientSecretCredential, ManagedIdentityCredential,
                                WorkloadIdentityCredential)
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

SIM, DATA = sys.argv[1], sys.argv[2]
SCHEMAS = f"{DATA}/schemas"


def refused(status, code, action, *args, **kw):
    """The error as the client understood it."""
    try:
        answer = action(*args, **kw)
        if hasattr(answer, "result"):
            answer = answer.result()
    except HttpResponseError as error:
        assert error.status_code == status and error.error and error.error.code == code, (error.status_code, error)
        return error
    raise AssertionError(f"not refused with {code}: {answer}")


def names(items):
    return sorted(item.name for item in items)


def last(resource_id):
    return resource_id.split("/")[-1]


# --- credentials -------------------------------------------------------------------------------------

def directory(cloud):
    return {"tenant_id": TENANT, "client_id": "me", "authority": cloud.url, "disable_instance_discovery": True}


def is_let_in(cloud, credential):
    cloud.use(credential)
    return names(cloud.network.network_security_groups.list("rg")) == ["nsg"] and \
        names(cloud.compute.virtual_machine_scale_sets.list("rg")) == ["vmss"]


def test_credentials__client_secret__let_in(cloud):
    assert is_let_in(cloud, ClientSecretCredential(client_secret="sim-client-secret", **directory(cloud)))


def test_credentials__wrong_secret__refused_by_the_directory(cloud):
    cloud.use(ClientSecretCredential(client_secret="guess", **directory(cloud)))
    try:
        list(cloud.network.load_balancers.list("rg"))
    except ClientAuthenticationError as error:
        assert "7000215" in str(error), error
    else:
        raise AssertionError("a wrong secret was let in")


def test_credentials__certificate__let_in(cloud):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    me = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = x509.CertificateBuilder(me, me, key.public_key(), 1, now - day, now + day).sign(key, hashes.SHA256())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.NoEncryption()) + certificate.public_bytes(serialization.Encoding.PEM)
    assert is_let_in(cloud, CertificateCredential(certificate_data=pem, **directory(cloud)))


def test_credentials__workload_identity__let_in(cloud):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
    path = f"{cloud.folder}/federated-token"
    with open(path, "w", encoding="utf-8") as f:
        claims = {"aud": ["api://AzureADTokenExchange"], "iss": "https://cluster", "sub": "system:serviceaccount:kube-system:ccm", "exp": 4102444800}
        f.write(".".join([part({"alg": "RS256", "kid": "k"}), part(claims), "c2ln"]))
    assert is_let_in(cloud, WorkloadIdentityCredential(token_file_path=path, **directory(cloud)))


def test_credentials__managed_identity__let_in_by_the_environment_alone(cloud):
    assert is_let_in(cloud, ManagedIdentityCredential())


# --- public addresses --------------------------------------------------------------------------------

def test_public_address__made_read_tagged_deleted__as_the_client_expects(cloud):
    addresses, name = cloud.network.public_ip_addresses, cloud.name("pip")
    made = cloud.make_address(name, idleTimeoutInMinutes=10, dnsSettings={"domainNameLabel": name})
    assert made.provisioning_state == "Succeeded" and made.ip_address.startswith("20.42."), made
    assert made.dns_settings.fqdn == f"{name}.eastus.cloudapp.azure.com", made.dns_settings
    assert made.idle_timeout_in_minutes == 10 and made.sku.name == "Standard", made
    assert addresses.get("rg", name).as_dict() == made.as_dict()
    assert name in names(addresses.list("rg")) and name in names(addresses.list_all())
    tagged = addresses.update_tags("rg", name, {"tags": {"a": "b"}})
    assert tagged.tags == {"a": "b"} and tagged.etag != made.etag and tagged.ip_address == made.ip_address, tagged
    addresses.begin_delete("rg", name).result()
    assert refused(404, "ResourceNotFound", addresses.get, "rg", name).__class__ is ResourceNotFoundError


def test_public_address__of_a_prefix__lies_in_it(cloud):
    made = cloud.make_address(publicIPPrefix={"id": PREFIX})
    assert made.ip_address.startswith("20.99.0.") and last(made.public_ip_prefix.id) == "prefix", made
    refused(400, "InvalidResourceReference", cloud.make_address, publicIPPrefix={"id": PREFIX + "x"})


def test_public_address__family_and_timeout__given_and_limited(cloud):
    made = cloud.make_address(publicIPAddressVersion="IPv6")
    assert ":" in made.ip_address, made
    refused(400, "PublicIPAddressIdleTimeoutOutOfRange", cloud.make_address, idleTimeoutInMinutes=31)
    body = {**PLACE, "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static",
                                                                  "publicIPAddressVersion": "IPv4"}}
    refused(400, "PublicIPAddressVersionCannotBeChanged",
            cloud.network.public_ip_addresses.begin_create_or_update, "rg", made.name, body)


# --- etags -------------------------------------------------------------------------------------------

def test_etag__of_an_older_state__412_and_nothing_changes(cloud):
    addresses = cloud.network.public_ip_addresses
    old = cloud.make_address()
    new = addresses.update_tags("rg", old.name, {"tags": {"a": "b"}})
    error = refused(412, "PreconditionFailed", addresses.begin_create_or_update, "rg", old.name, old.as_dict(),
                    headers={"If-Match": old.etag})
    assert isinstance(error, HttpResponseError) and addresses.get("rg", old.name).etag == new.etag, error
    kept = addresses.begin_create_or_update("rg", new.name, new.as_dict(), headers={"If-Match": new.etag}).result()
    assert kept.etag == new.etag, "what is written back as it was read is no change"


def test_etag__instance_with_a_condition__412_is_resource_modified(cloud):
    instances = cloud.compute.virtual_machine_scale_set_vms
    old = instances.get("rg", "vmss", "0")
    pool = f"{cloud.make_balancer(cloud.name('lb')).id}/backendAddressPools/k"
    join(cloud, "0", pool)
    try:
        instances.begin_update("rg", "vmss", "0", old.as_dict(), etag=old.etag,
                               match_condition=MatchConditions.IfNotModified).result()
        raise AssertionError("an old etag was accepted")
    except ResourceModifiedError as error:
        assert error.status_code == 412, error
    join(cloud, "0")


# --- load balancers ----------------------------------------------------------------------------------

def test_balancer__made_changed_deleted__with_its_parts(cloud):
    balancers, name = cloud.network.load_balancers, cloud.name("lb")
    made = cloud.make_balancer(name)
    rule, frontend = made.load_balancing_rules[0], made.frontend_ip_configurations[0]
    assert rule.load_distribution == "Default" and rule.idle_timeout_in_minutes == 4, rule
    assert [last(r.id) for r in frontend.load_balancing_rules] == ["r"], "back-references are filled in"
    assert [last(r.id) for r in made.probes[0].load_balancing_rules] == ["r"], made.probes
    assert {frontend.etag, rule.etag} == {made.etag}, "parts have the document's etag"
    body = made.as_dict()
    body["properties"]["loadBalancingRules"][0]["properties"]["idleTimeoutInMinutes"] = 20
    body["tags"] = {"owner": "me"}
    changed = balancers.begin_create_or_update("rg", name, body).result()
    assert changed.load_balancing_rules[0].idle_timeout_in_minutes == 20 and changed.tags == {"owner": "me"}, changed
    assert name in names(balancers.list("rg")) and name in names(balancers.list_all())
    assert balancers.get("rg", name).as_dict() == changed.as_dict()
    balancers.begin_delete("rg", name).result()
    refused(404, "ResourceNotFound", balancers.get, "rg", name)


def test_balancer__takes_an_address__couples_both_and_keeps_it_from_being_deleted(cloud):
    address = cloud.make_address()
    made = cloud.make_balancer(cloud.name("lb"), frontend={"publicIPAddress": {"id": address.id}})
    held = cloud.network.public_ip_addresses.get("rg", address.name)
    assert held.ip_configuration.id == made.frontend_ip_configurations[0].id and held.etag != address.etag, held
    error = refused(400, "PublicIPAddressCannotBeDeleted", cloud.network.public_ip_addresses.begin_delete, "rg",
                    address.name)
    assert made.frontend_ip_configurations[0].id in error.error.message, error
    refused(400, "PublicIPReferencedByMultipleIPConfigs", cloud.make_balancer, cloud.name("lb"),
            frontend={"publicIPAddress": {"id": address.id}})
    cloud.network.load_balancers.begin_delete("rg", made.name).result()
    cloud.network.public_ip_addresses.begin_delete("rg", address.name).result()


def test_balancer__internal__gets_a_private_address_of_the_subnet(cloud):
    made = cloud.make_balancer(cloud.name("lb"), frontend={"subnet": {"id": SUBNET}})
    assert made.frontend_ip_configurations[0].private_ip_address.startswith("10.240."), made
    refused(400, "PrivateIPAddressInUse", cloud.make_balancer, cloud.name("lb"), frontend={
        "subnet": {"id": SUBNET}, "privateIPAllocationMethod": "Static",
        "privateIPAddress": made.frontend_ip_configurations[0].private_ip_address})


def test_balancer__wrong_documents__refused_with_codes_that_the_client_parses(cloud):
    balancers, name = cloud.network.load_balancers, cloud.name("lb")
    body = cloud.balancer_body(name)
    rule = body["properties"]["loadBalancingRules"][0]
    rule["properties"]["probe"]["id"] += "x"
    error = refused(400, "InvalidResourceReference", balancers.begin_create_or_update, "rg", name, body)
    assert "/probes/px" in error.error.message, error
    body = cloud.balancer_body(name)
    twin = json.loads(json.dumps(body["properties"]["loadBalancingRules"][0]))
    twin["name"] = "twin"
    body["properties"]["loadBalancingRules"].append(twin)
    refused(400, "RulesUseSameFrontendPortProtocolAndIPConfig", balancers.begin_create_or_update, "rg", name, body)
    body = cloud.balancer_body(name)
    body["properties"]["colour"] = "red"
    error = refused(400, "InvalidRequestFormat", balancers.begin_create_or_update, "rg", name, body)
    assert [d.code for d in error.error.details] == ["InvalidJson"] and "colour" in error.error.details[0].message, error
    refused(404, "ResourceNotFound", balancers.get, "rg", name)


def test_pool__as_a_resource_of_its_own__made_filled_deleted(cloud):
    balancer, pools = cloud.make_balancer(cloud.name("lb")), cloud.network.load_balancer_backend_address_pools
    body = {"properties": {"loadBalancerBackendAddresses": [{"name": "one", "properties": {
        "ipAddress": "10.240.0.77", "virtualNetwork": {"id": f"{NET}/virtualNetworks/vnet"}}}]}}
    made = pools.begin_create_or_update("rg", balancer.name, "by-address", body).result()
    assert [a.ip_address for a in made.load_balancer_backend_addresses] == ["10.240.0.77"], made
    assert names(pools.list("rg", balancer.name)) == ["by-address", "k"]
    assert pools.get("rg", balancer.name, "by-address").id == f"{balancer.id}/backendAddressPools/by-address"
    assert cloud.network.load_balancers.get("rg", balancer.name).etag != balancer.etag
    refused(400, "InUseBackendAddressPoolCannotBeDeleted", pools.begin_delete, "rg", balancer.name, "k")
    pools.begin_delete("rg", balancer.name, "by-address").result()
    assert names(pools.list("rg", balancer.name)) == ["k"]


# --- security groups, subnets, interfaces, private links ------------------------------------------------

def rule(name, priority, **more):
    return {"name": name, "properties": {
        "protocol": "Tcp", "access": "Allow", "direction": "Inbound", "priority": priority, "sourcePortRange": "*",
        "destinationPortRange": "80", "sourceAddressPrefix": "Internet", "destinationAddressPrefix": "*", **more}}


def test_security_group__made_filled_deleted__with_its_default_rules(cloud):
    groups, name = cloud.network.network_security_groups, cloud.name("nsg")
    made = groups.begin_create_or_update("rg", name, {**PLACE, "properties": {"securityRules": [rule("a", 500)]}}).result()
    assert {r.name for r in made.default_security_rules} >= {"AllowVnetInBound", "DenyAllInBound"}, made
    assert made.security_rules[0].source_address_prefixes == [], "plural members are there, empty"
    body = made.as_dict()
    body["properties"]["securityRules"].append(rule("b", 501, destinationPortRange="443"))
    assert names(groups.begin_create_or_update("rg", name, body).result().security_rules) == ["a", "b"]
    body["properties"]["securityRules"][1]["properties"]["priority"] = 500
    refused(400, "SecurityRuleConflict", groups.begin_create_or_update, "rg", name, body)
    assert name in names(groups.list("rg"))
    groups.begin_delete("rg", name).result()
    refused(404, "ResourceNotFound", groups.get, "rg", name)


def test_subnet__made_listed_deleted__unless_something_is_in_it(cloud):
    subnets, name = cloud.network.subnets, cloud.name("sn")
    made = subnets.begin_create_or_update("rg", "vnet", name, {"properties": {"addressPrefix": "10.250.7.0/24"}}).result()
    assert made.address_prefix == "10.250.7.0/24" and made.private_link_service_network_policies == "Enabled", made
    assert names(subnets.list("rg", "vnet")) == sorted(["sn", name])
    subnets.begin_delete("rg", "vnet", name).result()
    refused(400, "InUseSubnetCannotBeDeleted", subnets.begin_delete, "rg", "vnet", "sn")


def test_interface__joins_and_leaves_a_pool__the_balancer_says_who_is_in_it(cloud):
    balancer, name = cloud.make_balancer(cloud.name("lb")), cloud.name("nic")
    made = cloud.make_interface(name, f"{balancer.id}/backendAddressPools/k")
    config = made.ip_configurations[0]
    assert config.private_ip_address.startswith("10.240.") and made.provisioning_state == "Succeeded", made
    seen = cloud.network.load_balancers.get("rg", balancer.name)
    assert [c.id for c in seen.backend_address_pools[0].backend_ip_configurations] == [config.id], seen
    assert seen.etag != balancer.etag
    assert name in names(cloud.network.network_interfaces.list("rg"))
    left = cloud.make_interface(name)
    assert not left.ip_configurations[0].load_balancer_backend_address_pools, left
    assert not cloud.network.load_balancers.get("rg", balancer.name).backend_address_pools[0].backend_ip_configurations
    cloud.network.network_interfaces.begin_delete("rg", name).result()


def test_private_link__on_an_internal_frontend__keeps_it(cloud):
    subnet = cloud.network.subnets.begin_create_or_update("rg", "vnet", cloud.name("sn"), {"properties": {
        "addressPrefix": "10.250.8.0/24", "privateLinkServiceNetworkPolicies": "Disabled"}}).result()
    balancer = cloud.make_balancer(cloud.name("lb"), frontend={"subnet": {"id": SUBNET}})
    links, name = cloud.network.private_link_services, cloud.name("pls")
    made = links.begin_create_or_update("rg", name, {**PLACE, "properties": {
        "loadBalancerFrontendIpConfigurations": [{"id": balancer.frontend_ip_configurations[0].id}],
        "ipConfigurations": [{"name": "c", "properties": {"subnet": {"id": subnet.id}, "primary": True}}]}}).result()
    assert made.alias.endswith(".eastus.azure.privatelinkservice") and made.provisioning_state == "Succeeded", made
    assert name in names(links.list("rg")) and name in names(links.list_by_subscription())
    assert list(links.list_private_endpoint_connections("rg", name)) == []
    held = cloud.network.load_balancers.get("rg", balancer.name)
    assert held.frontend_ip_configurations[0].as_dict() and held.etag != balancer.etag
    links.begin_delete("rg", name).result()
    refused(404, "ResourceNotFound", links.get, "rg", name)


# --- machines ------------------------------------------------------------------------------------------

def join(cloud, instance, *pools):
    """The scale set's instance is in exactly these pools."""
    instances = cloud.compute.virtual_machine_scale_set_vms
    body = instances.get("rg", "vmss", instance).as_dict()
    config = body["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"][0]
    config["properties"]["ipConfigurations"][0]["properties"]["loadBalancerBackendAddressPools"] = [
        {"id": pool} for pool in pools]
    return instances.begin_update("rg", "vmss", instance, body).result()


def test_scale_set__instances__joined_seen_and_left(cloud):
    balancer, instances = cloud.make_balancer(cloud.name("lb")), cloud.compute.virtual_machine_scale_set_vms
    assert [i.instance_id for i in instances.list("rg", "vmss")] == ["0", "1", "2"]
    assert instances.get_instance_view("rg", "vmss", "1").statuses, "an instance view has states"
    nic = list(cloud.network.network_interfaces.list_virtual_machine_scale_set_vm_network_interfaces("rg", "vmss", "1"))[0]
    assert cloud.network.network_interfaces.get_virtual_machine_scale_set_network_interface(
        "rg", "vmss", "1", nic.name).id == nic.id
    join(cloud, "1", f"{balancer.id}/backendAddressPools/k")
    seen = cloud.network.load_balancers.get("rg", balancer.name).backend_address_pools[0].backend_ip_configurations
    assert [c.id.split("/virtualMachines/")[1].split("/")[0] for c in seen] == ["1"], seen
    join(cloud, "1")
    assert not cloud.network.load_balancers.get("rg", balancer.name).backend_address_pools[0].backend_ip_configurations
    refused(400, "InvalidResourceReference", join, cloud, "1", f"{balancer.id}/backendAddressPools/none")


def test_scale_set__model_in_a_pool__keeps_the_balancer(cloud):
    balancer, sets = cloud.make_balancer(cloud.name("lb")), cloud.compute.virtual_machine_scale_sets
    body = sets.get("rg", "vmss").as_dict()
    config = body["properties"]["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"][0]
    pools = config["properties"]["ipConfigurations"][0]["properties"]
    pools["loadBalancerBackendAddressPools"] = [{"id": f"{balancer.id}/backendAddressPools/k"}]
    sets.begin_create_or_update("rg", "vmss", body).result()
    error = refused(400, "LoadBalancerInUseByVirtualMachineScaleSet", cloud.network.load_balancers.begin_delete, "rg",
                    balancer.name)
    assert f"{CPU}/virtualMachineScaleSets/vmss." in error.error.message, error
    pools["loadBalancerBackendAddressPools"] = []
    sets.begin_create_or_update("rg", "vmss", body).result()
    cloud.network.load_balancers.begin_delete("rg", balancer.name).result()


def test_machine__in_an_availability_set__made_read_listed_deleted(cloud):
    sets, machines = cloud.compute.availability_sets, cloud.compute.virtual_machines
    made = sets.create_or_update("rg", cloud.name("as"), {**PLACE, "sku": {"name": "Aligned"},
                                                          "properties": {"platformFaultDomainCount": 2}})
    assert names(sets.list("rg")) == [made.name] and names(sets.list_by_subscription()) == [made.name]
    nic, name = cloud.make_interface(cloud.name("nic")), cloud.name("vm")
    machine = machines.begin_create_or_update("rg", name, {**PLACE, "properties": {
        "availabilitySet": {"id": made.id}, "hardwareProfile": {"vmSize": "Standard_D2s_v3"},
        "networkProfile": {"networkInterfaces": [{"id": nic.id, "properties": {"primary": True}}]}}}).result()
    assert machine.provisioning_state == "Succeeded" and last(machine.network_profile.network_interfaces[0].id) == nic.name
    assert machines.get("rg", name, expand="instanceView").instance_view is not None
    assert name in names(machines.list("rg")) and name in names(machines.list_all())
    assert cloud.network.network_interfaces.get("rg", nic.name).virtual_machine.id == machine.id
    machines.begin_delete("rg", name).result()
    refused(404, "ResourceNotFound", machines.get, "rg", name)
    sets.delete("rg", made.name)


# --- errors, pages, throttling -----------------------------------------------------------------------

def test_error__of_places_and_versions__parsed(cloud):
    balancers = cloud.network.load_balancers
    refused(404, "ResourceGroupNotFound", lambda: list(balancers.list("nowhere")))
    error = refused(400, "NoRegisteredProviderFound", balancers.get, "rg", "x", api_version="2015-01-01")
    assert "2025-05-01" in error.error.message, error
    refused(409, "InvalidResourceLocation", cloud.network.public_ip_addresses.begin_create_or_update, "rg",
            cloud.make_address().name, {"location": "westus", "sku": {"name": "Standard"}})
    assert refused(404, "ResourceNotFound", balancers.get, "rg", "x").__class__ is ResourceNotFoundError


def test_error__conflict_of_operations__is_resource_exists(cloud):
    address = cloud.make_address()
    cloud.fault(match={"api": "azure", "op": "PublicIPAddresses.CreateOrUpdate"}, count=1, do="refuse", status=409,
                body={"error": {"code": "AnotherOperationInProgress", "message": "another operation"}})
    try:
        cloud.network.public_ip_addresses.begin_create_or_update("rg", address.name, address.as_dict())
        raise AssertionError("not refused")
    except ResourceExistsError as error:
        assert error.error.code == "AnotherOperationInProgress", error


def test_throttling__with_retry_after__waited_for_and_sent_again(cloud):
    cloud.forget()
    cloud.fault(match={"api": "azure", "op": "LoadBalancers.List"}, count=2, do="throttle", retry_after=17)
    assert list(cloud.network.load_balancers.list("rg")) is not None
    assert cloud.calls("LoadBalancers.List") == 3 and cloud.pauses == [17, 17], (cloud.pauses, cloud.calls)


def test_throttling__that_does_not_end__is_an_error_with_its_code(cloud):
    cloud.forget()
    cloud.fault(match={"api": "azure", "op": "LoadBalancers.List"}, count=0, do="throttle", retry_after=3)
    refused(429, "TooManyRequests", lambda: list(cloud.network.load_balancers.list("rg")))
    assert cloud.pauses == [3] * 3, cloud.pauses         # the client sends it three times again
    cloud.forget()


def test_server_error__passing__sent_again(cloud):
    cloud.forget()
    cloud.fault(match={"api": "azure", "op": "LoadBalancers.List"}, count=2, do="refuse", status=503)
    assert list(cloud.network.load_balancers.list("rg")) is not None
    assert cloud.calls("LoadBalancers.List") == 3


def test_pages__of_two__the_pager_finds_all_and_each_once(cloud):
    with Cloud(SIM, SCHEMAS, page_size=2) as small:
        made = sorted(small.make_address().name for _ in range(5))
        pages = [names(page) for page in small.network.public_ip_addresses.list("rg").by_page()]
        assert [len(page) for page in pages] == [2, 2, 1] and sorted(sum(pages, [])) == made, pages
        assert sorted(names(small.network.public_ip_addresses.list_all())) == made
        assert len(list(small.compute.virtual_machine_scale_set_vms.list("rg", "vmss"))) == 3
        check_traffic(small)


# --- operations that run on ----------------------------------------------------------------------------

def with_operations(style):
    """A write, a delete and a write that fails: each polled by the client's own poller."""
    with Cloud(SIM, SCHEMAS, polls=3, retry_after=11, **{"async": style}) as slow:
        poller = slow.network.public_ip_addresses.begin_create_or_update("rg", "pip", {
            **PLACE, "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}})
        assert not poller.done(), "a write goes on after its answer"
        made = poller.result()
        assert made.provisioning_state == "Succeeded" and made.ip_address, made
        assert len(slow.pauses) >= 3, slow.pauses
        if style != "body":
            assert set(slow.pauses) == {11}, slow.pauses
        balancer = slow.make_balancer("lb", frontend={"publicIPAddress": {"id": made.id}})
        assert balancer.provisioning_state == "Succeeded", balancer
        join(slow, "0", f"{balancer.id}/backendAddressPools/k")
        members = slow.network.load_balancers.get("rg", "lb").backend_address_pools[0].backend_ip_configurations
        assert len(members) == 1, members
        join(slow, "0")
        slow.network.load_balancers.begin_delete("rg", "lb").result()
        slow.network.public_ip_addresses.begin_delete("rg", "pip").result()
        refused(404, "ResourceNotFound", slow.network.public_ip_addresses.get, "rg", "pip")
        assert slow.compute.virtual_machine_scale_set_vms.get("rg", "vmss", "0").instance_id == "0"
        check_traffic(slow)


def test_operations__azure_async_operation__polled_to_the_end(_cloud):
    with_operations("azure-async")


def test_operations__location__polled_to_the_end(_cloud):
    with_operations("location")


def test_operations__state_in_the_body__polled_to_the_end(_cloud):
    with_operations("body")


def test_operation__that_fails_or_is_cancelled__the_poller_raises_with_the_code(_cloud):
    with Cloud(SIM, SCHEMAS, polls=1, **{"async": "azure-async"}) as slow:
        for body, code in (({"code": "InternalServerError", "message": "an error occurred"}, "InternalServerError"),
                           ({"status": "Canceled", "error": {"code": "CanceledAndSupersededDueToAnotherOperation",
                                                             "message": "superseded"}},
                            "CanceledAndSupersededDueToAnotherOperation")):
            slow.forget()
            slow.fault(match={"api": "azure", "op": "PublicIPAddresses.CreateOrUpdate"}, count=1, do="fail", body=body)
            try:
                slow.make_address()
                raise AssertionError(f"{code} did not come through")
            except HttpResponseError as error:
                assert error.error.code == code, error


# --- traffic ---------------------------------------------------------------------------------------------

def check_traffic(cloud):
    """Every answer, and every request that was not refused.  With the system's Python: a venv may lack jsonschema."""
    run = subprocess.run(["python3", f"{SCHEMAS}/check_traffic.py", cloud.log], capture_output=True, text=True,
                         check=False)
    if run.returncode == 2:
        print("# traffic is not checked: python3-jsonschema is not installed", flush=True)
        return
    with open(cloud.log, encoding="utf-8") as f:
        refusals = {str(n) for n, line in enumerate(f, 1) if (json.loads(line)["status"] or 0) >= 400}
    found = [re.match(r".*?\.log:(\d+): (\S+) (request|response) .*", line) for line in run.stdout.splitlines()]
    wrong = [m.group(0) for m in found if m and not (m.group(3) == "request" and m.group(1) in refusals)]
    assert not wrong and run.stdout.strip(), "\n".join(wrong)


def test_traffic__of_all_of_this__passes_the_schemas(cloud):
    check_traffic(cloud)


def main():
    other = os.environ.pop("TRIMTAB_AZURE_PYTHON", "")
    if MISSING and other:
        os.execv(other, [other, *sys.argv])
    if MISSING:
        return tap.skip(f"azure-identity, azure-mgmt-network or azure-mgmt-compute is not installed: {MISSING}")
    with Cloud(SIM, SCHEMAS) as cloud:
        return tap.run(tap.tests_of(globals(), sys.argv[3:]), cloud)


if __name__ == "__main__":
    sys.exit(main())
