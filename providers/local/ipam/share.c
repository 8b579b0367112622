/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: several Services on one address.
 *
 * They share when both sides say so with one key, no port is theirs twice, and they are of one
 * namespace, or the key begins with "star slash" on both sides.  Neither equal selectors nor equal
 * policies are asked for: the director forwards each port by itself. */
#include "providers/local/ipam/ipam_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static const char *protocol_word(uint16_t first)
{
    return first == 'U' ? "UDP" : first == 'S' ? "SCTP" : "TCP";
}

/* A port that both have and that is the other's by `rule`; NULL: none. */
static const struct service_port *common_port(const struct entry *e, const struct entry *other,
                                              bool (*rule)(const struct entry *e,
                                                           const struct entry *other,
                                                           const struct service_port *port))
{
    size_t n_mine;
    size_t n_theirs;
    const struct service_port *mine = ipam_ports(e, &n_mine);
    const struct service_port *theirs = ipam_ports(other, &n_theirs);

    for (size_t i = 0; i < n_mine; i++) {
        for (size_t k = 0; k < n_theirs; k++) {
            if (mine[i].port == theirs[k].port && mine[i].protocol == theirs[k].protocol &&
                rule(e, other, &mine[i])) {
                return &mine[i];
            }
        }
    }
    return NULL;
}

/* `e` is not there yet. */
static bool has_come_first(const struct entry *e, const struct entry *other,
                           const struct service_port *port)
{
    (void)e, (void)other, (void)port;
    return true;
}

static bool same_key(const struct entry *a, const struct entry *b)
{
    if (a->asked->share == NULL || a->asked->share != b->asked->share) {
        return false;
    }
    size_t n = ipam_ns_len(a);
    bool same_ns = n == ipam_ns_len(b) && memcmp(ipam_key(a), ipam_key(b), n) == 0;
    return same_ns || str_has_prefix(intern_str(a->asked->share), "*/");
}

/* Of two that ask for the port, the one that serves it keeps it, and an edit of the other takes
 * nothing from it; when neither does, or both do, the older one has it. */
static bool is_others(const struct entry *e, const struct entry *other,
                      const struct service_port *port)
{
    bool mine = ipam_serves(e, port);
    bool theirs = ipam_serves(other, port);

    return mine == theirs ? ipam_is_older(other, e) : theirs;
}

static int refuse_port(const struct service_port *p, const struct use *use,
                       const struct entry *other, struct err *err)
{
    char text[IP_TEXT_MAX];

    ip_format(&use->addr, text);
    return err_set(err, ERR_IN_USE, "port %u/%s of %s is %s's", p->port, protocol_word(p->protocol),
                   text, ipam_key(other));
}

/* No other Service needs to agree that `e` is there already. */
static int may_share(const struct entry *e, const struct entry *other, const struct use *use,
                     struct err *err)
{
    char text[IP_TEXT_MAX];

    ip_format(&use->addr, text);
    if (other->asked->share == NULL) {
        return err_set(err, ERR_IN_USE, "%s is %s's, which does not share", text, ipam_key(other));
    }
    if (e->asked->share == NULL) {
        return err_set(err, ERR_IN_USE, "%s is shared under key \"%s\", this Service has none",
                       text, intern_str(other->asked->share));
    }
    if (e->asked->share != other->asked->share) {
        return err_set(err, ERR_IN_USE, "%s is shared under key \"%s\", this Service has \"%s\"",
                       text, intern_str(other->asked->share), intern_str(e->asked->share));
    }
    if (!same_key(e, other)) {
        return err_set(err, ERR_IN_USE,
                       "%s is %s's, of another namespace: the key of both must begin with \"*/\"",
                       text, ipam_key(other));
    }
    const struct service_port *p = common_port(e, other, has_come_first);
    return p == NULL ? ERR_OK : refuse_port(p, use, other, err);
}

int ipam_may_join(const struct entry *e, const struct use *use, struct err *err)
{
    for (size_t i = 0; i < use->n_by; i++) {
        if (ipam_by(use)[i] != e && may_share(e, ipam_by(use)[i], use, err) != ERR_OK) {
            return ERR_IN_USE;
        }
    }
    return ERR_OK;
}

/* An edit takes nothing down: those that are there stay, as long as each port has one owner.  Two
 * that never shared (a status that was copied) are something else: the address is the older
 * one's. */
int ipam_may_stay(const struct entry *e, const struct use *use, bool *ret_broken, struct err *err)
{
    char text[IP_TEXT_MAX];

    *ret_broken = false;
    for (size_t i = 0; use != NULL && i < use->n_by; i++) {
        const struct entry *other = ipam_by(use)[i];
        if (other == e) {
            continue;
        }
        bool same = same_key(e, other);
        bool never = !same && e->asked->share == NULL && other->asked->share == NULL;
        if (never && ipam_is_older(other, e)) {
            ip_format(&use->addr, text);
            return err_set(err, ERR_IN_USE,
                           "%s belongs to %s (older); this Service gets another when its status is "
                           "cleared or annotation " LOCAL_PREFIX "addresses is set",
                           text, ipam_key(other));
        }
        const struct service_port *p = never ? NULL : common_port(e, other, is_others);
        if (p != NULL) {
            return refuse_port(p, use, other, err);
        }
        *ret_broken = *ret_broken || (!same && !never);
    }
    return ERR_OK;
}

/* ---- addresses of a key ---------------------------------------------------------------------- */

static struct sharing *sharing_of(const struct local_ipam *m, const struct interned *key)
{
    return key == NULL ? NULL : index_get(&m->sharings, key);
}

/* Where the address stands, or would stand. */
static size_t place_of(const struct sharing *s, const struct ip_addr *addr)
{
    size_t low = 0;
    size_t high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (local_addr_cmp(&s->at[mid].addr, addr) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static bool stands_at(const struct sharing *s, size_t i, const struct ip_addr *addr)
{
    return i < s->n && local_addr_cmp(&s->at[i].addr, addr) == 0;
}

void ipam_share_joined(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr)
{
    const struct interned *key = e->asked->share;
    struct sharing *s = sharing_of(m, key);

    if (key == NULL) {
        return;
    }
    if (s == NULL) {
        s = xcalloc(1, sizeof *s);
        s->key = intern_again(m->texts, key);
        (void)index_put(&m->sharings, s); /* it was not there */
    }
    size_t i = place_of(s, addr);
    if (!stands_at(s, i, addr)) {
        if (s->n == s->cap) {
            s->cap += s->cap / 2 + 1;
            s->at = xrealloc(s->at, s->cap * sizeof *s->at);
        }
        memmove(&s->at[i + 1], &s->at[i], (s->n - i) * sizeof *s->at);
        s->at[i] = (struct shared_at){.addr = *addr};
        s->n++;
    }
    s->at[i].n_by++;
}

static void sharing_free(const struct local_ipam *m, struct sharing *s)
{
    if (s != NULL) {
        intern_drop(m->texts, s->key);
        free(s->at);
        free(s);
    }
}

void ipam_share_parted(struct local_ipam *m, const struct entry *e, const struct ip_addr *addr)
{
    struct sharing *s = sharing_of(m, e->asked->share);
    size_t i = s == NULL ? 0 : place_of(s, addr);

    if (s == NULL || !stands_at(s, i, addr) || --s->at[i].n_by > 0) {
        return;
    }
    s->n--;
    memmove(&s->at[i], &s->at[i + 1], (s->n - i) * sizeof *s->at);
    if (s->n == 0) {
        sharing_free(m, index_take(&m->sharings, s->key));
    }
}

void ipam_shares_done(struct local_ipam *m)
{
    for (size_t i = 0; i < m->sharings.cap; i++) {
        sharing_free(m, m->sharings.at[i]);
    }
    index_done(&m->sharings);
}

bool ipam_find_shared(const struct local_ipam *m, const struct entry *e, uint8_t len,
                      struct ip_addr *ret)
{
    const struct sharing *s = sharing_of(m, e->asked->share);
    struct err ignored = ERR_INIT;

    for (size_t i = 0; s != NULL && i < s->n; i++) {
        const struct use *u = s->at[i].addr.len == len ? ipam_use(m, &s->at[i].addr) : NULL;
        const struct local_pool *pool = u == NULL ? NULL : ipam_pool_of(m, &u->addr);
        bool open = pool != NULL && ipam_why_closed(m, e, pool) == POOL_OPEN &&
                    (e->asked->pool == NULL || strcmp(intern_str(e->asked->pool), pool->name) == 0);
        if (open && ipam_may_join(e, u, &ignored) == ERR_OK) {
            *ret = u->addr;
            return true;
        }
    }
    return false;
}
