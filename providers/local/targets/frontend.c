/* SPDX-License-Identifier: Apache-2.0 */
/* frontend.c: names and order of frontends.  Pure. */
#include "providers/local/targets/targets.h"

#include <netinet/in.h>
#include <stdio.h>

int local_frontend_cmp(const struct local_frontend_id *a, const struct local_frontend_id *b)
{
    int d = local_addr_cmp(&a->vip, &b->vip);
    if (d != 0) {
        return d;
    }
    if (a->protocol != b->protocol) {
        return a->protocol < b->protocol ? -1 : 1;
    }
    return a->port != b->port ? (a->port < b->port ? -1 : 1) : 0;
}

void local_frontend_text(const struct local_frontend_id *f, char out[LOCAL_FRONTEND_TEXT_MAX])
{
    char addr[IP_TEXT_MAX];
    char other[8];
    const char *protocol = other;
    ip_format(&f->vip, addr);
    (void)snprintf(other, sizeof(other), "%u", (unsigned)f->protocol);
    if (f->protocol == IPPROTO_TCP) {
        protocol = "tcp";
    } else if (f->protocol == IPPROTO_UDP) {
        protocol = "udp";
    }
    (void)snprintf(out, LOCAL_FRONTEND_TEXT_MAX, f->vip.len == 16 ? "[%s]:%u/%s" : "%s:%u/%s", addr,
                   (unsigned)f->port, protocol);
}
