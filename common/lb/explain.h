/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: an explanation as rows, and the rows as text for people and as JSON for programs.
 *
 *     struct lb_explain x;
 *     lb_explain_init(&x, a);
 *     lb_explain_answer(&x, "served", "classic load balancer", "is served by …");
 *     lb_explain_decision(&x, "aws-load-balancer-type", "not set", "classic load balancer");
 *     lb_explain_send(&x, host, result, "demo/web");
 *
 * A provider writes rows (struct tt_explain_row of the ABI) and no text: the text is made of the
 * rows here, so it cannot say more than the JSON does.  What a section means stands in
 * trimtab/provider.h.  Pure, but for lb_explain_send(). */
#ifndef TRIMTAB_LB_EXPLAIN_H
#define TRIMTAB_LB_EXPLAIN_H

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/data/json.h"

#include <trimtab/provider.h>

/* Rows in their order.  Texts are copied to the arena; lists of names are borrowed, and
 * live as long. */
struct lb_explain {
    struct arena *a;
    struct tt_explain_row *rows;
    size_t n;
    size_t cap;
};

void lb_explain_init(struct lb_explain *x, struct arena *a);
/* A row without numbers, to be filled and added. */
#define LB_EXPLAIN_ROW(s, ...)                                                                     \
    ((struct tt_explain_row){.size = sizeof(struct tt_explain_row),                                \
                             .section = (s),                                                       \
                             .count = -1,                                                          \
                             .of = -1,                                                             \
                             .port = -1,                                                           \
                             .every_ms = -1,                                                       \
                             __VA_ARGS__})
/* Adds a copy of the row.  `x` NULL: nothing is added. */
void lb_explain_add(struct lb_explain *x, const struct tt_explain_row *row);
/* Puts the answer in front of all other rows.  `kind` may be NULL. */
void lb_explain_answer(struct lb_explain *x, const char *verdict, const char *kind,
                       const char *answer);
/* `outcome` may be NULL: the next question follows. */
void lb_explain_decision(struct lb_explain *x, const char *subject, const char *value,
                         const char *outcome);
void lb_explain_nodes(struct lb_explain *x, size_t count, size_t of, const char *phrase);
/* The same where `left` members stay that take no part any more: the last ones are not taken
 * out. */
void lb_explain_take_part(struct lb_explain *x, size_t count, size_t of, size_t left);
void lb_explain_left_out(struct lb_explain *x, const char *node, const char *reason);
/* A step of a packet (TT_EXPLAIN_HOP).  `port` -1: none; `name` and `source` may be NULL. */
void lb_explain_hop(struct lb_explain *x, const char *subject, const char *name, int64_t port,
                    const char *source);
void lb_explain_text_row(struct lb_explain *x, uint32_t section, const char *value);
/* Adds a note that the load balancer weighs nodes by the header X-Load-Balancing-Endpoint-Weight of
 * their health check's answer; lb_explain_is_weighted() finds it in rows. */
void lb_explain_weighted(struct lb_explain *x);
bool lb_explain_is_weighted(const struct tt_explain_row *rows, size_t n);
/* Adds a note on what the load balancer does when every node fails its health check: it sends to
 * all of them (`open`), or to none.  For policy Local, where a Service without a ready
 * pod makes them fail. */
void lb_explain_all_down(struct lb_explain *x, bool open);
/* Finds it in rows: returns 1 when it sends to all, -1 to none, 0 when no row says so. */
int lb_explain_find_all_down(const struct tt_explain_row *rows, size_t n);

/* Hands all rows to the host; one that is older than ABI 1.4 gets the text. */
void lb_explain_send(const struct lb_explain *x, const struct tt_host *host,
                     struct tt_result *result, const char *key);

/* The text, of at most b->columns columns.  Not for a terminal (b->columns 0), a row that states
 * one fact is one line, for grep; only sentences are wrapped.  `key`: "namespace/name". */
void lb_explain_text(struct str_buf *b, const char *key, const struct tt_explain_row *rows,
                     size_t n);
/* Adds the members that hold what the text says: verdict, kind, answer, addresses, decisions,
 * backends, packet, health_check, notes, warnings (docs/interfaces.md). */
void lb_explain_json(struct json_object *o, const struct tt_explain_row *rows, size_t n);

#endif
