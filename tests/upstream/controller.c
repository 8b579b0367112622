/* SPDX-License-Identifier: Apache-2.0 */
/* controller.c: questions of the Go service controller (controller.h). */
#include "tests/upstream/controller.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/str.h"

/* ---- updates --------------------------------------------------------------------------------- */

bool svc_needs_update(const struct tt_service *old_svc, const struct tt_service *cur,
                      const char *const *classes, size_t n_classes, const char **ret_what)
{
    const struct svc_scope scope = {.classes = classes, .n_classes = n_classes};
    return svc_needs_update_in(&scope, old_svc, cur, ret_what);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node and its place in the list it came from. */
struct placed {
    const struct tt_node *node;
    size_t place;
};

static int cmp_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    int order = strcmp(x->node->name, y->node->name);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Upstream's map from name to providerID as a sorted heap array: of several nodes of one name the
 * last one counts.  (The API server never sends duplicates; the rule only settles what
 * a hand-made list means.) */
static struct placed *by_name_new(const struct tt_node *const *nodes, size_t n, size_t *ret_n)
{
    struct placed *all = xcalloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = (struct placed){.node = nodes[i], .place = i};
    }
    qsort(all, n, sizeof *all, cmp_placed);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || strcmp(all[i].node->name, all[i + 1].node->name) != 0) {
            all[kept++] = all[i];
        }
    }
    *ret_n = kept;
    return all;
}

bool nodes_sufficiently_equal(const struct tt_node *const *a, size_t na,
                              const struct tt_node *const *b, size_t nb)
{
    if (na != nb) {
        return false;
    }
    size_t n_left;
    size_t n_right;
    struct placed *left _cleanup_(xfreep) = by_name_new(a, na, &n_left);
    struct placed *right _cleanup_(xfreep) = by_name_new(b, nb, &n_right);
    bool equal = n_left == n_right;
    for (size_t i = 0; equal && i < n_left; i++) {
        const struct tt_node *x = left[i].node;
        const struct tt_node *y = right[i].node;
        equal = strcmp(x->name, y->name) == 0 &&
                strcmp(str_nonnull(x->provider_id), str_nonnull(y->provider_id)) == 0;
    }
    return equal;
}

/* ---- annotations ----------------------------------------------------------------------------- */

static void put_annotation(struct str_buf *b, const struct tt_kv *kv, bool dropped)
{
    str_append(b, b->data[b->len - 1] != '{' ? "," : "");
    str_append_json_quoted(b, kv->key);
    str_append_c(b, ':');
    if (dropped) {
        str_append(b, "null");
    } else {
        str_append_json_quoted(b, str_nonnull(kv->value));
    }
}

char *annotations_patch(struct arena *a, const struct tt_kv *old_kv, size_t n_old,
                        const struct tt_kv *new_kv, size_t n_new)
{
    if (n_new == 0) {
        return arena_strdup(a, n_old == 0 ? "{}" : "{\"metadata\":{\"annotations\":null}}");
    }
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&b, "{\"metadata\":{\"annotations\":{");
    size_t before = b.len;
    size_t o = 0;
    size_t w = 0;
    while (o < n_old || w < n_new) { /* both are sorted by key: one walk over the two */
        int order = o == n_old ? 1 : w == n_new ? -1 : strcmp(old_kv[o].key, new_kv[w].key);
        if (order < 0) {
            put_annotation(&b, &old_kv[o++], true);
        } else if (order > 0) {
            put_annotation(&b, &new_kv[w++], false);
        } else {
            if (strcmp(str_nonnull(old_kv[o].value), str_nonnull(new_kv[w].value)) != 0) {
                put_annotation(&b, &new_kv[w], false);
            }
            o++;
            w++;
        }
    }
    if (b.len == before) {
        return arena_strdup(a, "{}");
    }
    str_append(&b, "}}}");
    return str_buf_to_arena(&b, a);
}
