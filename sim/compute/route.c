/* SPDX-License-Identifier: Apache-2.0 */
/* route.c: which operation a request is, and what it is about.
 *
 * The path is matched against the operation table, literal segments first; then it is taken apart:
 * projects/P[/global|/regions/R|/zones/Z|/aggregated]/COLLECTION[/NAME[/ACTION]].  A path that no
 * operation has is "unknown". */
#include "sim/compute/compute.h"

#include <string.h>

#define SEGMENTS_MAX 12

/* How many segments of the path are literal in the template; -1: no match. */
static int match_template(const char *template, char **seg, size_t n)
{
    int literal = 0;
    const char *at = template;
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(at, "/");
        if (len == 0) {
            return -1;
        }
        if (at[0] != '{') {
            if (strlen(seg[i]) != len || strncmp(at, seg[i], len) != 0) {
                return -1;
            }
            literal++;
        } else if (seg[i][0] == '\0') {
            return -1;
        }
        at += len;
        if (*at == '/') {
            at++;
        } else if (i + 1 < n) {
            return -1;
        }
    }
    return *at == '\0' ? literal : -1;
}

static const struct compute_op *find_op(const char *method, char **seg, size_t n)
{
    const struct compute_op *best = NULL;
    int best_literal = -1;
    for (const struct compute_op *op = compute_ops; op->id; op++) {
        int literal = str_eq(op->method, method) ? match_template(op->path, seg, n) : -1;
        if (literal > best_literal) {
            best = op;
            best_literal = literal;
        }
    }
    return best;
}

/* Segments below the version, decoded; false: not such a path. */
static bool split_path(struct arena *a, const char *path, char **seg, size_t *ret_n, bool *ret_beta)
{
    const char *below = ce_version_below(path, ret_beta);
    if (!below) {
        return false;
    }
    char **raw = str_split(a, below, '/', ret_n);
    if (*ret_n == 0 || *ret_n > SEGMENTS_MAX) {
        return false;
    }
    for (size_t i = 0; i < *ret_n; i++) {
        seg[i] = url_unescape(a, raw[i], false);
        if (!seg[i] || strchr(seg[i], '/')) {
            return false;
        }
    }
    return true;
}

static void take_apart(struct request *q, char **seg, size_t n)
{
    q->project = seg[1];
    if (n == 2) {
        q->collection = "projects";
        q->name = seg[1];
        q->folder = "projects";
        return;
    }
    bool regions = str_eq(seg[2], "regions"), zones = str_eq(seg[2], "zones");
    if ((regions || zones) && n <= 4) {
        q->collection = seg[2];
        q->name = n == 4 ? seg[3] : NULL;
        q->folder = ce_store_folder_path(q->a, q->project, SCOPE_NONE, NULL, seg[2]);
        q->col = ce_collection_find(seg[2], SCOPE_GLOBAL);
        return;
    }
    size_t at = regions || zones ? 4 : 3;
    q->scope = regions                        ? SCOPE_REGION
               : zones                        ? SCOPE_ZONE
               : str_eq(seg[2], "aggregated") ? SCOPE_AGGREGATED
                                              : SCOPE_GLOBAL;
    q->location = at == 4 ? seg[3] : NULL;
    q->collection = seg[at];
    q->name = n > at + 1 ? seg[at + 1] : NULL;
    q->folder = ce_store_folder_path(q->a, q->project, q->scope, q->location, q->collection);
    q->col = ce_collection_find(q->collection, q->scope);
}

bool ce_route(struct request *q)
{
    char *seg[SEGMENTS_MAX];
    size_t n = 0;
    if (!split_path(q->a, q->call->path, seg, &n, &q->beta)) {
        return false;
    }
    q->op = find_op(q->call->method, seg, n);
    if (!q->op) {
        return false;
    }
    q->verb = strrchr(q->op->id, '.') + 1;
    take_apart(q, seg, n);
    if (str_eq(q->project, COMPUTE_PROJECT_NUMBER)) {
        seg[1] = q->c->project;
        take_apart(q, seg, n);
    }
    return true;
}

void compute_name_call(void *state, struct sim_call *call)
{
    struct request q = {.c = state, .call = call, .a = call->arena};
    if (ce_route(&q)) {
        call->op = q.op->id;
    }
}
