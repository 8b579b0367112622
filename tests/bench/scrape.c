/* SPDX-License-Identifier: Apache-2.0 */
/* scrape.c: what one scrape of /metrics costs, in CPU time and bytes.  A figure, never a verdict.
 *
 *     scrape [ROUNDS]
 *
 * Two registries: one as a controller of 5,000 Services with Google fills it (5,000 rows on the
 * board, every metric with labels has 60 series, which is more than was ever seen), and the worst
 * that can be: all series that there is room for.  Under
 * `valgrind --tool=callgrind --toggle-collect=metrics_text` it counts instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/arena.h"
#include "controller/metrics/metrics_process.h"
#include "controller/metrics/metrics_text.h"
#include "controller/sync/board.h"
#include "providers/builtin.h"

#define SERVICES 5000
#define USUAL    60
#define WORST    2000

static double cpu_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void fill(struct metrics *m, const struct tt_metric *table, size_t n, int series)
{
    for (size_t i = 0; i < n; i++) {
        const struct tt_metric *def = &table[i];
        for (int s = 0; s < (def->n_labels > 0 ? series : 1); s++) {
            char value[64];
            struct tt_kv labels[16];
            (void)snprintf(value, sizeof(value), "compute.forwardingRules.op%d", s);
            for (uint32_t l = 0; l < def->n_labels; l++) {
                labels[l] = (struct tt_kv){def->labels[l], l == 0 ? value : "us-central1"};
            }
            metrics_add(m, def->name, labels, def->n_labels, s);
            metrics_set(m, def->name, labels, def->n_labels, s * 0.37);
            metrics_observe(m, def->name, labels, def->n_labels, s * 0.0123);
        }
    }
}

static struct board *crowd(void)
{
    struct board *b = board_new(clock_real());
    char key[64];

    for (int i = 0; i < SERVICES; i++) {
        (void)snprintf(key, sizeof(key), "namespace-%d/service-%d", i % 100, i);
        board_begin(b, key, "ensure");
        board_end(b, key, &(struct board_end){.state = BOARD_READY, .delay_ms = -1});
    }
    return b;
}

/* As metrics_live.c does. */
static void count_services(void *arg, struct metrics *m)
{
    size_t counts[BOARD_STATES];

    board_counts(arg, counts);
    for (int i = 0; i < BOARD_STATES; i++) {
        const struct tt_kv state = {"state", board_state_word((enum board_state)i)};
        metrics_set(m, METRIC_SERVICES, &state, 1, (double)counts[i]);
    }
}

static void measure(const char *what, int series, int rounds)
{
    struct metrics *m = metrics_new();
    struct board *b = crowd();
    size_t n = 0;
    size_t bytes = 0;
    const struct tt_provider *const *providers = trimtab_builtin_providers(&n);

    fill(m, metrics_own, metrics_own_n, series);
    fill(m, metrics_process, metrics_process_n, series);
    for (size_t i = 0; i < n; i++) {
        (void)metrics_register(m, providers[i]->metrics, providers[i]->n_metrics);
        fill(m, providers[i]->metrics, providers[i]->n_metrics, series);
    }
    metrics_add_collector(m, count_services, b);
    double before = cpu_ms();
    for (int i = 0; i < rounds; i++) {
        struct arena *a = arena_new();
        struct str_buf out = STR_BUF_INIT;
        metrics_text(m, a, METRICS_TEXT, "", &out);
        bytes = out.len;
        str_buf_done(&out);
        arena_free(a);
    }
    (void)printf("%-28s %8.2f ms of CPU, %9zu bytes\n", what, (cpu_ms() - before) / rounds, bytes);
    metrics_free(m);
    board_free(b);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 50;

    measure("scrape, 5,000 Services", USUAL, rounds > 0 ? rounds : 1);
    if (argc < 3) {
        measure("scrape, 20,000 series", WORST, 3);
    }
    return 0;
}
