/* SPDX-License-Identifier: Apache-2.0 */
/* fake_kernel_world.c: the world around the kernel in memory, as a test makes it, and what a test
 * sees of it (fake_kernel.h). */
#include "tests/support/fake_kernel_internal.h"
#include "tests/support/fake_kernel_ipvs.h"

#include <stdlib.h>
#include <string.h>

/* ---- what others do -------------------------------------------------------------------------- */

void fake_kernel_tell(struct fake_kernel *f, enum local_event_kind kind, const struct ip_addr *addr)
{
    if (!f->watching || !f->others) {
        return;
    }
    f->events = xrealloc(f->events, (f->n_events + 1) * sizeof(*f->events));
    f->events[f->n_events++] = (struct local_event){
        .kind = kind, .addr = addr == NULL ? (struct ip_addr){.len = 0} : *addr};
}

static void told_by_others(struct fake_kernel *f, enum local_event_kind kind,
                           const struct ip_addr *addr)
{
    bool before = f->others;
    f->others = true;
    fake_kernel_tell(f, kind, addr);
    f->others = before;
}

void fake_kernel_kube_proxy(struct local_kernel *k, const char *rules)
{
    fake(k)->kube_proxy = rules;
}

void fake_kernel_others(struct local_kernel *k, bool yes)
{
    fake(k)->others = yes;
}

void fake_kernel_layout(struct local_kernel *k, unsigned layout)
{
    fake(k)->layout = layout;
    fake(k)->rules_changed = true;
}

void fake_kernel_change_rules(struct local_kernel *k)
{
    fake(k)->rules_changed = true;
    fake(k)->generation++;
    told_by_others(fake(k), LOCAL_EVENT_TABLE, NULL);
}

void fake_kernel_lose_events(struct local_kernel *k)
{
    fake(k)->n_events = 0;
    told_by_others(fake(k), LOCAL_EVENT_LOST, NULL);
}

int fake_watch(struct local_kernel *k, const char *instance, const struct local_kernel *own,
               struct err *err)
{
    (void)instance; /* there is one table of ours */
    (void)own;
    int code = fake_kernel_step(k, NULL, err);
    if (code != ERR_OK) {
        return code;
    }
    fake(k)->watching = true;
    return fake_kernel_done(k, ERR_OK, err);
}

int fake_heard(struct local_kernel *k, void (*each)(void *arg, const struct local_event *e),
               void *arg, struct err *err)
{
    struct fake_kernel *f = fake(k);
    (void)err;
    size_t n = f->n_events;
    struct local_event *events = f->events;
    f->events = NULL;
    f->n_events = 0;
    for (size_t i = 0; i < n; i++) {
        each(arg, &events[i]);
    }
    free(events);
    return ERR_OK;
}

unsigned fake_watch_fds(const struct local_kernel *k, int fds[LOCAL_WATCH_FDS])
{
    (void)k;
    (void)fds;
    return 0;
}

/* ---- the world ------------------------------------------------------------------------------- */

void fake_kernel_link(struct local_kernel *k, const struct local_link *link)
{
    struct fake_kernel *f = fake(k);
    for (size_t i = 0; i < f->n_links; i++) {
        if (f->links[i].index == link->index) {
            const char *name = f->links[i].name;
            f->links[i] = *link;
            f->links[i].name = name;
            told_by_others(f, LOCAL_EVENT_LINK, NULL);
            return;
        }
    }
    f->links = xrealloc(f->links, (f->n_links + 1) * sizeof(*f->links));
    f->links[f->n_links] = *link;
    f->links[f->n_links++].name = xstrdup(link->name);
}

void fake_kernel_no_ctnetlink(struct local_kernel *k, bool yes)
{
    fake(k)->no_ctnetlink = yes;
}

void fake_kernel_foreign_table(struct local_kernel *k, const char *name)
{
    free(fake(k)->foreign_table);
    fake(k)->foreign_table = xstrdup(name);
}

void fake_kernel_neighbour(struct local_kernel *k, const struct ip_addr *addr, const uint8_t mac[6])
{
    char key[IP_TEXT_MAX];
    ip_format(addr, key);
    if (mac == NULL) {
        map_remove(fake(k)->neighbours, key);
        return;
    }
    uint8_t *copy = xcalloc(1, 6);
    memcpy(copy, mac, 6);
    map_set(fake(k)->neighbours, key, copy);
}

struct listing {
    struct local_neighbour *items;
    size_t n;
};

static bool list_neighbour(const char *key, void *value, void *arg)
{
    struct listing *l = arg;
    if (ip_parse(key, &l->items[l->n].addr)) {
        memcpy(l->items[l->n++].mac, value, sizeof(l->items->mac));
    }
    return true;
}

int fake_neighbours(struct local_kernel *k, struct arena *a, struct local_neighbour **ret,
                    size_t *ret_n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = fake_kernel_step(k, &f->rtnl_requests, err);
    code = code == ERR_OK ? fake_kernel_done(k, code, err) : code;
    if (code == ERR_OK) {
        struct listing l = {
            .items = ARENA_ARRAY(a, struct local_neighbour, map_size(f->neighbours) + 1)};
        map_each(f->neighbours, list_neighbour, &l);
        *ret = l.items;
        *ret_n = l.n;
    }
    return code;
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

int fake_hear(struct local_kernel *k, const struct local_link *link, struct local_heard *ret,
              size_t max, size_t *ret_n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    (void)link;
    (void)err;
    *ret_n = f->n_claims < max ? f->n_claims : max;
    if (*ret_n > 0) {
        memcpy(ret, f->claims, *ret_n * sizeof(*ret));
    }
    f->n_claims = 0;
    return ERR_OK;
}

void fake_kernel_ask(struct local_kernel *k, const struct ip_addr *addr)
{
    fake(k)->asked = *addr;
}

unsigned fake_kernel_answered(const struct local_kernel *k)
{
    return fake(k)->n_answered;
}

int fake_respond(struct local_kernel *k, const struct local_link *link,
                 bool (*mine)(void *arg, const struct ip_addr *addr), void *arg, unsigned *ret_n,
                 struct err *err)
{
    struct fake_kernel *f = fake(k);

    (void)link;
    (void)err;
    if (mine == NULL) {
        f->asked = (struct ip_addr){.len = 0};
        return ERR_OK;
    }
    *ret_n = f->asked.len != 0 && mine(arg, &f->asked);
    f->n_answered += *ret_n;
    f->asked = (struct ip_addr){.len = 0};
    return ERR_OK;
}

size_t fake_ears(const struct local_kernel *k, int *ret_fds, size_t max)
{
    (void)k;
    (void)ret_fds;
    (void)max;
    return 0; /* nothing to wait for: claims are there at the next turn */
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
        } else {
            told_by_others(f, a.ours ? LOCAL_EVENT_HOLD : LOCAL_EVENT_FREED, &a.net.addr);
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

struct fake_ipvs *fake_kernel_ipvs(const struct local_kernel *k)
{
    return fake(k)->ipvs;
}

static bool is_among(const struct fake_connection *c, const struct local_connection *gone, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct local_frontend_id *id = &gone[i].id;
        if (ip_eq(&c->id.vip, &id->vip) && c->id.protocol == id->protocol &&
            c->id.port == id->port &&
            (gone[i].target.len == 0 ||
             (ip_eq(&c->target, &gone[i].target) && c->port == gone[i].port))) {
            return true;
        }
    }
    return false;
}

int fake_connections_delete(struct local_kernel *k, const struct local_connection *gone,
                            size_t n_gone, unsigned *ret_n, struct err *err)
{
    struct fake_kernel *f = fake(k);
    int code = fake_kernel_step(k, &f->ct_requests, err);
    unsigned n = 0;
    if (code == ERR_OK && f->no_ctnetlink) {
        return fake_kernel_done(k, err_set(err, ERR_INVALID, LOCAL_CT_NONE), err);
    }
    for (size_t i = 0; i < f->n_connections && code == ERR_OK; i++) {
        struct fake_connection *c = &f->connections[i];
        if (!c->gone && is_among(c, gone, n_gone)) {
            c->gone = true;
            n++;
        }
    }
    code = code == ERR_OK ? fake_kernel_done(k, code, err) : code;
    if (code == ERR_OK) {
        *ret_n = n;
    }
    return code;
}
