/* SPDX-License-Identifier: Apache-2.0 */
/* members_rows.h: one row of a table of clusters: nodes, a pool and machines in a line each, and
 * what is planned for them. */
#ifndef TRIMTAB_TESTS_AZURE_MEMBERS_ROWS_H
#define TRIMTAB_TESTS_AZURE_MEMBERS_ROWS_H

#include "tests/unit/azure/members.h"

#define OTHER LB("other") "/backendAddressPools/other"

struct row {
    const char *what;
    const char *nodes;
    const char *members;      /* of pool kubernetes */
    const char *sets[3];      /* "name pools…", "+flex name pools…" */
    const char *instances[6]; /* "set id power pools…" */
    const char *nics[4];      /* "name vm pools…" */
    const char *want;
};

static inline char *row_rest(struct arena *a, char **word, size_t n, size_t from)
{
    return str_join(a, (const char *const *)word + from, n > from ? n - from : 0, " ");
}

static inline const char *row_array_of(struct world *w, const char *const *lines, size_t n,
                                       const char *(*one)(struct arena *a, char **word, size_t n))
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < n && lines[i] != NULL; i++) {
        size_t k;
        char **word = str_split(w->a, lines[i], ' ', &k);
        str_appendf(&b, "%s%s", i > 0 ? "," : "", one(w->a, word, k));
    }
    return arena_printf(w->a, "[%s]", str_buf_text(&b));
}

static inline const char *row_one_set(struct arena *a, char **word, size_t n)
{
    static const struct {
        const char *word, *member;
    } kinds[] = {{"+flex", "\"orchestrationMode\":\"Flexible\","},
                 {"+deleting", "\"provisioningState\":\"Deleting\","}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (str_eq(word[0], kinds[i].word)) {
            return world_set(a, word[1], row_rest(a, word, n, 2), kinds[i].member);
        }
    }
    return world_set(a, word[0], row_rest(a, word, n, 1), "");
}

static inline const char *row_one_instance(struct arena *a, char **word, size_t n)
{
    return world_instance(a, word[0], word[1], row_rest(a, word, n, 3), word[2]);
}

static inline const char *row_one_nic(struct arena *a, char **word, size_t n)
{
    return world_nic(a, word[0], word[1], row_rest(a, word, n, 2));
}

static inline void build(struct world *w, const struct row *r)
{
    world_settle(w);
    world_nodes(w, r->nodes);
    world_service(w, "web", NULL, NULL, "kubernetes");
    world_lb(w, world_pool(w->a, "kubernetes", r->members));
    world_see(w, AZURE_VMSSS, row_array_of(w, r->sets, ARRAY_LEN(r->sets), row_one_set));
    world_see(w, AZURE_VMSS_VMS,
              row_array_of(w, r->instances, ARRAY_LEN(r->instances), row_one_instance));
    world_see(w, AZURE_NICS, row_array_of(w, r->nics, ARRAY_LEN(r->nics), row_one_nic));
}

static inline struct lb_plan *planned(struct world *w)
{
    struct lb_plan *plan = ARENA_NEW(w->a, struct lb_plan);
    struct err err = ERR_INIT;
    lb_plan_init(plan, w->a);
    if (azure_plan_members(&w->s, plan, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return plan;
}

#define TWO "n0 vmss/0 10.0.0.4\nn1 vmss/1 10.0.0.5\n"

#endif
