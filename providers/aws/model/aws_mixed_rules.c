/* SPDX-License-Identifier: Apache-2.0 */
/* aws_mixed_rules.c: TCP and UDP ports in one Service: MixedProtocols of [Trimtab], on NLBs.
 *
 * AWS has one listener on a port of a balancer.  A port number that the Service has for both
 * protocols is served by a listener, and a target group, of TCP_UDP, which sends both to one node
 * port: Kubernetes gives both the same unless the Service names others.  Ports of different
 * numbers do not meet.  Without the option, or on a classic load balancer, mixing is refused as
 * upstream does.  Source: docs/spec/aws.md 5.1, 12 row 11, 13 row 33.  Part of
 * aws_service_rules.h.  Pure. */
#include "common/base/str.h"
#include "providers/aws/model/aws_service_rules.h"

static int check_protocols(const struct tt_service *s, struct err *err)
{
    for (uint32_t i = 0; i < s->n_ports; i++) {
        const char *protocol = str_nonnull(s->ports[i].protocol);
        if (!str_eq(protocol, "TCP") && !str_eq(protocol, "UDP")) {
            return err_set(err, ERR_INVALID,
                           "spec.ports: port %d: %s: an NLB of this controller serves TCP and UDP",
                           (int)s->ports[i].port, protocol);
        }
    }
    return ERR_OK;
}

/* The one listener of both; `into` is the port that comes first in the Service. */
static int join(struct aws_service_port *into, const struct aws_service_port *p, struct err *err)
{
    const struct aws_service_port *tcp = str_eq(into->protocol, "TCP") ? into : p;
    const struct aws_service_port *udp = tcp == into ? p : into;
    if (tcp->tls) {
        return err_set(err, ERR_INVALID,
                       "spec.ports: port %d is TLS and UDP, and a port of an NLB has one listener; "
                       "name the ports with TLS in annotation " AWS_ANNOTATION
                       "ssl-ports, or use another number for one of them",
                       (int)p->port);
    }
    if (tcp->node_port != udp->node_port) {
        return err_set(err, ERR_INVALID,
                       "spec.ports: port %d has node port %d for TCP and %d for UDP; one listener "
                       "serves both and sends to one node port: set nodePort of both to the same",
                       (int)p->port, (int)tcp->node_port, (int)udp->node_port);
    }
    into->protocol = "TCP_UDP";
    return ERR_OK;
}

static struct aws_service_port *same_number(struct aws_service_port *ports, size_t n, int32_t port)
{
    for (size_t i = 0; i < n; i++) {
        if (ports[i].port == port) {
            return &ports[i];
        }
    }
    return NULL;
}

int aws_service_mix_ports(struct arena *a, const struct tt_service *s,
                          const struct aws_service_port *ports, size_t n,
                          const struct aws_service_port **ret, size_t *ret_n, struct err *err)
{
    struct aws_service_port *out = ARENA_ARRAY(a, struct aws_service_port, n);
    size_t n_out = 0;
    int rc = check_protocols(s, err);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        struct aws_service_port *first = same_number(out, n_out, ports[i].port);
        if (first == NULL) {
            out[n_out++] = ports[i];
        } else {
            rc = join(first, &ports[i], err);
        }
    }
    if (rc == ERR_OK) {
        *ret = out;
        *ret_n = n_out;
    }
    return rc;
}
