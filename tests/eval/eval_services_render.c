/* SPDX-License-Identifier: Apache-2.0 */
/* eval_services_render.c: the functions services.* of trimtab-eval that render rules. */
#include "common/base/str.h"
#include "common/services/render/rules.h"
#include "tests/eval/eval_services.h"

#include <stdlib.h>
#include <string.h>

/* --- answers ---------------------------------------------------------------------------------- */

static struct json_object *strings(const char *const *items, size_t n)
{
    struct json_object *array = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        json_object_array_add(array, json_object_new_string(items[i]));
    }
    return array;
}

/* Jumps to KUBE-NODEPORTS come last, whatever they begin with. */
static bool is_last(const char *rule)
{
    return str_has_suffix(rule, " -j KUBE-NODEPORTS");
}

static int cmp_rules(const void *a, const void *b)
{
    const char *x = *(const char *const *)a;
    const char *y = *(const char *const *)b;
    return is_last(x) != is_last(y) ? is_last(x) - is_last(y) : strcmp(x, y);
}

static bool any_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (str_eq(*names, name)) {
            return true;
        }
    }
    return false;
}

/* Rules of the chains in `sorted` are sorted. */
static struct json_object *tables_json(const struct ks_tables *t, const char *const *sorted)
{
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < t->n_tables; i++) {
        struct json_object *table = json_object_new_object();
        for (size_t c = 0; c < t->tables[i].n_chains; c++) {
            const struct ks_chain *chain = &t->tables[i].chains[c];
            const char **rules = xcalloc(chain->n_rules + 1, sizeof(*rules));
            for (size_t r = 0; r < chain->n_rules; r++) {
                rules[r] = chain->rules[r];
            }
            if (any_of(chain->name, sorted)) {
                qsort(rules, chain->n_rules, sizeof(*rules), cmp_rules);
            }
            json_add(table, chain->name, strings(rules, chain->n_rules));
            free(rules);
        }
        json_add(out, t->tables[i].name, table);
    }
    return out;
}

/* --- iptables --------------------------------------------------------------------------------- */

static int iptables(struct arena *a, struct json_object *in, struct json_object **ret,
                    struct err *err)
{
    static const char *const sorted[] = {"KUBE-SERVICES", "KUBE-NODEPORTS",
                                         "KUBE-EXTERNAL-SERVICES", "KUBE-PROXY-FIREWALL", NULL};
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code == ERR_OK) {
        struct ks_tables t = ks_render_iptables(a, w);
        *ret = tables_json(&t, sorted);
    }
    return code;
}

static int iptables_text(struct arena *a, struct json_object *in, struct json_object **ret,
                         struct err *err)
{
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code == ERR_OK) {
        _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
        struct ks_tables t = ks_render_iptables(a, w);
        size_t n = 0;
        ks_iptables_text(&b, &t);
        char **lines = str_split(a, str_buf_text(&b), '\n', &n);
        *ret = strings((const char *const *)lines, n - 1); /* nothing is behind the last one */
    }
    return code;
}

/* The strings of an array; others are left out. */
static const char **read_strings(struct arena *a, struct json_object *array, size_t *ret_n)
{
    size_t len = json_len(array);
    const char **items = ARENA_ARRAY(a, const char *, len);
    *ret_n = 0;
    for (size_t i = 0; i < len; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        if (json_object_is_type(o, json_type_string)) {
            items[(*ret_n)++] = json_object_get_string(o);
        }
    }
    return items;
}

static struct ks_table read_table(struct arena *a, const char *name, struct json_object *o)
{
    bool is_object = json_object_is_type(o, json_type_object);
    size_t n = is_object ? (size_t)json_object_object_length(o) : 0;
    struct ks_chain *chains = ARENA_ARRAY(a, struct ks_chain, n);
    n = 0;
    if (is_object) {
        json_object_object_foreach(o, chain, rules)
        {
            struct ks_chain *c = &chains[n++];
            c->name = chain;
            c->rules = read_strings(a, rules, &c->n_rules);
        }
    }
    return (struct ks_table){.name = name, .chains = chains, .n_chains = n};
}

static int iptables_saved(struct arena *a, struct json_object *in, struct json_object **ret,
                          struct err *err)
{
    static const char *const none[] = {NULL};
    struct json_object *tables = json_member(in, "tables");
    struct ks_tables t = {0};
    if (!json_object_is_type(tables, json_type_object)) {
        return err_set(err, ERR_INVALID, "tables: want an object");
    }
    json_object_object_foreach(tables, name, table)
    {
        if (t.n_tables == ARRAY_LEN(t.tables)) {
            return err_set(err, ERR_INVALID, "tables: want at most %zu", t.n_tables);
        }
        t.tables[t.n_tables++] = read_table(a, name, table);
    }
    t = ks_iptables_saved(a, &t, str_eq(json_str(in, "family"), "IPv6") ? KS_IPV6 : KS_IPV4);
    *ret = tables_json(&t, none);
    return ERR_OK;
}

/* --- ipvs ------------------------------------------------------------------------------------- */

static struct json_object *sets_json(const struct ks_ipvs *v)
{
    struct json_object *out = json_object_new_object();
    for (size_t i = 0; i < v->n_sets; i++) {
        struct json_object *set = json_object_new_object();
        json_add_str(set, "type", v->sets[i].type);
        json_add_str(set, "family", v->sets[i].family);
        json_add(set, "entries", strings(v->sets[i].entries, v->sets[i].n_entries));
        json_add(out, v->sets[i].name, set);
    }
    return out;
}

static struct json_object *servers_json(const struct ks_ipvs *v)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < v->n_servers; i++) {
        const struct ks_virtual_server *s = &v->servers[i];
        struct json_object *server = json_object_new_object();
        char address[IP_TEXT_MAX];
        ip_format(&s->address, address);
        json_add_str(server, "address", address);
        json_add_int(server, "port", s->port);
        json_add_str(server, "protocol", s->protocol);
        json_add_str(server, "scheduler", s->scheduler);
        if (s->persistent_s != 0) {
            json_add_int(server, "persistent_s", s->persistent_s);
        }
        if (s->mh_port) {
            json_add_bool(server, "mh_port", true);
        }
        json_add(server, "real", strings(s->real, s->n_real));
        json_object_array_add(out, server);
    }
    return out;
}

static int ipvs(struct arena *a, struct json_object *in, struct json_object **ret, struct err *err)
{
    static const char *const sorted[] = {"KUBE-IPVS-OUT-FILTER", NULL};
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code == ERR_OK) {
        struct ks_ipvs v = ks_render_ipvs(a, w);
        *ret = json_object_new_object();
        json_add(*ret, "sets", sets_json(&v));
        json_add(*ret, "virtual_servers", servers_json(&v));
        json_add(*ret, "bound", strings(v.bound, v.n_bound));
        json_add(*ret, "iptables", tables_json(&v.tables, sorted));
    }
    return code;
}

/* The jumps from the kernel's chains in IPVS mode, in the form of the tables; no samples, for tests
 * with a kernel. */
static int ipvs_jumps(struct arena *a, struct json_object *in, struct json_object **ret,
                      struct err *err)
{
    static const char *const none[] = {NULL};
    struct ks_tables t = ks_ipvs_jumps(a);
    (void)in;
    (void)err;
    *ret = tables_json(&t, none);
    return ERR_OK;
}

/* --- nftables --------------------------------------------------------------------------------- */

static int nftables(struct arena *a, struct json_object *in, struct json_object **ret,
                    struct err *err)
{
    const struct ks_world *w;
    int code = eval_world(a, in, &w, err);
    if (code == ERR_OK) {
        struct ks_lines lines = ks_render_nftables(a, w);
        *ret = strings(lines.items, lines.n);
    }
    return code;
}

const struct eval_fn eval_services_render[] = {
    {"services.iptables", iptables},
    {"services.iptables_text", iptables_text},
    {"services.iptables_saved", iptables_saved},
    {"services.ipvs", ipvs},
    {"services.ipvs_jumps", ipvs_jumps},
    {"services.nftables", nftables},
    {NULL, NULL},
};
