/* SPDX-License-Identifier: Apache-2.0 */
/* entry.c: what the allocator keeps of a Service, but for its addresses: read, compared, freed.
 *
 * There may be tens of thousands.  Ports, keys to share, pools are strings of the intern table,
 * since many Services have the same. */
#include "providers/local/ipam/ipam_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

/* ---- uids ------------------------------------------------------------------------------------ */

#define UID_TEXT 37

static int hex_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "8-4-4-4-12" digits, lower case: so that bytes are in the order of texts. */
static bool read_uuid(const char *text, uint8_t bytes[16])
{
    size_t n = 0;

    for (const char *c = text; n < 16; c += 2) {
        c += n == 4 || n == 6 || n == 8 || n == 10 ? *c == '-' : 0;
        int high = hex_of(c[0]);
        int low = high < 0 ? -1 : hex_of(c[1]);
        if (low < 0) {
            return false;
        }
        bytes[n++] = (uint8_t)(high << 4 | low);
    }
    return strlen(text) == UID_TEXT - 1;
}

static struct uid read_uid(const char *text)
{
    struct uid uid = {.text = NULL};

    if (!read_uuid(text, uid.bytes)) {
        uid.text = xstrdup(text);
    }
    return uid;
}

static const char *uid_text(const struct uid *uid, char out[UID_TEXT])
{
    size_t at = 0;

    for (size_t i = 0; uid->text == NULL && i < sizeof uid->bytes; i++) {
        const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        at += (size_t)snprintf(out + at, UID_TEXT - at, "%s%02x", dash, uid->bytes[i]);
    }
    return uid->text == NULL ? out : uid->text;
}

static int uid_cmp(const struct uid *a, const struct uid *b)
{
    char text[2][UID_TEXT];

    if (a->text == NULL && b->text == NULL) {
        return memcmp(a->bytes, b->bytes, sizeof a->bytes);
    }
    return strcmp(uid_text(a, text[0]), uid_text(b, text[1]));
}

bool ipam_entry_is(const struct entry *e, const char *uid)
{
    char text[UID_TEXT];

    return strcmp(uid_text(&e->uid, text), str_nonnull(uid)) == 0;
}

bool ipam_is_older(const struct entry *a, const struct entry *b)
{
    if (a->created_us != b->created_us) {
        return a->created_us < b->created_us;
    }
    return uid_cmp(&a->uid, &b->uid) < 0;
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
    *ret_n = e->asked == NULL ? 0 : e->asked->n / sizeof(struct ip_addr);
    return e->asked == NULL ? NULL : (const void *)e->asked->data;
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

static void read_wish(const struct local_ipam *m, struct entry *e, const struct local_wish *wish)
{
    if (wish == NULL) {
        return;
    }
    e->asks = true;
    e->share = intern_text(m->texts, wish->share);
    e->pool = intern_text(m->texts, wish->pool);
    e->move = wish->move;
    if (wish->n_addrs > 0) {
        e->asked = intern_get(m->texts, wish->addrs, wish->n_addrs * sizeof wish->addrs[0]);
    }
}

static void drop_texts(const struct local_ipam *m, struct entry *e)
{
    free(e->uid.text);
    intern_drop(m->texts, e->ports);
    intern_drop(m->texts, e->share);
    intern_drop(m->texts, e->pool);
    intern_drop(m->texts, e->asked);
    intern_drop(m->texts, e->closed);
}

void ipam_entry_read(const struct local_ipam *m, struct entry *e, const struct local_claim *claim)
{
    const struct tt_service *s = claim->service;
    bool another = e->seen && !ipam_entry_is(e, s->uid);
    struct entry now = {.key = e->key,
                        .had = e->had,
                        .n_had = e->n_had,
                        .seen = true,
                        .waiting = e->waiting,
                        .waits_from = e->waits_from,
                        .serves = e->serves,
                        .uid = read_uid(str_nonnull(s->uid)),
                        .created_us = s->created_us,
                        .wants = claim->wants,
                        .was_ours = claim->was_ours};

    read_families(&now, claim);
    now.ports = read_ports(m, s, NULL);
    read_wish(m, &now, claim->wish);
    now.closed = ipam_closed(m, claim);
    if (another || !claim->wants) { /* its ports are free for others */
        intern_drop(m->texts, e->serves);
        now.serves = NULL;
    }
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
        e = xcalloc(1, sizeof *e);
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
        free(e->had);
        free(e);
    }
}
