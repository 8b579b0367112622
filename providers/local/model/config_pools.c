/* SPDX-License-Identifier: Apache-2.0 */
/* config_pools.c: the section `pools` of a configuration, and that no address is in two of them.
 * Pure. */
#include "providers/local/model/config_internal.h"

#include "common/base/map.h"
#include "common/data/yaml.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS         86400000
#define POOL_NAME_MAX  63
#define DIGITS_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

/* A pool while it is read. */
struct pool_reader {
    struct local_pool p; /* the first member: the tables below write into it */
    size_t *index;       /* item of `addresses` for each range */
};

/* Of DNS, as names of pools and of namespaces are. */
static bool is_label(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n <= POOL_NAME_MAX && strspn(text, DIGITS_LETTERS "-") == n && text[0] != '-' &&
           text[n - 1] != '-';
}

static void read_name(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    if (!is_label(json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "-")) {
        local_cfg_error(c, at,
                        "pool name \"%.100s\": lower-case letters, digits and dashes, at most %d",
                        local_cfg_shown(c, v), POOL_NAME_MAX);
        return;
    }
    local_cfg_text(c, at, f, v, out);
}

static void read_addresses(struct local_cfg *c, const struct local_cfg_at *at,
                           const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct pool_reader *r = out;
    (void)f;
    r->p.ranges = local_cfg_ranges(c, at, v, &r->p.n_ranges, &r->index);
}

static void read_exclude(struct local_cfg *c, const struct local_cfg_at *at,
                         const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct pool_reader *r = out;
    (void)f;
    r->p.exclude = local_cfg_ranges(c, at, v, &r->p.n_exclude, NULL);
}

static void read_namespaces(struct local_cfg *c, const struct local_cfg_at *at,
                            const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct pool_reader *r = out;
    (void)f;
    r->p.namespaces = local_cfg_texts(c, at, v, &r->p.n_namespaces);
    for (size_t i = 0; i < r->p.n_namespaces; i++) {
        if (!is_label(r->p.namespaces[i])) {
            local_cfg_error(c, at, "namespaces: no namespace can be called \"%.100s\"",
                            r->p.namespaces[i]);
        }
    }
}

static void read_interfaces(struct local_cfg *c, const struct local_cfg_at *at,
                            const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct pool_reader *r = out;
    (void)f;
    r->p.interfaces = local_cfg_texts(c, at, v, &r->p.n_interfaces);
}

static void read_refresh(struct local_cfg *c, const struct local_cfg_at *at,
                         const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct pool_reader *r = out;
    local_cfg_duration(c, at, f, v, out);
    if (r->p.refresh_ms > 0 && r->p.refresh_ms < 1000) {
        local_cfg_error(c, at, "announce.refresh %.100s: 0s or at least 1s", local_cfg_shown(c, v));
    }
}

#define P struct pool_reader
static void read_announce(struct local_cfg *c, const struct local_cfg_at *at,
                          const struct local_cfg_field *f, struct json_object *v, void *out)
{
    static const struct local_cfg_field fields[] = {
        LOCAL_CFG_WORD("by", P, p.announce_by, local_announce_words),
        LOCAL_CFG_FIELD("interfaces", read_interfaces, P, p.interfaces),
        LOCAL_CFG_RANGE("refresh", read_refresh, P, p.refresh_ms, 0, DAY_MS),
        LOCAL_CFG_FIELD("empty", local_cfg_bool, P, p.announce_empty),
        {0},
    };
    (void)f;
    local_cfg_object(c, at, v, fields, out);
}

const struct local_cfg_field local_cfg_pool_fields[] = {
    LOCAL_CFG_FIELD("name", read_name, P, p.name),
    LOCAL_CFG_FIELD("addresses", read_addresses, P, p.ranges),
    LOCAL_CFG_FIELD("exclude", read_exclude, P, p.exclude),
    LOCAL_CFG_FIELD("avoidBuggyIPs", local_cfg_bool, P, p.avoid_buggy_ips),
    LOCAL_CFG_FIELD("autoAssign", local_cfg_bool, P, p.auto_assign),
    LOCAL_CFG_RANGE("priority", local_cfg_number, P, p.priority, 0, INT32_MAX),
    LOCAL_CFG_FIELD("namespaces", read_namespaces, P, p.namespaces),
    LOCAL_CFG_FIELD("namespaceSelector", local_cfg_selector, P, p.namespace_selector),
    LOCAL_CFG_FIELD("serviceSelector", local_cfg_selector, P, p.service_selector),
    LOCAL_CFG_FIELD("mode", local_cfg_mode, P, p.serve.mode),
    LOCAL_CFG_FIELD("scheduler", local_cfg_scheduler, P, p.serve.scheduler),
    LOCAL_CFG_WORD("targets", P, p.serve.targets, local_targets_words),
    LOCAL_CFG_WORD("snat", P, p.serve.snat, local_snat_words),
    LOCAL_CFG_FIELD("announce", read_announce, P, p.announce_by),
    LOCAL_CFG_FIELD("checks", local_cfg_checks, P, p.serve.checks),
    LOCAL_CFG_RANGE("drainTimeout", local_cfg_duration, P, p.serve.drain_timeout_ms, 0, DAY_MS),
    LOCAL_CFG_FIELD("failOpen", local_cfg_bool, P, p.serve.fail_open),
    LOCAL_CFG_FIELD("sorry", local_cfg_sorry, P, p.serve.sorry),
    {0},
};
#undef P

/* ---- what goes together ---------------------------------------------------------------------- */

/* The key if it stands in the pool, else the pool itself. */
static struct local_cfg_at at_key(const struct local_cfg_at *at, struct json_object *v,
                                  const char *key)
{
    return json_member(v, key) != NULL ? (struct local_cfg_at){at, key, 0} : *at;
}

static void check_serve(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *v,
                        const struct local_service_defaults *s,
                        const struct local_director_config *d)
{
    enum local_mode mode = local_mode_of(s->mode);
    bool fullnat = mode == LOCAL_MODE_IPVS_FULLNAT && s->snat == LOCAL_SNAT_NEVER;
    if (s->snat != LOCAL_SNAT_AUTO && (local_mode_keeps_vip(mode) || fullnat)) {
        const struct local_cfg_at here = at_key(at, v, "snat");
        local_cfg_error(c, &here, "snat%s has no meaning with %s", fullnat ? " never" : "",
                        local_mode_word(mode));
    }
    struct err err = ERR_INIT;
    if (local_fits(mode, s->scheduler, s->targets, d->pods_routable, &err) != ERR_OK) {
        const struct local_cfg_at here =
            at_key(at, v, str_has_prefix(err.message, "scheduler") ? "scheduler" : "targets");
        local_cfg_error(c, &here, "%s", err.message);
    }
}

static void check_pool(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *v,
                       const struct local_pool *p)
{
    const struct local_cfg_at exclude = {at, "exclude", 0};
    const char *name = p->name != NULL ? p->name : "";
    if (json_member(v, "name") == NULL) {
        local_cfg_error(c, at, "pool has no name");
    }
    if (p->n_ranges == 0 && json_len(json_member(v, "addresses")) == 0) {
        local_cfg_error(c, at, "pool \"%s\" has no addresses", name);
    }
    for (size_t i = 0; i < p->n_exclude; i++) {
        if (!local_ranges_cover(p->ranges, p->n_ranges, &p->exclude[i])) {
            local_cfg_warn(c, &exclude, "exclude %s is not inside pool \"%s\"",
                           local_range_text(c->a, &p->exclude[i]), name);
        }
    }
}

/* ---- all pools ------------------------------------------------------------------------------- */

/* An entry of a pool, for finding the same address in two. */
struct entry {
    const struct local_range *r;
    const struct local_pool *pool;
    size_t i_pool;
    size_t i_item;
};

static int by_first(const void *x, const void *y)
{
    const struct entry *a = x;
    const struct entry *b = y;
    int d = local_addr_cmp(&a->r->first, &b->r->first);
    if (d != 0) {
        return d;
    }
    d = a->i_pool < b->i_pool ? -1 : a->i_pool > b->i_pool;
    return d != 0 ? d : a->i_item < b->i_item ? -1 : a->i_item > b->i_item;
}

/* The finding stands at the entry that comes later in the file, the pools in the order of the
 * file. */
static void tell_overlap(struct local_cfg *c, const struct entry *x, const struct entry *y)
{
    bool swapped = x->i_pool > y->i_pool || (x->i_pool == y->i_pool && x->i_item > y->i_item);
    const struct entry *early = swapped ? y : x;
    const struct entry *late = swapped ? x : y;
    const struct local_cfg_at pools = {NULL, "pools", 0};
    const struct local_cfg_at pool = {&pools, NULL, late->i_pool};
    const struct local_cfg_at key = {&pool, "addresses", 0};
    const struct local_cfg_at at = {&key, NULL, late->i_item};
    char addr[IP_TEXT_MAX];
    ip_format(&y->r->first, addr); /* y begins later: its first address is in both */
    if (early->pool == late->pool) {
        local_cfg_error(c, &at, "pool \"%s\" has %s twice", str_nonnull(late->pool->name), addr);
    } else {
        local_cfg_error(c, &at, "pools \"%s\" and \"%s\" both have %s",
                        str_nonnull(early->pool->name), str_nonnull(late->pool->name), addr);
    }
}

static void check_overlaps(struct local_cfg *c, const struct pool_reader *readers, size_t n)
{
    size_t total = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        total += readers[i].p.n_ranges;
    }
    struct entry *entries = ARENA_ARRAY(c->a, struct entry, total);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < readers[i].p.n_ranges; k++) {
            entries[used++] =
                (struct entry){&readers[i].p.ranges[k], &readers[i].p, i, readers[i].index[k]};
        }
    }
    qsort(entries, total, sizeof(*entries), by_first);
    size_t widest = 0; /* of those before i, the one that ends last */
    for (size_t i = 1; i < total; i++) {
        if (local_addr_cmp(&entries[i].r->first, &entries[widest].r->last) <= 0) {
            tell_overlap(c, &entries[widest], &entries[i]);
        }
        if (local_addr_cmp(&entries[i].r->last, &entries[widest].r->last) > 0) {
            widest = i;
        }
    }
}

static void check_names(struct local_cfg *c, const struct local_cfg_at *pools,
                        const struct pool_reader *readers, size_t n)
{
    struct map *names = map_new(NULL);
    for (size_t i = 0; i < n; i++) {
        const char *name = readers[i].p.name;
        const struct local_cfg_at pool = {pools, NULL, i};
        const struct local_cfg_at at = {&pool, "name", 0};
        if (name != NULL && map_has(names, name)) {
            local_cfg_error(c, &at, "two pools are called \"%s\"", name);
        } else if (name != NULL) {
            map_set(names, name, NULL);
        }
    }
    map_free(names);
}

static void read_pool(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *v,
                      const struct local_director_config *d, struct pool_reader *r)
{
    r->p.serve = d->serve;
    r->p.auto_assign = true;
    r->p.refresh_ms = 60000;
    local_cfg_object(c, at, v, local_cfg_pool_fields, r);
    if (json_object_is_type(v, json_type_object)) {
        check_pool(c, at, v, &r->p);
        check_serve(c, at, v, &r->p.serve, d);
    }
}

void local_cfg_pools(struct local_cfg *c, struct json_object *v, struct local_config *config)
{
    const struct local_cfg_at at = {NULL, "pools", 0};
    size_t n = json_len(v);
    if (v != NULL && !json_object_is_type(v, json_type_array)) {
        local_cfg_error(c, &at, "pools: want a list, got \"%.100s\"", local_cfg_shown(c, v));
        return;
    }
    if (n == 0) {
        local_cfg_error(c, v == NULL ? NULL : &at, "no pools: nothing could be handed out");
        return;
    }
    if (n > LOCAL_POOLS_MAX) {
        local_cfg_error(c, &at, "%zu pools; at most %d", n, LOCAL_POOLS_MAX);
        return;
    }
    struct pool_reader *readers = ARENA_ARRAY(c->a, struct pool_reader, n);
    struct local_pool *pools = ARENA_ARRAY(c->a, struct local_pool, n);
    size_t *lines = ARENA_ARRAY(c->a, size_t, n);
    yaml_item_lines(c->text, c->text_len, 0, "pools", lines, n);
    for (size_t i = 0; i < n; i++) {
        const struct local_cfg_at here = {&at, NULL, i};
        read_pool(c, &here, json_object_array_get_idx(v, i), &config->director, &readers[i]);
        readers[i].p.line = lines[i];
    }
    check_names(c, &at, readers, n);
    check_overlaps(c, readers, n);
    for (size_t i = 0; i < n; i++) {
        pools[i] = readers[i].p;
    }
    config->pools = pools;
    config->n_pools = n;
}
