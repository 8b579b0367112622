/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_world.c: the world around the kernel in memory, as a test makes it, and what a test sees of it (fake_kernel.h). */
#include "tests/support/fake_kernel_internal.h"

#include <string.h>

void fake_kernel_link(struct local_kernel *k, const struct local_link *link)
{
    struct fake_kernel *f = fake(k);
    for (size_t i = 0; i < f->n_links; i++) {
        if (f->links[i].index == link->index) {
            const char *name = f->links[i].name;
            f->links[i] = *link;
            f->links[i].name = name;
            return;
        }
    }
    f->links = xrealloc(f->links, (f->n_links + 1) * sizeof(*f->links));
    f->links[f->n_links] = *link;
    f->links[f->n_links++].name = xstrdup(link->name);
}

void fake_kernel_foreign_table(struct local_kernel *k, const char *name)
{
    free(fake(k)->foreign_table);
    fake(k)->foreign_table = xstrdup(name);
}

void fake_kernel_neighbour(struct local_kernel *k, const struct ip_addr *addr, const uint8_t mac[6])
{
    char key[IP_TEXT_MAX];
    uint8_t *copy = xcalloc(1, 6);
    memcpy(copy, mac, 6);
    ip_format(addr, key);
    map_set(fake(k)->neighbours, key, copy);
}

void fake_kernel_claim(struct local_kernel *k, const struct ip_addr *addr, const uint8_t mac[6])
{
    struct fake_kernel *f = fake(k);
    if (f->n_claims < ARRAY_LEN(f->claims)) {
        struct local_heard *claim = &f->claims[f->n_claims++];
        claim->addr = *addr;
        memcpy(claim->mac, mac, sizeof(claim->mac));
    }
}

void fake_kernel_connection(struct local_kernel *k, const struct local_frontend_id *id,
                            const struct ip_addr *target, uint16_t target_port)
{
    struct fake_kernel *f = fake(k);
    f->connections = xrealloc(f->connections, (f->n_connections + 1) * sizeof(*f->connections));
    f->connections[f->n_connections++] =
        (struct fake_connection){.id = *id, .target = *target, .port = target_port};
}

void fake_kernel_sysctl(struct local_kernel *k, const char *name, int64_t value)
{
    int64_t *copy = xcalloc(1, sizeof(*copy));
    *copy = value;
    map_set(fake(k)->sysctls, name, copy);
}

void fake_kernel_pass(struct local_kernel *k, int64_t ms)
{
    struct fake_kernel *f = fake(k);
    size_t kept = 0;
    for (size_t i = 0; i < f->n_addrs; i++) {
        struct local_link_addr a = f->addrs[i];
        if (a.valid_ms >= 0) {
            a.valid_ms -= ms;
        }
        if (f->addrs[i].valid_ms < 0 || a.valid_ms > 0) {
            f->addrs[kept++] = a;
        }
    }
    f->n_addrs = kept;
}

void fake_kernel_own_address(struct local_kernel *k, int link, const struct ip_net *net)
{
    struct fake_kernel *f = fake(k);
    f->addrs = xrealloc(f->addrs, (f->n_addrs + 1) * sizeof(*f->addrs));
    f->addrs[f->n_addrs++] = (struct local_link_addr){.link = link, .net = *net, .valid_ms = -1};
}

void fake_kernel_elements(const struct local_kernel *k,
                          void (*each)(void *arg, const struct local_nft_element *e), void *arg)
{
    if (fake(k)->table != NULL) {
        fake_nft_list(fake(k)->table, each, arg);
    }
}

unsigned fake_kernel_announced(const struct local_kernel *k, const struct ip_addr *addr)
{
    char key[IP_TEXT_MAX];
    ip_format(addr, key);
    const unsigned *count = map_get(fake(k)->announced, key);
    return count == NULL ? 0 : *count;
}
