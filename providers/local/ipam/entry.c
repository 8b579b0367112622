/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c: what the allocator keeps of a Service, but for its addresses: read, compared, freed.
 *
 * There may be tens of thousands.  Ports, keys to share, pools are strings of the intern table,
 * since many Services have the same. */
#include "providers/local/ipam/ipam_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keep.h"
#include "common/base/str.h"
#include "common/base/uuid.h"

/* ---- uids ------------------------------------------------------------------------------------ */

static void read_uid(struct entry *e, const char *text)
{
    e->uid_is_text = strlen(text) != UUID_TEXT - 1 || !uuid_read(text, e->uid.bytes);
    if (e->uid_is_text) {
        e->uid.text = xstrdup(text);
    }
}

static const char *uid_text(const struct entry *e, char out[UUID_TEXT])
{
    if (e->uid_is_text) {
        return e->uid.text;
    }
    uuid_format(e->uid.bytes, out);
    return out;
}

static int uid_cmp(const struct entry *a, const struct entry *b)
{
    char text[2][UUID_TEXT];

    if (!a->uid_is_text && !b->uid_is_text) {
        return memcmp(a->uid.bytes, b->uid.bytes, sizeof a->uid.bytes);
    }
    return strcmp(uid_text(a, text[0]), uid_text(b, text[1]));
}

bool ipam_entry_is(const struct entry *e, const char *uid)
{
    char text[UUID_TEXT];

    return strcmp(uid_text(e, text), str_nonnull(uid)) == 0;
}

bool ipam_is_older(const struct entry *a, const struct entry *b)
{
    if (a->created_us != b->created_us) {
        return a->created_us < b->created_us;
    }
    return uid_cmp(a, b) < 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

const char *ipam_key(const struct entry *e)
{
    return intern_str(e->key);
}

size_t ipam_ns_len(const struct entry *e)
{
    return strcspn(ipam_key(e), "/");
}

const struct service_port *ipam_ports(const struct entry *e, size_t *ret_n)
{
    *ret_n = e->ports == NULL ? 0 : e->ports->n / sizeof(struct service_port);
    return e->ports == NULL ? NULL : (const void *)e->ports->data;
}

bool ipam_serves(const struct entry *e, const struct service_port *port)
{
    size_t n = e->serves == NULL ? 0 : e->serves->n / sizeof *port;
    const struct service_port *ports = n == 0 ? NULL : (const void *)e->serves->data;

    for (size_t i = 0; i < n; i++) {
        if (ports[i].port == port->port && ports[i].protocol == port->protocol) {
            return true;
        }
    }
    return false;
}

const struct ip_addr *ipam_asked(const struct entry *e, size_t *ret_n)
{
    const struct interned *addrs = e->asked->addrs;

    *ret_n = addrs == NULL ? 0 : addrs->n / sizeof(struct ip_addr);
    return addrs == NULL ? NULL : (const void *)addrs->data;
}

/* ---- addresses ------------------------------------------------------------------------------- */

struct had *ipam_had(struct entry *e)
{
    return e->n_had > 1 ? e->had.many : &e->had.one;
}

const struct had *ipam_had_of(const struct entry *e)
{
    return e->n_had > 1 ? e->had.many : &e->had.one;
}

void ipam_had_set(struct entry *e, struct had *had, size_t n)
{
    struct had *old = e->n_had > 1 ? e->had.many : NULL;

    if (n > 1) {
        e->had.many = had;
    } else {
        e->had.one = n == 1 ? had[0] : (struct had){.in_status = false};
        free(had);
    }
    e->n_had = (uint16_t)n;
    if (old != had) {
        free(old);
    }
}

int64_t ipam_pending_ms(const struct had *h)
{
    return (int64_t)((uint64_t)h->pending_high << 32 | h->pending_low);
}

struct had ipam_pending(const struct ip_addr *addr, int64_t since_ms)
{
    return (struct had){.addr = *addr,
                        .pending_high = (uint16_t)((uint64_t)since_ms >> 32),
                        .pending_low = (uint32_t)since_ms};
}

/* ---- reading --------------------------------------------------------------------------------- */

static void add_family(struct entry *e, uint8_t len)
{
    e->families[e->n_families++] = len;
}

static void read_families(struct entry *e, const struct local_claim *claim)
{
    const struct tt_service *s = claim->service;

    e->policy = SINGLE_STACK;
    if (str_eq(s->ip_family_policy, "PreferDualStack")) {
        e->policy = PREFER_DUAL_STACK;
    } else if (str_eq(s->ip_family_policy, "RequireDualStack")) {
        e->policy = REQUIRE_DUAL_STACK;
    }
    for (uint32_t i = 0; i < s->n_ip_families && e->n_families < 2; i++) {
        add_family(e, str_eq(s->ip_families[i], "IPv6") ? 16 : 4);
    }
    struct ip_addr first;
    if (e->n_families == 0 && s->n_cluster_ips > 0 && ip_parse(s->cluster_ips[0], &first)) {
        add_family(e, first.len); /* a server before dual-stack */
    }
    if (e->n_families == 0 && claim->is_manifest) {
        add_family(e, 4);
    }
    if (claim->is_manifest && e->policy != SINGLE_STACK && e->n_families == 1) {
        add_family(e, e->families[0] == 4 ? 16 : 4);
    }
    if (e->policy == SINGLE_STACK && e->n_families > 1) {
        e->n_families = 1;
    }
    e->has_cluster_ips = (s->n_cluster_ips > 0 || claim->is_manifest) && e->n_families > 0;
}

/* Those of its ports that `served` names; NULL: all. */
static const struct interned *read_ports(const struct local_ipam *m, const struct tt_service *s,
                                         const bool *served)
{
    struct service_port *ports = xcalloc((size_t)s->n_ports + 1, sizeof *ports);
    size_t n = 0;

    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (served == NULL || served[i]) {
            ports[n].protocol = (uint8_t)s->ports[i].protocol[0];
            ports[n++].port = (uint16_t)s->ports[i].port;
        }
    }
    const struct interned *kept = n == 0 ? NULL : intern_get(m->texts, ports, n * sizeof *ports);
    free(ports);
    return kept;
}

const struct asked ipam_asks_nothing;

static struct asked read_wish(const struct local_ipam *m, struct entry *e,
                              const struct local_wish *wish)
{
    struct asked asked = {.waits_from = e->asked->waits_from};

    if (wish == NULL) {
        return asked;
    }
    e->asks = true;
    e->move = wish->move;
    asked.share = intern_text(m->texts, wish->share);
    asked.pool = intern_text(m->texts, wish->pool);
    if (wish->n_addrs > 0) {
        asked.addrs = intern_get(m->texts, wish->addrs, wish->n_addrs * sizeof wish->addrs[0]);
    }
    return asked;
}

static void drop_asked(const struct asked *asked)
{
    if (asked != &ipam_asks_nothing) {
        free((struct asked *)asked);
    }
}

static const struct asked *keep_asked(const struct asked *asked)
{
    bool nothing = asked->share == NULL && asked->pool == NULL && asked->addrs == NULL &&
                   asked->closed == NULL && asked->waits_from == 0;
    struct asked *kept = nothing ? NULL : xmalloc(sizeof *kept);

    if (nothing) {
        return &ipam_asks_nothing;
    }
    *kept = *asked;
    return kept;
}

void ipam_wait_from(struct entry *e, uint64_t freed)
{
    struct asked asked = *e->asked;

    asked.waits_from = freed;
    drop_asked(e->asked);
    e->asked = keep_asked(&asked);
}

static void drop_texts(const struct local_ipam *m, struct entry *e)
{
    if (e->uid_is_text) {
        free(e->uid.text);
    }
    intern_drop(m->texts, e->ports);
    intern_drop(m->texts, e->asked->share);
    intern_drop(m->texts, e->asked->pool);
    intern_drop(m->texts, e->asked->addrs);
    intern_drop(m->texts, e->asked->closed);
    drop_asked(e->asked);
}

/* Its key is another one: at all of its addresses. */
static void change_share(struct local_ipam *m, struct entry *e, const struct entry *now)
{
    const struct had *had = ipam_had_of(e);

    for (size_t i = 0; i < e->n_had && e->asked->share != now->asked->share; i++) {
        ipam_share_parted(m, e, &had[i].addr);
        ipam_share_joined(m, now, &had[i].addr);
    }
}

void ipam_entry_read(struct local_ipam *m, struct entry *e, const struct local_claim *claim)
{
    const struct tt_service *s = claim->service;
    bool another = e->seen && !ipam_entry_is(e, s->uid);
    struct entry now = {.key = e->key,
                        .note = e->note,
                        .had = e->had,
                        .n_had = e->n_had,
                        .asked = e->asked,
                        .seen = true,
                        .waiting = e->waiting,
                        .serves = e->serves,
                        .created_us = s->created_us,
                        .wants = claim->wants,
                        .was_ours = claim->was_ours};

    read_uid(&now, str_nonnull(s->uid));
    read_families(&now, claim);
    now.ports = read_ports(m, s, NULL);
    struct asked asked = read_wish(m, &now, claim->wish);
    asked.closed = ipam_closed(m, claim);
    now.asked = keep_asked(&asked);
    if (another || !claim->wants) { /* its ports are free for others */
        intern_drop(m->texts, e->serves);
        now.serves = NULL;
    }
    change_share(m, e, &now);
    drop_texts(m, e);
    *e = now;
}

void ipam_entry_serve(const struct local_ipam *m, struct entry *e, const struct tt_service *s,
                      const bool *served)
{
    const struct interned *was = e->serves;

    e->serves = read_ports(m, s, served);
    intern_drop(m->texts, was);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct entry *ipam_entry(const struct local_ipam *m, const char *key)
{
    return index_get_text(&m->entries, m->texts, key);
}

struct entry *ipam_entry_make(struct local_ipam *m, const char *key)
{
    struct entry *e = ipam_entry(m, key);

    if (e == NULL) {
        e = keep_alloc(sizeof *e);
        e->asked = &ipam_asks_nothing;
        e->key = intern_text(m->texts, key);
        (void)index_put(&m->entries, e); /* it was not there */
    }
    return e;
}

void ipam_entry_free(const struct local_ipam *m, struct entry *e)
{
    if (e != NULL) {
        drop_texts(m, e);
        intern_drop(m->texts, e->serves);
        intern_drop(m->texts, e->key);
        ipam_had_set(e, NULL, 0);
        keep_free(e, sizeof *e);
    }
}
