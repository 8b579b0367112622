/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: collecting the rows of an explanation and handing them over; see the header. */
#include "common/lb/explain.h"

#include <string.h>

void lb_explain_init(struct lb_explain *x, struct arena *a)
{
    *x = (struct lb_explain){.a = a};
}

static const char *copy(struct arena *a, const char *text)
{
    return text == NULL ? NULL : arena_strdup(a, text);
}

void lb_explain_add(struct lb_explain *x, const struct tt_explain_row *row)
{
    if (x == NULL) {
        return;
    }
    if (x->n == x->cap) {
        size_t cap = x->cap == 0 ? 32 : x->cap * 2;
        struct tt_explain_row *rows = ARENA_ARRAY(x->a, struct tt_explain_row, cap);
        if (x->n > 0) {
            memcpy(rows, x->rows, x->n * sizeof(*rows));
        }
        x->rows = rows;
        x->cap = cap;
    }
    struct tt_explain_row *to = &x->rows[x->n++];
    *to = *row;
    to->subject = copy(x->a, row->subject);
    to->value = copy(x->a, row->value);
    to->outcome = copy(x->a, row->outcome);
}

void lb_explain_answer(struct lb_explain *x, const char *verdict, const char *kind,
                       const char *answer)
{
    struct tt_explain_row row =
        LB_EXPLAIN_ROW(TT_EXPLAIN_ANSWER, .subject = verdict, .value = kind, .outcome = answer);
    if (x == NULL) {
        return;
    }
    lb_explain_add(x, &row);
    row = x->rows[x->n - 1];
    memmove(x->rows + 1, x->rows, (x->n - 1) * sizeof(*x->rows));
    x->rows[0] = row;
}

void lb_explain_decision(struct lb_explain *x, const char *subject, const char *value,
                         const char *outcome)
{
    const struct tt_explain_row row =
        LB_EXPLAIN_ROW(TT_EXPLAIN_DECISION, .subject = subject, .value = value, .outcome = outcome);
    lb_explain_add(x, &row);
}

void lb_explain_nodes(struct lb_explain *x, size_t count, size_t of, const char *phrase)
{
    const struct tt_explain_row row = LB_EXPLAIN_ROW(TT_EXPLAIN_NODES, .value = phrase,
                                                     .count = (int64_t)count, .of = (int64_t)of);
    lb_explain_add(x, &row);
}

void lb_explain_take_part(struct lb_explain *x, size_t count, size_t of, size_t left)
{
    const char *phrase = arena_printf(x->a, "%zu of %zu take part", count, of);
    if (count == 0 && left > 0) {
        phrase = left == 1 ? arena_printf(x->a,
                                          "%s; 1 is a member still, and serves: the last members "
                                          "stay",
                                          phrase)
                           : arena_printf(x->a,
                                          "%s; %zu are members still, and serve: the last members "
                                          "stay",
                                          phrase, left);
    }
    lb_explain_nodes(x, count, of, phrase);
}

void lb_explain_left_out(struct lb_explain *x, const char *node, const char *reason)
{
    const struct tt_explain_row row =
        LB_EXPLAIN_ROW(TT_EXPLAIN_LEFT_OUT, .subject = node, .outcome = reason);
    lb_explain_add(x, &row);
}

void lb_explain_hop(struct lb_explain *x, const char *subject, const char *name, int64_t port,
                    const char *source)
{
    const struct tt_explain_row row = LB_EXPLAIN_ROW(
        TT_EXPLAIN_HOP, .subject = subject, .value = name, .port = port, .outcome = source);
    lb_explain_add(x, &row);
}

void lb_explain_text_row(struct lb_explain *x, uint32_t section, const char *value)
{
    const struct tt_explain_row row = LB_EXPLAIN_ROW(section, .value = value);
    lb_explain_add(x, &row);
}

#define WEIGHTS "Weights"

void lb_explain_weighted(struct lb_explain *x)
{
    const struct tt_explain_row row = LB_EXPLAIN_ROW(
        TT_EXPLAIN_NOTE, .subject = WEIGHTS,
        .value = "nodes are weighed by the header X-Load-Balancing-Endpoint-Weight of their health "
                 "check's answer: the number of ready pods on the node");
    lb_explain_add(x, &row);
}

/* The text of the first note with this heading; NULL if there is none. */
static const char *note_of(const struct tt_explain_row *rows, size_t n, const char *heading)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].section == TT_EXPLAIN_NOTE && str_eq(rows[i].subject, heading)) {
            return str_nonnull(rows[i].value);
        }
    }
    return NULL;
}

bool lb_explain_is_weighted(const struct tt_explain_row *rows, size_t n)
{
    return note_of(rows, n, WEIGHTS) != NULL;
}

#define ALL_DOWN "All down"
#define SENDS_TO_ALL                                                                               \
    "while no node passes the health check, the load balancer sends to all of them (it fails "     \
    "open)"
#define SENDS_TO_NONE                                                                              \
    "while no node passes the health check, the load balancer sends to none of them"

void lb_explain_all_down(struct lb_explain *x, bool open)
{
    const struct tt_explain_row row = LB_EXPLAIN_ROW(TT_EXPLAIN_NOTE, .subject = ALL_DOWN,
                                                     .value = open ? SENDS_TO_ALL : SENDS_TO_NONE);
    lb_explain_add(x, &row);
}

int lb_explain_find_all_down(const struct tt_explain_row *rows, size_t n)
{
    const char *text = note_of(rows, n, ALL_DOWN);
    return text == NULL ? 0 : str_eq(text, SENDS_TO_NONE) ? -1 : 1;
}

void lb_explain_send(const struct lb_explain *x, const struct tt_host *host,
                     struct tt_result *result, const char *key)
{
    if (TT_HAS(host, result_row) && host->result_row != NULL) {
        for (size_t i = 0; i < x->n; i++) {
            host->result_row(result, &x->rows[i]);
        }
        return;
    }
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    lb_explain_text(&b, key, x->rows, x->n);
    host->result_text(result, str_buf_text(&b));
}
