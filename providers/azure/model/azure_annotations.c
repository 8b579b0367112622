/* SPDX-License-Identifier: Apache-2.0 */
/* azure_annotations.c: the annotations of a Service that Azure knows, one row each.
 *
 * The reference page of the provider is printed from this table, and a test holds it against the
 * specification, so that code, page and messages cannot drift apart.  Rows stand in the order of
 * docs/spec/azure.md 11; where we differ from upstream, the row says what we do (18).  Values that
 * merely lose their effect become findings by the table, too.  Pure. */
#include "providers/azure/model/azure_service.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_text.h"

#define PORT_PREFIX     "port_<port>_"
#define FALSE_OTHERWISE "anything else counts as false", AZURE_VALUE_SWITCH
#define FALSE_UNTRIMMED "anything else counts as false", AZURE_VALUE_SWITCH_TRIMMED
#define TCP_OTHERWISE   "anything else counts as tcp", AZURE_VALUE_PROBE
#define PAIRS           "pairs without exactly one = are left out", AZURE_VALUE_PAIRS
#define REFUSED         "the Service is refused"
#define BY_AZURE        "Azure refuses it"

const struct azure_annotation azure_annotation_table[] = {
    {"azure-load-balancer-internal", "true", "false",
     "The load balancer has a private address of a subnet, not a public one.", FALSE_OTHERWISE},
    {"azure-load-balancer-internal-subnet", "name of a subnet", "subnetName of the cloud-config",
     "Subnet of the frontend of an internal load balancer; blanks around it do not count.",
     "the Service is refused when there is no such subnet"},
    {"azure-load-balancer-mode", "__auto__, or names of VM sets with commas between them",
     "the primary VM set",
     "Basic load balancers only: the VM sets among whose load balancers one is chosen.",
     "the Service is refused when there is no such VM set"},
    {"azure-dns-label-name", "DNS label, or nothing", "the label stays as it is",
     "DNS label of the public address, with two families of both; an empty value takes it away.",
     BY_AZURE},
    {"azure-load-balancer-resource-group", "resource group", "resourceGroup of the cloud-config",
     "Resource group of the public addresses of this Service.",
     "the Service is refused when an address that it names is not there"},
    {"azure-pip-name", "name of a public IP", "one is made",
     "Uses this public address, which must exist.", REFUSED},
    {"azure-pip-name-ipv6", "name of a public IP", "one is made", "The same for IPv6.", REFUSED},
    {"azure-pip-prefix-id", "ID of a public IP prefix", "none",
     "New public addresses come from this prefix.", BY_AZURE},
    {"azure-pip-prefix-id-ipv6", "ID of a public IP prefix", "none", "The same for IPv6.",
     BY_AZURE},
    {"azure-pip-ip-tags", "type=value, ...", "none", "IP tags of new public addresses.", PAIRS},
    {"azure-pip-tags", "key=value, ...", "none", "Further tags of public addresses.", PAIRS},
    {"azure-load-balancer-ipv4", "IPv4 address", "spec.loadBalancerIP",
     "Address of the load balancer; several Services with different ports may share one; "
     "an internal one lies in the subnet.",
     REFUSED},
    {"azure-load-balancer-ipv6", "IPv6 address", "spec.loadBalancerIP", "The same for IPv6.",
     REFUSED},
    {"azure-additional-public-ips", "IP addresses with commas between them", "none",
     "Addresses that the security group admits and the status shows beside the load balancer's.",
     REFUSED},
    {"azure-allowed-service-tags", "service tags with commas between them", "Internet",
     "Only these service tags are admitted.",
     "the Service is refused for an empty item; what is no tag, Azure refuses, and trimtab then "
     "for "
     "an hour before the first write"},
    {"azure-allowed-ip-ranges", "CIDRs with commas between them", "everybody",
     "Only these ranges are admitted.", "wrong ranges are left out, and all others are denied"},
    {"load-balancer-source-ranges", "CIDRs with commas between them", "everybody",
     "Only these ranges are admitted; they join those of azure-allowed-ip-ranges.",
     "wrong ranges are left out, and all others are denied"},
    {"azure-deny-all-except-load-balancer-source-ranges", "true", "false",
     "Traffic that is not allowed is denied also to the virtual network; needs source ranges.",
     FALSE_OTHERWISE},
    {"azure-disable-load-balancer-nsg-rule", "true", "false",
     "No security rules are written for this Service.", FALSE_OTHERWISE},
    {"azure-load-balancer-tcp-idle-timeout", "4-100 (minutes)", "4",
     "Idle time-out of the rules, of every protocol.", REFUSED},
    {"azure-load-balancer-disable-tcp-reset", "true", "false",
     "No TCP reset is sent when a connection idles out.", FALSE_OTHERWISE},
    {"azure-disable-load-balancer-floating-ip", "true", "false",
     "Traffic goes to the node ports; the security group admits the nodes' addresses.",
     FALSE_OTHERWISE},
    {"azure-load-balancer-enable-high-availability-ports", "true", "false",
     "One rule for all ports and protocols; internal Standard load balancers only.",
     FALSE_OTHERWISE},
    {"azure-load-balancer-health-probe-protocol", "tcp, http, https", "tcp",
     "Protocol of the health probes.", TCP_OTHERWISE},
    {"azure-load-balancer-health-probe-interval", "5 or more (seconds)", "5",
     "Time between probes; with the number of probes less than 120 s.", REFUSED},
    {"azure-load-balancer-health-probe-num-of-probe", "2 or more", "2",
     "So many failed probes take a node out.", REFUSED},
    {"azure-load-balancer-health-probe-request-path", "path", "/", "Path of http and https probes.",
     BY_AZURE},
    {"port_<port>_no_lb_rule", "true", "false", "No rule and no probe for this port.",
     FALSE_OTHERWISE},
    {"port_<port>_no_probe_rule", "true", "false", "No probe for this port.", FALSE_OTHERWISE},
    {"port_<port>_health-probe_protocol", "tcp, http, https",
     "appProtocol of the port, then azure-load-balancer-health-probe-protocol",
     "Protocol of the probe of this port.", TCP_OTHERWISE},
    {"port_<port>_health-probe_port", "1-65535, or the name of a port", "the node port",
     "Port of the probe; a port of the Service stands for its node port.", REFUSED},
    {"port_<port>_health-probe_interval", "5 or more (seconds)",
     "azure-load-balancer-health-probe-interval", "Time between the probes of this port.", REFUSED},
    {"port_<port>_health-probe_num-of-probe", "2 or more",
     "azure-load-balancer-health-probe-num-of-probe",
     "So many failed probes of this port take a node out.", REFUSED},
    {"port_<port>_health-probe_request-path", "path",
     "azure-load-balancer-health-probe-request-path", "Path of the probe of this port.", BY_AZURE},
    {"azure-load-balancer-configurations", "names of load balancers with commas between them",
     "all", "Several Standard load balancers: those on which the Service may be placed.",
     "the Service is refused when none of them is configured"},
    {"azure-pls-create", "true", "false",
     "A private link service in front of the frontend; internal Services, or without floating IP.",
     FALSE_UNTRIMMED},
    {"azure-pls-resource-group", "resource group",
     "privateLinkServiceResourceGroup of the cloud-config",
     "Resource group of the private link service.",
     "the private link service alone is refused when there is no such group"},
    {"azure-pls-name", "name", "pls-<name of the frontend>", "Name of the private link service.",
     "the Service is refused when the existing one has another name"},
    {"azure-pls-ip-configuration-subnet", "name of a subnet",
     "azure-load-balancer-internal-subnet, then subnetName of the cloud-config",
     "Subnet of its NAT addresses.",
     "the private link service alone is refused when there is no such subnet"},
    {"azure-pls-ip-configuration-ip-address-count", "1-8", "1", "Number of its NAT addresses.",
     REFUSED},
    {"azure-pls-ip-configuration-ip-address", "IPv4 addresses with blanks between them",
     "Azure chooses", "Its NAT addresses; the first is the primary one.", REFUSED},
    {"azure-pls-fqdns", "names with blanks between them", "none", "Names that consumers see.",
     BY_AZURE},
    {"azure-pls-proxy-protocol", "true", "false",
     "Connections begin with the proxy protocol; the node probe is then not used.",
     FALSE_OTHERWISE},
    {"azure-pls-visibility", "subscription IDs with blanks between them, or *", "nobody",
     "Subscriptions that may see the private link service.", BY_AZURE},
    {"azure-pls-auto-approval", "subscription IDs with blanks between them", "nobody",
     "Subscriptions whose connections are approved automatically.", BY_AZURE},
    {"azure-shared-securityrule", "true", "false", "Ignored: security rules are always shared.",
     "ignored"},
    {NULL, NULL, NULL, NULL, NULL, AZURE_VALUE_OTHER},
};

/* ---- values that lose their effect ----------------------------------------------------------- */

static bool is_one_of(const char *value, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (azure_eq(value, texts[i])) {
            return true;
        }
    }
    return false;
}

/* A blank item, as behind a last comma, is not a slip. */
static bool are_pairs(struct arena *a, const char *value)
{
    size_t n;
    char **items = str_split(a, value, ',', &n);
    for (size_t i = 0; i < n; i++) {
        size_t sides;
        (void)str_split(a, items[i], '=', &sides);
        if (sides != 2 && *str_trim_unicode(a, items[i]) != '\0') {
            return false;
        }
    }
    return true;
}

/* The expected value; NULL if the value is effective or empty. */
static const char *wanted(struct arena *a, enum azure_value kind, const char *value)
{
    static const char *const switches[] = {"", "true", "false"};
    static const char *const protocols[] = {"", "tcp", "http", "https"};
    const char *trimmed = str_trim_unicode(a, value);
    switch (kind) {
    case AZURE_VALUE_SWITCH:
        return is_one_of(value, switches, ARRAY_LEN(switches))
                   ? NULL
                   : "\"true\" or \"false\"; it counts as false";
    case AZURE_VALUE_SWITCH_TRIMMED:
        return wanted(a, AZURE_VALUE_SWITCH, trimmed);
    case AZURE_VALUE_PROBE:
        return is_one_of(trimmed, protocols, ARRAY_LEN(protocols))
                   ? NULL
                   : "tcp, http or https; it counts as tcp";
    case AZURE_VALUE_PAIRS:
        return are_pairs(a, value)
                   ? NULL
                   : "key=value with commas between them; what is no such pair is left out";
    case AZURE_VALUE_OTHER:
        break;
    }
    return NULL;
}

static void add_hint(struct arena *a, const struct tt_service *s, enum azure_value kind,
                     const char *name, struct azure_finding *ret, size_t *n)
{
    const char *value = azure_annotation(s, name);
    const char *want = value == NULL ? NULL : wanted(a, kind, value);
    if (want != NULL) {
        ret[(*n)++] = (struct azure_finding){
            .reason = "InvalidAnnotation",
            .field = arena_printf(a, AZURE_ANNOTATION_PREFIX "%s", name),
            .message = arena_printf(a, "annotation " AZURE_ANNOTATION_PREFIX "%s: \"%s\": want %s",
                                    name, value, want),
        };
    }
}

static bool has_port(const struct tt_service *s, int64_t port)
{
    bool found = false;
    for (uint32_t i = 0; i < s->n_ports; i++) {
        found = found || s->ports[i].port == port;
    }
    return found;
}

/* The number of a key "port_80_NAME" whose name the table has; -1: it is another key. */
static int64_t port_of_key(struct arena *a, const char *key)
{
    int64_t port = -1;
    const char *name = str_has_prefix(key, AZURE_ANNOTATION_PREFIX "port_")
                           ? key + strlen(AZURE_ANNOTATION_PREFIX "port_")
                           : NULL;
    size_t n = name == NULL ? 0 : strspn(name, "0123456789");
    const char *row =
        arena_printf(a, PORT_PREFIX "%s", n == 0 || name[n] == '\0' ? "" : name + n + 1);
    for (const struct azure_annotation *r = azure_annotation_table; n > 0 && r->name != NULL; r++) {
        if (str_eq(r->name, row) && str_to_i64(arena_strndup(a, name, n), &port)) {
            return port;
        }
    }
    return -1;
}

/* Keys of ports that the Service does not have. */
static void add_absent_ports(struct arena *a, const struct tt_service *s, struct azure_finding *ret,
                             size_t most, size_t *n)
{
    for (uint32_t i = 0; i < s->n_annotations && *n < most; i++) {
        const char *key = s->annotations[i].key;
        int64_t port = port_of_key(a, key);
        if (port >= 0 && !has_port(s, port)) {
            ret[(*n)++] = (struct azure_finding){
                .reason = "InvalidAnnotation",
                .field = key,
                .message =
                    arena_printf(a, "annotation %s has no effect: the Service has no port %lld",
                                 key, (long long)port),
            };
        }
    }
}

size_t azure_annotation_hints(struct arena *a, const struct tt_service *s,
                              struct azure_finding *ret, size_t most)
{
    size_t n = 0;
    for (const struct azure_annotation *row = azure_annotation_table; row->name != NULL; row++) {
        if (row->value == AZURE_VALUE_OTHER) {
            continue;
        }
        if (!str_has_prefix(row->name, PORT_PREFIX)) {
            if (n < most) {
                add_hint(a, s, row->value, row->name, ret, &n);
            }
            continue;
        }
        for (uint32_t i = 0; i < s->n_ports && n < most; i++) {
            const char *name = arena_printf(a, "port_%d_%s", (int)s->ports[i].port,
                                            row->name + strlen(PORT_PREFIX));
            add_hint(a, s, row->value, name, ret, &n);
        }
    }
    add_absent_ports(a, s, ret, most, &n);
    return n;
}
