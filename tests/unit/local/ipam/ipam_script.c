/* SPDX-License-Identifier: Apache-2.0 */
/* ipam_script.c: see ipam_script.h. */
#include "tests/unit/local/ipam/ipam_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after these four */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/local/ipam/ipam_internal.h"
#include "tests/support/intern_count.h"
#include "tests/support/unit.h"

#define WORDS_MAX 32

/* Parts in place; returns how many. */
static size_t part(char *text, char by, char **ret, size_t max)
{
    size_t n = 0;
    for (char *at = text; at != NULL && n < max;) {
        char *end = strchr(at, by);
        if (end != NULL) {
            *end++ = '\0';
        }
        if (*at != '\0') {
            ret[n++] = at;
        }
        at = end;
    }
    return n;
}

static struct ip_addr addr_of(const char *text)
{
    struct ip_addr addr;
    if (!ip_parse(text, &addr)) {
        fail_msg("%s is no address", text);
    }
    return addr;
}

/* ---- configuration --------------------------------------------------------------------------- */

static struct local_range range_of(char *text)
{
    char *ends[2];
    size_t n = part(text, '-', ends, 2);
    return (struct local_range){.first = addr_of(ends[0]), .last = addr_of(ends[n - 1])};
}

static struct local_range *ranges_of(struct arena *a, char *text, size_t *ret_n)
{
    char *items[WORDS_MAX];
    *ret_n = part(text, ',', items, WORDS_MAX);
    struct local_range *ranges = ARENA_ARRAY(a, struct local_range, *ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        ranges[i] = range_of(items[i]);
    }
    return ranges;
}

static struct local_selector selector_of(struct arena *a, char *text)
{
    char *kv[2];
    (void)part(text, ':', kv, 2);
    const char **values = ARENA_ARRAY(a, const char *, 1);
    struct local_requirement *r = ARENA_NEW(a, struct local_requirement);
    values[0] = kv[1];
    *r = (struct local_requirement){
        .key = kv[0], .op = LOCAL_SEL_IN, .values = values, .n_values = 1};
    return (struct local_selector){.given = true, .items = r, .n = 1};
}

static void pool_flag(struct arena *a, struct local_pool *p, char *flag)
{
    if (str_eq(flag, "noauto")) {
        p->auto_assign = false;
    } else if (str_eq(flag, "buggy")) {
        p->avoid_buggy_ips = true;
    } else if (str_has_prefix(flag, "prio")) {
        p->priority = strtol(flag + 4, NULL, 10);
    } else if (str_has_prefix(flag, "ns:")) {
        const char **names = ARENA_ARRAY(a, const char *, 1);
        names[0] = flag + 3;
        p->namespaces = names;
        p->n_namespaces = 1;
    } else if (str_has_prefix(flag, "nssel:")) {
        p->namespace_selector = selector_of(a, flag + 6);
    } else if (str_has_prefix(flag, "sel:")) {
        p->service_selector = selector_of(a, flag + 4);
    } else if (str_has_prefix(flag, "ex:")) {
        p->exclude = ranges_of(a, flag + 3, &p->n_exclude);
    } else {
        fail_msg("pool flag %s", flag);
    }
}

static struct local_pool pool_of(struct arena *a, char *text)
{
    char *words[WORDS_MAX];
    size_t n = part(text, '/', words, WORDS_MAX);
    char *eq = strchr(words[0], '=');
    struct local_pool p = {.name = words[0], .auto_assign = true};
    *eq = '\0';
    p.ranges = ranges_of(a, eq + 1, &p.n_ranges);
    for (size_t i = 1; i < n; i++) {
        pool_flag(a, &p, words[i]);
    }
    return p;
}

static struct local_reservation reservation_of(struct arena *a, char *text)
{
    char *at = strchr(text, '@');
    struct ip_addr *addr = ARENA_NEW(a, struct ip_addr);
    *at = '\0';
    *addr = addr_of(at + 1);
    return (struct local_reservation){.service = text, .addrs = addr, .n_addrs = 1};
}

static const struct local_config *config_of(struct arena *a, const char *text)
{
    char *words[WORDS_MAX];
    size_t n = part(arena_strdup(a, text), ' ', words, WORDS_MAX);
    struct local_config *c = ARENA_NEW(a, struct local_config);
    struct local_pool *pools = ARENA_ARRAY(a, struct local_pool, n);
    struct local_reservation *reserved = ARENA_ARRAY(a, struct local_reservation, n);
    *c = (struct local_config){.pools = pools, .reservations = reserved, .reuse_delay_ms = 60000};
    for (size_t i = 0; i < n; i++) {
        if (strchr(words[i], '@') != NULL) {
            reserved[c->n_reservations++] = reservation_of(a, words[i]);
        } else {
            pools[c->n_pools++] = pool_of(a, words[i]);
        }
    }
    return c;
}

/* ---- Services -------------------------------------------------------------------------------- */

struct seen {
    struct tt_service service;
    struct local_wish wish;
    struct local_claim claim;
};

static void families_of(struct arena *a, struct tt_service *s, const char *text)
{
    const char **families = ARENA_ARRAY(a, const char *, 2);
    const char **ips = ARENA_ARRAY(a, const char *, 2);
    for (size_t i = 0; text[i] != '\0'; i++) {
        families[i] = text[i] == '6' ? "IPv6" : "IPv4";
        ips[i] = text[i] == '6' ? "fd00::1" : "10.96.0.1";
        s->n_ip_families = s->n_cluster_ips = (uint32_t)i + 1;
    }
    s->ip_families = families;
    s->cluster_ips = ips;
}

static void ports_of(struct arena *a, struct tt_service *s, char *text)
{
    char *items[WORDS_MAX];
    size_t n = part(text, ',', items, WORDS_MAX);
    struct tt_port *ports = ARENA_ARRAY(a, struct tt_port, n);
    for (size_t i = 0; i < n; i++) {
        char *slash = strchr(items[i], '/');
        *slash = '\0';
        ports[i] = (struct tt_port){
            .name = "", .protocol = slash + 1, .port = (int32_t)strtol(items[i], NULL, 10)};
    }
    s->ports = ports;
    s->n_ports = (uint32_t)n;
}

static void status_of(struct arena *a, struct tt_service *s, char *text)
{
    char *items[WORDS_MAX];
    size_t n = part(text, ',', items, WORDS_MAX);
    struct tt_ingress *in = ARENA_ARRAY(a, struct tt_ingress, n);
    for (size_t i = 0; i < n; i++) {
        bool host = strchr(items[i], '.') != NULL && items[i][0] >= 'a';
        in[i] =
            host ? (struct tt_ingress){.hostname = items[i]} : (struct tt_ingress){.ip = items[i]};
    }
    s->ingress = in;
    s->n_ingress = (uint32_t)n;
}

static struct tt_kv *label_of(struct arena *a, char *text)
{
    char *kv[2];
    struct tt_kv *label = ARENA_NEW(a, struct tt_kv);
    (void)part(text, ':', kv, 2);
    *label = (struct tt_kv){kv[0], kv[1]};
    return label;
}

static bool flag_of(struct seen *x, const char *word)
{
    if (str_eq(word, "no")) {
        x->claim.wants = false;
    } else if (str_eq(word, "ours")) {
        x->claim.was_ours = true;
    } else if (str_eq(word, "move")) {
        x->wish.move = true;
    } else if (str_eq(word, "noips")) {
        x->service.n_cluster_ips = 0;
    } else if (str_eq(word, "manifest")) { /* it was not filled in */
        x->service.n_cluster_ips = x->service.n_ip_families = 0;
        x->claim.is_manifest = true;
    } else if (str_eq(word, "bad")) {
        x->claim.wish = NULL;
    } else {
        return false;
    }
    return true;
}

static void wish_of(struct seen *x, const char *name, char *value)
{
    char *items[2];
    if (str_eq(name, "key")) {
        x->wish.share = value;
    } else if (str_eq(name, "pool")) {
        x->wish.pool = value;
    } else if (str_eq(name, "ask")) {
        x->wish.n_addrs = part(value, ',', items, 2);
        for (size_t i = 0; i < x->wish.n_addrs; i++) {
            x->wish.addrs[i] = addr_of(items[i]);
        }
    } else {
        fail_msg("word %s", name);
    }
}

static void word_of(struct arena *a, struct seen *x, char *word)
{
    if (flag_of(x, word)) {
        return;
    }
    char *value = strchr(word, '=');
    *value++ = '\0';
    if (str_eq(word, "st")) {
        status_of(a, &x->service, value);
    } else if (str_eq(word, "fam")) {
        families_of(a, &x->service, value);
    } else if (str_eq(word, "pol")) {
        x->service.ip_family_policy = *value == 'R' ? "RequireDualStack" : "PreferDualStack";
    } else if (str_eq(word, "ports")) {
        ports_of(a, &x->service, value);
    } else if (str_eq(word, "label")) {
        x->service.labels = label_of(a, value);
        x->service.n_labels = 1;
    } else if (str_eq(word, "nslabel")) {
        x->claim.ns_labels = label_of(a, value);
        x->claim.n_ns_labels = 1;
        x->claim.has_ns_labels = true;
    } else if (str_eq(word, "created")) {
        x->service.created_us = strtol(value, NULL, 10);
    } else {
        wish_of(x, word, value);
    }
}

static void see(struct ipam_script *s, const char *text)
{
    char *words[WORDS_MAX];
    size_t n = part(arena_strdup(s->a, text), ' ', words, WORDS_MAX);
    char *slash = strchr(words[0], '/');
    struct seen x = {
        .service = {.size = sizeof x.service, .ip_family_policy = "SingleStack", .created_us = 100},
        .claim = {.wants = true}};
    map_set(s->seen, words[0], arena_strdup(s->a, text));
    *slash = '\0';
    x.claim.service = &x.service;
    x.claim.wish = &x.wish;
    x.service.ns = words[0];
    x.service.name = slash + 1;
    x.service.uid = arena_printf(s->a, "uid-%s", slash + 1);
    families_of(s->a, &x.service, "4");
    ports_of(s->a, &x.service, arena_strdup(s->a, "80/TCP"));
    for (size_t i = 1; i < n; i++) {
        word_of(s->a, &x, words[i]);
    }
    local_ipam_see(s->ipam, &x.claim, s->now_ms);
}

/* ---- commands -------------------------------------------------------------------------------- */

static const char *grant_text(struct ipam_script *s, const struct local_grant *g)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    char text[IP_TEXT_MAX];
    for (size_t i = 0; i < g->n; i++) {
        ip_format(&g->have[i].addr, text);
        str_appendf(&b, "%s%s", i == 0 ? "" : ",", text);
    }
    return str_buf_to_arena(&b, s->a);
}

static void grant(struct ipam_script *s, const char *key, bool for_good, struct str_buf *out)
{
    struct local_grant g;
    struct err err = ERR_INIT;
    char text[IP_TEXT_MAX];
    int rc = for_good ? local_ipam_grant(s->ipam, key, s->now_ms, &g, &err)
                      : local_ipam_would_grant(s->ipam, key, s->now_ms, &g, &err);
    assert_int_equal(rc, err.code);
    str_append(out, key);
    if (rc != ERR_OK) {
        str_appendf(out, "!%s(%s)", err_code_name(rc), err.message);
    }
    const char *have = grant_text(s, &g);
    if (rc == ERR_OK || g.n > 0) {
        str_appendf(out, "=%s", have);
    }
    for (size_t i = 0; i < g.n_old; i++) {
        ip_format(&g.old[i], text);
        str_appendf(out, "-%s", text);
    }
    str_append(out, (g.flags & LOCAL_GRANT_SECOND_MISSING) != 0 ? "?" : "");
    str_append(out, (g.flags & LOCAL_GRANT_OUTSIDE) != 0 ? "^" : "");
    str_append(out, (g.flags & LOCAL_GRANT_SHARE_BROKEN) != 0 ? "~" : "");
    str_append(out, " ");
    if (for_good) {
        map_set(s->told, key, (void *)have);
    }
}

/* The words of the last "see" without its status, and the status that was granted. */
static void publish(struct ipam_script *s, const char *key)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    char *words[WORDS_MAX];
    size_t n = part(arena_strdup(s->a, map_get(s->seen, key)), ' ', words, WORDS_MAX);
    const char *told = map_get(s->told, key);
    for (size_t i = 0; i < n; i++) {
        if (!str_has_prefix(words[i], "st=") && !str_eq(words[i], "ours")) {
            str_appendf(&b, "%s ", words[i]);
        }
    }
    str_append(&b, "ours");
    if (!str_is_empty(told)) {
        str_appendf(&b, " st=%s", told);
    }
    see(s, str_buf_text(&b));
}

struct collect {
    const struct local_ipam *m;
    const struct entry **items;
    size_t n;
};

static void collect(struct collect *c)
{
    for (size_t i = 0; i < c->m->entries.cap; i++) {
        const struct entry *e = c->m->entries.at[i];
        if (e != NULL && e->waiting && e->asked->waits_from != c->m->freed) {
            c->items[c->n++] = e;
        }
    }
}

static int oldest_first(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;

    return ipam_is_older(x, y) ? -1 : ipam_is_older(y, x);
}

/* Keys that may be granted something now and could not before (an address became free, reuseDelay
 * is over), oldest first; when the next will be free; INT64_MAX: none waits for time. */
static size_t local_ipam_waiting(struct local_ipam *m, struct arena *a, int64_t now_ms,
                                 const char *const **ret_keys, int64_t *ret_next_ms)
{
    ipam_expire(m, now_ms);
    struct collect c = {.m = m, .items = ARENA_ARRAY(a, const struct entry *, m->n_waiting + 1)};
    bool later = m->n_waiting > 0 && m->first_gone < m->n_gone;

    *ret_next_ms = later ? m->gone[m->first_gone].at_ms + m->config->reuse_delay_ms : INT64_MAX;
    if (m->n_waiting > 0) {
        collect(&c);
        qsort(c.items, c.n, sizeof(*c.items), oldest_first);
    }
    const char **keys = ARENA_ARRAY(a, const char *, c.n + 1);
    for (size_t i = 0; i < c.n; i++) {
        keys[i] = arena_strdup(a, ipam_key(c.items[i]));
    }
    *ret_keys = keys;
    return c.n;
}

static void waiting(struct ipam_script *s, struct str_buf *out)
{
    const char *const *keys;
    int64_t next_ms;
    size_t n = local_ipam_waiting(s->ipam, s->a, s->now_ms, &keys, &next_ms);
    str_append(out, "waiting(");
    for (size_t i = 0; i < n; i++) {
        str_appendf(out, "%s%s", i == 0 ? "" : ",", keys[i]);
    }
    str_append(out, ") ");
}

static void command(struct ipam_script *s, char *line, struct str_buf *out)
{
    char *rest = strchr(line, ' ');
    if (rest != NULL) {
        *rest++ = '\0';
    }
    if (str_eq(line, "see")) {
        see(s, rest);
    } else if (str_eq(line, "pub")) {
        publish(s, rest);
    } else if (str_eq(line, "gone")) {
        local_ipam_forget(s->ipam, rest, s->now_ms);
    } else if (str_eq(line, "at")) {
        s->now_ms = strtol(rest, NULL, 10) * 1000;
    } else if (str_eq(line, "grant") || str_eq(line, "would")) {
        grant(s, rest, *line == 'g', out);
    } else if (str_eq(line, "remember")) {
        char *ip = strchr(rest, ' ');
        *ip++ = '\0';
        const struct ip_addr addr = addr_of(ip);
        local_ipam_remember(s->ipam, rest, &addr, s->now_ms);
    } else if (str_eq(line, "waiting")) {
        waiting(s, out);
    } else {
        fail_msg("command %s", line);
    }
}

const char *ipam_script_run(struct ipam_script *s, const char *script)
{
    _cleanup_(str_buf_done) struct str_buf out = STR_BUF_INIT;
    char *at = arena_strdup(s->a, script);
    while (at != NULL) {
        char *end = strchr(at, ';');
        if (end != NULL) {
            *end++ = '\0';
        }
        command(s, at + strspn(at, " "), &out);
        at = end;
    }
    return str_buf_to_arena(&out, s->a);
}

void ipam_script_begin(struct ipam_script *s, struct arena *a, const char *pools)
{
    *s = (struct ipam_script){
        .a = a, .config = config_of(a, pools), .seen = map_new(NULL), .told = map_new(NULL)};
    s->texts = intern_table_new();
    s->ipam = local_ipam_new(s->config, s->texts);
}

void ipam_script_end(struct ipam_script *s)
{
    local_ipam_free(s->ipam);
    assert_int_equal(0, intern_count(s->texts));
    intern_table_free(s->texts);
    map_free(s->seen);
    map_free(s->told);
}
