/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_live.c: see metrics_live.h. */
#include "controller/status/metrics_live.h"

#include "common/base/keep.h"

static void set(struct metrics *m, const char *metric, const char *label, const char *value,
                double v)
{
    const struct tt_kv kv = {label, value};

    metrics_set(m, metric, &kv, 1, v);
}

static void collect_services(struct metrics *m, const size_t counts[BOARD_STATES])
{
    for (int i = 0; i < BOARD_STATES; i++) {
        set(m, METRIC_SERVICES, "state", board_state_word((enum board_state)i), (double)counts[i]);
    }
}

static void collect_queue(struct metrics *m, const struct queue_counts *n)
{
    set(m, METRIC_QUEUE_KEYS, "state", "waiting", (double)n->waiting);
    set(m, METRIC_QUEUE_KEYS, "state", "delayed", (double)n->delayed);
    set(m, METRIC_QUEUE_KEYS, "state", "processing", (double)n->processing);
}

static void collect_ages(struct metrics *m, const char *queue, const struct work_ages *ages)
{
    set(m, METRIC_QUEUE_UNFINISHED, "name", queue, (double)ages->sum_ms / 1000);
    set(m, METRIC_QUEUE_LONGEST, "name", queue, (double)ages->longest_ms / 1000);
}

static void collect_unreadable(struct metrics *m, struct kube_store *const *stores)
{
    for (int i = 0; i < KUBE_KIND_MAX; i++) {
        size_t n = stores[i] == NULL ? 0 : kube_store_unreadable(stores[i]);
        set(m, METRIC_UNREADABLE, "resource", kube_kind_resource((enum kube_kind)i), (double)n);
    }
}

static void collect(void *arg, struct metrics *m)
{
    const struct metrics_live *l = arg;
    size_t services[BOARD_STATES];
    double tokens = 0;

    board_counts(l->board, services);
    collect_services(m, services);
    metrics_set(m, METRIC_KEPT, NULL, 0, (double)orphan_guard_count(l->orphan_guard));
    collect_unreadable(m, l->stores);
    const struct queue_counts n = queue_counts(l->queue);
    collect_queue(m, &n);
    workers_publish(l->workers);
    metrics_set(m, METRIC_WORKER_THREADS, NULL, 0, workers_threads(l->workers));
    metrics_set(m, METRIC_RECORD_BYTES, NULL, 0, (double)keep_used());
    const struct work_ages service = workers_ages(l->workers);
    collect_ages(m, "service", &service);
    const struct work_ages node = node_fanout_ages(l->fanout);
    collect_ages(m, "node", &node);
    if (kube_client_tokens(l->client, &tokens)) {
        set(m, METRIC_API_TOKENS, "api", "kubernetes", tokens);
    }
}

void metrics_live_begin(struct metrics_live *l)
{
    metrics_add_collector(l->metrics, collect, l);
}

void metrics_live_end(struct metrics_live *l)
{
    static const size_t none[BOARD_STATES] = {0};

    if (l->metrics == NULL) {
        return;
    }
    metrics_remove_collector(l->metrics, collect, l);
    collect_services(l->metrics, none);
    metrics_set(l->metrics, METRIC_KEPT, NULL, 0, 0);
    collect_unreadable(l->metrics, (struct kube_store *const[KUBE_KIND_MAX]){0});
    collect_queue(l->metrics, &(struct queue_counts){0});
    metrics_set(l->metrics, METRIC_WORKER_THREADS, NULL, 0, 0);
    metrics_set(l->metrics, METRIC_RECORD_BYTES, NULL, 0, 0);
    collect_ages(l->metrics, "service", &(struct work_ages){0});
    collect_ages(l->metrics, "node", &(struct work_ages){0});
    l->metrics = NULL;
}
