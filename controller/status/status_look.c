/* SPDX-License-Identifier: Apache-2.0 */
/* status_look.c: puts the board, the Services and the queue together into one view (status.h).
 *
 * The board knows how syncs ended, the store what a Service shows and which ones no
 * sync has reached yet. */
#include "controller/status/status.h"

#include <stdlib.h>
#include <string.h>

#include "controller/base/inside.h"

/* Failed first. */
static int rank(enum board_state state)
{
    static const int ranks[STATUS_STATES] = {
        [BOARD_FAILED] = 0,  [BOARD_RETRYING] = 1, [BOARD_SYNCING] = 2,
        [BOARD_WAITING] = 3, [BOARD_READY] = 4,    [BOARD_ELSEWHERE] = 5,
    };

    return ranks[state];
}

static int by_rank_and_key(const void *a, const void *b)
{
    const struct status_service *x = a;
    const struct status_service *y = b;
    int order = rank(x->row.state) - rank(y->row.state);

    return order != 0 ? order : strcmp(x->row.key, y->row.key);
}

static const char *address_of(struct arena *a, const struct tt_service *svc)
{
    const char **parts = ARENA_ARRAY(a, const char *, svc->n_ingress);
    size_t n = 0;

    for (uint32_t i = 0; i < svc->n_ingress; i++) {
        const char *one = str_or(svc->ingress[i].ip, str_nonnull(svc->ingress[i].hostname));
        if (*one != '\0') {
            parts[n++] = one;
        }
    }
    return n == 0 ? "" : str_join(a, parts, n, ", ");
}

static void fill_from_service(struct arena *a, const struct tt_service *svc,
                              struct status_service *ret)
{
    ret->address = address_of(a, svc);
    ret->conditions = svc->conditions;
    ret->n_conditions = svc->n_conditions;
}

static void unref_snapshot(void *arg)
{
    kube_snapshot_unref(arg);
}

static void unref_object(void *arg)
{
    kube_object_unref(arg);
}

static const char *key_of(struct arena *a, const struct tt_service *svc)
{
    return arena_printf(a, "%s/%s", svc->ns, svc->name);
}

/* Both lists are sorted by key, but not by the same order of '/' and '-': rows are found
 * by a search. */
static int key_to_row(const void *key, const void *row)
{
    return strcmp(key, ((const struct board_row *)row)->key);
}

static void join(const struct status_sources *from, struct arena *a, const struct board_view *board,
                 struct status_view *v)
{
    struct kube_snapshot *snap =
        from->services == NULL ? NULL : kube_store_snapshot(from->services);
    size_t n_services = snap == NULL ? 0 : snap->n;
    bool *seen = ARENA_ARRAY(a, bool, board->n_rows);

    v->services = ARENA_ARRAY(a, struct status_service, n_services + board->n_rows);
    for (size_t i = 0; i < n_services; i++) {
        const struct tt_service *svc = snap->views[i];
        const char *key = key_of(a, svc);
        const struct board_row *row =
            board->n_rows == 0
                ? NULL
                : bsearch(key, board->rows, board->n_rows, sizeof(board->rows[0]), key_to_row);
        if (row == NULL && !scope_wants(from->scope, svc)) {
            continue;
        }
        struct status_service *s = &v->services[v->n_services++];
        s->row = row != NULL ? *row
                             : (struct board_row){.key = key,
                                                  .kind = "",
                                                  .verb = "",
                                                  .message = "",
                                                  .plan = "",
                                                  .findings = "",
                                                  .left = "",
                                                  .serves_nobody = ""};
        fill_from_service(a, svc, s);
        if (row != NULL) {
            seen[row - board->rows] = true;
        }
    }
    for (size_t i = 0; i < board->n_rows; i++) {
        if (!seen[i]) { /* the Service is gone, its load balancer is not */
            v->services[v->n_services++] =
                (struct status_service){.row = board->rows[i], .address = ""};
        }
    }
    v->all = snap;
    if (snap != NULL) {
        arena_defer(a, unref_snapshot, snap);
    }
}

/* All that is behind the Service: its own slices, and all nodes.  The stores keep no hints. */
static void look_inside(const struct status_sources *from, struct arena *a, struct status_view *v)
{
    struct kube_object *o = kube_store_get(from->services, v->one);
    v->endpoints = o == NULL ? STATUS_ENDPOINTS_UNREAD : STATUS_ENDPOINTS_UNWATCHED;
    if (o == NULL) {
        return;
    }
    arena_defer(a, unref_object, o);
    if (from->slices == NULL || from->nodes == NULL || !kube_store_synced(from->slices)) {
        return;
    }
    struct kube_snapshot *slices =
        kube_store_slices_of(from->slices, o->service->ns, o->service->name);
    struct kube_snapshot *nodes = kube_store_snapshot(from->nodes);
    arena_defer(a, unref_snapshot, slices);
    arena_defer(a, unref_snapshot, nodes);
    const struct tt_node *const *all = (const struct tt_node *const *)nodes->views;
    const struct tt_slice *const *own = (const struct tt_slice *const *)slices->views;
    const struct ks_inside_input input = {.service = inside_service(a, o->service),
                                          .slices = inside_slices(a, own, slices->n),
                                          .nodes = inside_nodes(a, all, nodes->n),
                                          .backends = inside_backends(a, all, nodes->n),
                                          .n_slices = slices->n,
                                          .n_nodes = nodes->n,
                                          .n_backends = nodes->n};
    v->endpoints = STATUS_ENDPOINTS_KNOWN;
    v->inside = ks_inside_make(a, &input);
}

void status_look(const struct status_sources *from, struct arena *a, struct status_view *ret)
{
    struct board_view board = {0};

    ret->now_us = clock_wall_us(from->clock);
    ret->services = NULL;
    ret->n_services = 0;
    ret->all = NULL;
    ret->endpoints = STATUS_ENDPOINTS_UNREAD;
    ret->inside = NULL;
    memset(ret->by_state, 0, sizeof(ret->by_state));
    if (from->board != NULL) {
        board_look(from->board, a, &board);
    }
    join(from, a, &board, ret);
    for (size_t i = 0; i < ret->n_services; i++) {
        ret->by_state[ret->services[i].row.state]++;
    }
    if (ret->n_services > 0) {
        qsort(ret->services, ret->n_services, sizeof(ret->services[0]), by_rank_and_key);
    }
    ret->batches = board.batches;
    ret->n_batches = board.n_batches;
    if (from->services != NULL && ret->one != NULL) {
        look_inside(from, a, ret);
    }
    ret->at_rest = false;
    ret->next_due_ms = -1;
    if (from->queue != NULL) {
        ret->queue = queue_counts(from->queue);
    }
}

bool status_shows(const struct status_filter *f, const struct status_service *s)
{
    if (f->service != NULL) {
        return strcmp(f->service, s->row.key) == 0;
    }
    size_t n = f->ns == NULL ? 0 : strlen(f->ns);
    bool named = f->n_only == 0;
    for (size_t i = 0; !named && i < f->n_only; i++) {
        named = strcmp(f->only[i], s->row.key) == 0;
    }
    if (!named) {
        return false;
    }
    return n == 0 || (strncmp(s->row.key, f->ns, n) == 0 && s->row.key[n] == '/');
}

size_t status_count(const struct status_view *v, const struct status_filter *f,
                    size_t ret[STATUS_STATES])
{
    size_t n = 0;

    memset(ret, 0, STATUS_STATES * sizeof(*ret));
    for (size_t i = 0; i < v->n_services; i++) {
        if (status_shows(f, &v->services[i])) {
            ret[v->services[i].row.state]++;
            n++;
        }
    }
    return n;
}
