/* SPDX-License-Identifier: Apache-2.0 */
/* aws_sides.c: see aws_sides.h.  Pure. */
#include "providers/aws/aws_sides.h"

#include "common/base/str.h"
#include "providers/aws/model/aws_annotations.h"

static bool is_edited(const struct aws_service *s, const struct tt_service *previous)
{
    static const char *const names[] = {"ssl-ports", "ssl-cert"};
    for (size_t i = 0; previous != NULL && i < ARRAY_LEN(names); i++) {
        if (!str_eq(aws_annotation(previous, names[i]), aws_annotation(s->in, names[i]))) {
            return true;
        }
    }
    return false;
}

/* Does a listener of the wanted kind stand on the port, and with TLS? */
static bool stands(const struct aws_service *s, const struct aws_observed *seen, int32_t port,
                   bool *ret_tls)
{
    for (size_t i = 0; s->kind == AWS_NLB && i < seen->n_listeners; i++) {
        if (seen->listeners[i].port == port) {
            *ret_tls = str_eq(seen->listeners[i].protocol, "TLS");
            return true;
        }
    }
    for (size_t i = 0;
         s->kind != AWS_NLB && seen->classic != NULL && i < seen->classic->n_listeners; i++) {
        const struct aws_classic_listener *l = &seen->classic->listeners[i];
        if (l->port == port) {
            *ret_tls = str_eq_nocase(str_nonnull(l->protocol), "https") ||
                       str_eq_nocase(str_nonnull(l->protocol), "ssl");
            return true;
        }
    }
    return false;
}

const struct aws_service *aws_sides_settle(struct arena *a, const struct aws_service *s,
                                           const struct aws_observed *seen,
                                           const struct tt_service *previous)
{
    struct aws_service_port *ports = NULL;
    for (size_t i = 0; !is_edited(s, previous) && i < s->n_ports; i++) {
        const struct aws_service_port *p = &s->ports[i];
        bool tls = false;
        if (p->tls == p->tls_upstream || !stands(s, seen, p->port, &tls) ||
            tls != p->tls_upstream) {
            continue;
        }
        if (ports == NULL) {
            ports = arena_memdup(a, s->ports, s->n_ports * sizeof(*ports));
        }
        ports[i].tls = p->tls_upstream;
    }
    if (ports == NULL) {
        return s;
    }
    struct aws_service *copy = arena_memdup(a, s, sizeof(*s));
    copy->ports = ports;
    return copy;
}
