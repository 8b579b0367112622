/* SPDX-License-Identifier: Apache-2.0 */
/* compare_ipvs.c: what `ipvsadm -S -n`, `ipset save` and iptables-save printed, against what
 * kube-proxy would make; see compare.h.
 *
 * Tables from "*nat" to COMMIT are compared as in mode iptables (compare.c).  Each other line
 * becomes a fact: a virtual server, a real server of it, an entry of a set.  The wanted facts are
 * read from the renderer's text by the same reader.  Lines of other tools and sets of
 * others are passed over. */
#include <stdlib.h>
#include <string.h>

#include "common/base/map.h"
#include "common/services/compare/differences.h"
#include "common/services/node/plan.h"
#include "common/services/render/rules.h"

enum fact_kind {
    FACT_SERVER = 0,
    FACT_REAL,
    FACT_ENTRY,
};
struct fact {
    enum fact_kind kind;
    const char *key; /* "TCP 10.96.0.10:80", with " 10.244.1.1:80" for a real server; "SET ENTRY" */
    const char *value; /* what both must agree on: scheduler and persistence; "" */
    const char *at;    /* "10.96.0.10:80" or the entry: where its Service is looked up */
    const char *line;
};
struct facts {
    struct arena *a;
    struct fact *items;
    size_t n;
    size_t cap;
    size_t n_draining; /* real servers of weight 0 */
    bool has_sets;
    bool has_servers;
};

static void add(struct facts *f, struct fact fact)
{
    if (f->n == f->cap) {
        f->cap = f->cap == 0 ? 64 : 2 * f->cap;
        struct fact *more = ARENA_ARRAY(f->a, struct fact, f->cap);
        if (f->n > 0) {
            memcpy(more, f->items, f->n * sizeof(*more));
        }
        f->items = more;
    }
    f->items[f->n++] = fact;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const char *protocol_of(const char *flag)
{
    static const char *const rows[][2] = {{"-t", "TCP"}, {"-u", "UDP"}, {"--sctp-service", "SCTP"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(flag, rows[i][0])) {
            return rows[i][1];
        }
    }
    return NULL;
}

/* The word behind `flag`; "" when it is absent. */
static const char *behind(char *const *words, size_t n, const char *flag)
{
    for (size_t i = 0; i + 1 < n; i++) {
        if (str_eq(words[i], flag)) {
            return words[i + 1];
        }
    }
    return "";
}

static void read_server(struct facts *f, char *const *words, size_t n, const char *line)
{
    const char *protocol = n > 2 ? protocol_of(words[1]) : NULL;
    if (protocol == NULL) {
        return; /* a rule of iptables */
    }
    f->has_servers = true;
    const char *key = arena_printf(f->a, "%s %s", protocol, words[2]);
    if (str_eq(words[0], "-A")) {
        const char *value =
            arena_printf(f->a, "%s %s", behind(words, n, "-s"), behind(words, n, "-p"));
        add(f, (struct fact){FACT_SERVER, key, value, words[2], line});
        return;
    }
    if (str_eq(behind(words, n, "-w"), "0")) {
        f->n_draining++;
        return;
    }
    key = arena_printf(f->a, "%s %s", key, behind(words, n, "-r"));
    add(f, (struct fact){FACT_REAL, key, "", words[2], line});
}

static void read_line(struct facts *f, const char *line)
{
    size_t n = 0;
    char **words = str_split(f->a, str_trim(f->a, line), ' ', &n);
    if (str_eq(words[0], "-A") || str_eq(words[0], "-a")) {
        read_server(f, words, n, line);
    } else if (str_eq(words[0], "create")) {
        f->has_sets = true;
    } else if (str_eq(words[0], "add") && n >= 3 && str_has_prefix(words[1], "KUBE-")) {
        add(f, (struct fact){FACT_ENTRY, arena_printf(f->a, "%s %s", words[1], words[2]), "",
                             words[2], line});
    }
}

static int cmp_fact(const void *x, const void *y)
{
    const struct fact *p = x;
    const struct fact *q = y;
    return p->kind != q->kind ? (int)p->kind - (int)q->kind : strcmp(p->key, q->key);
}

static struct facts read_facts(struct arena *a, const char *text, size_t n)
{
    struct facts f = {.a = a};
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end == NULL ? n - at : (size_t)(end - (text + at));
        read_line(&f, arena_strndup(a, text + at, len));
        at += len + 1;
    }
    if (f.n > 1) {
        qsort(f.items, f.n, sizeof(*f.items), cmp_fact);
    }
    return f;
}

/* ---- differences ----------------------------------------------------------------------------- */

struct differing {
    struct arena *a;
    /* "10.96.0.10:80" and "10.96.0.10,tcp:80", node ports "30080" → display name */
    struct map *subjects;
    const struct ks_world *w;
    struct ks_differences list;
    size_t n_elsewhere; /* servers for node ports on addresses that the Node object does not name */
};

static void name_destinations(struct differing *d, const struct ks_world *w)
{
    const struct ks_plan *plan = ks_plan_make(d->a, w);
    for (size_t i = 0; i < plan->n_dests; i++) {
        const struct ks_dest *dest = &plan->dests[i];
        char ip[IP_TEXT_MAX] = "";
        if (dest->address.len == 0) {
            map_set(d->subjects, arena_printf(d->a, "%d", (int)dest->number),
                    (void *)dest->port->display);
            continue;
        }
        ip_format(&dest->address, ip);
        bool v6 = dest->address.len == 16;
        map_set(
            d->subjects,
            arena_printf(d->a, "%s%s%s:%d", v6 ? "[" : "", ip, v6 ? "]" : "", (int)dest->number),
            (void *)dest->port->display);
        map_set(d->subjects,
                arena_printf(d->a, "%s,%s:%d", ip, dest->port->proto, (int)dest->number),
                (void *)dest->port->display);
    }
}

/* By the whole place; of a node's own address by its port; of an entry with three parts
 * by the first two. */
static const char *subject_of(const struct differing *d, const struct fact *fact)
{
    const char *found = map_get(d->subjects, fact->at);
    const char *comma = strchr(fact->at, ',');
    const char *second = comma == NULL ? NULL : strchr(comma + 1, ',');
    const char *colon = strrchr(fact->at, ':');
    if (found == NULL && second != NULL) {
        found = map_get(d->subjects, arena_strndup(d->a, fact->at, (size_t)(second - fact->at)));
    }
    if (found == NULL && fact->kind != FACT_ENTRY && colon != NULL) {
        found = map_get(d->subjects, colon + 1);
    }
    return str_nonnull(found);
}

static const char *what_of(struct arena *a, const struct fact *fact)
{
    const char *last = strrchr(fact->key, ' ');
    int head = (int)(last - fact->key);
    if (fact->kind == FACT_REAL) {
        return arena_printf(a, "real server %s of %.*s", last + 1, head, fact->key);
    }
    if (fact->kind == FACT_ENTRY) {
        return arena_printf(a, "entry %s of the set %.*s", last + 1, head, fact->key);
    }
    return arena_printf(a, "virtual server %s", fact->key);
}

static void differ(struct differing *d, enum ks_difference_kind kind, const struct fact *want,
                   const struct fact *have)
{
    const struct fact *fact = want != NULL ? want : have;
    bool changed = kind == KS_DIFF_CHANGED;
    ks_differences_add(&d->list, (struct ks_difference){.kind = kind,
                                                        .subject = subject_of(d, fact),
                                                        .what = what_of(d->a, fact),
                                                        .want = changed ? want->line : NULL,
                                                        .have = changed ? have->line : NULL});
}

/* Only what the text has a part about. */
static bool counts(const struct facts *have, const struct fact *fact)
{
    return fact->kind == FACT_ENTRY ? have->has_sets : have->has_servers;
}

/* A node port on an address of a device (a bridge) that the Node object does not name: kube-proxy
 * sees all devices. */
static bool is_elsewhere(const struct differing *d, const struct fact *fact)
{
    const char *colon = strrchr(fact->at, ':');
    if (fact->kind == FACT_ENTRY || colon == NULL || map_has(d->subjects, fact->at) ||
        !map_has(d->subjects, colon + 1)) {
        return false;
    }
    bool bracket = fact->at[0] == '[';
    const char *text =
        arena_strndup(d->a, fact->at + bracket, (size_t)(colon - fact->at) - (bracket ? 2 : 0));
    struct ip_addr at;
    bool known = !ip_parse_sloppy(text, &at);
    for (size_t i = 0; i < d->w->config.n_addresses; i++) {
        struct ip_addr own;
        known |= ip_parse_sloppy(d->w->config.addresses[i], &own) && ip_eq(&own, &at);
    }
    return !known;
}

static void merge(struct differing *d, const struct facts *want, const struct facts *have)
{
    size_t i = 0;
    size_t k = 0;
    while (i < want->n || k < have->n) {
        const struct fact *x = i < want->n ? &want->items[i] : NULL;
        const struct fact *y = k < have->n ? &have->items[k] : NULL;
        int order = x == NULL ? 1 : y == NULL ? -1 : cmp_fact(x, y);
        if (order < 0 && counts(have, x)) {
            differ(d, KS_DIFF_MISSING, x, NULL);
        } else if (order > 0 && is_elsewhere(d, y)) {
            d->n_elsewhere += y->kind == FACT_SERVER;
        } else if (order > 0) {
            differ(d, KS_DIFF_EXTRA, NULL, y);
        } else if (order == 0 && !str_eq(x->value, y->value)) {
            differ(d, KS_DIFF_CHANGED, x, y);
        }
        i += order <= 0;
        k += order >= 0;
    }
}

/* The tables of iptables-save that stand in the text, with the lines before, between and behind
 * them as comments, so that an error names the right line; NULL: none. */
static const char *tables_in(struct arena *a, const char *text, size_t n)
{
    char *all = arena_strndup(a, text, n);
    bool inside = false;
    bool found = false;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end == NULL ? n - at : (size_t)(end - (text + at));
        bool last = inside && len >= 6 && strncmp(text + at, "COMMIT", 6) == 0;
        inside |= text[at] == '*';
        found |= inside;
        if (!inside) {
            memset(all + at, '#', len);
        }
        inside = inside && !last;
        at += len + 1;
    }
    return found ? all : NULL;
}

static void add_notes(struct differing *d, const struct facts *have, bool has_rules)
{
    struct arena *a = d->a;
    if (!have->has_sets) {
        ks_differences_note(&d->list,
                            "there is nothing of `ipset save` in it: sets are not compared");
    }
    if (!have->has_servers) {
        ks_differences_note(&d->list,
                            "there is nothing of `ipvsadm -S -n` in it: servers are not compared");
    }
    if (!has_rules) {
        ks_differences_note(&d->list, "there is nothing of iptables-save in it: the rules around "
                                      "the sets are not compared");
    }
    if (have->n_draining > 0) {
        ks_differences_note(
            &d->list,
            arena_printf(a, "%s of weight 0: on the way out, until the last connection ends",
                         str_count(a, have->n_draining, "real server")));
    }
    if (d->n_elsewhere > 0) {
        ks_differences_note(&d->list,
                            arena_printf(a,
                                         "%s for node ports on addresses that the Node object does "
                                         "not name: not compared",
                                         str_count(a, d->n_elsewhere, "virtual server")));
    }
}

int ks_compare_ipvs(struct arena *a, const struct ks_world *w, const char *text, size_t n,
                    struct ks_compared *ret, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    struct differing d = {.a = a, .w = w};
    const struct facts have = read_facts(a, text, n);
    const char *tables = tables_in(a, text, n);
    d.list = (struct ks_differences){.a = a, .n_rules = have.n};
    if (!have.has_sets && !have.has_servers && tables == NULL) {
        return err_set(err, ERR_INVALID,
                       "it has no set, no virtual server and no table; want the output of "
                       "ipvsadm -S -n, ipset save and iptables-save, one behind the other");
    }
    if (tables != NULL) {
        int code = ks_compare_saved(&d.list, w, KS_IPVS, tables, n, err);
        if (code != ERR_OK) {
            return code;
        }
    }
    const struct ks_ipvs v = ks_render_ipvs(a, w);
    ks_ipvs_text(&b, &v);
    const struct facts want = read_facts(a, str_buf_text(&b), b.len);
    d.subjects = map_new(NULL);
    name_destinations(&d, w);
    merge(&d, &want, &have);
    map_free(d.subjects);
    add_notes(&d, &have, tables != NULL);
    ks_differences_finish(&d.list, ret);
    return ERR_OK;
}
