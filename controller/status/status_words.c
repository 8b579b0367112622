/* SPDX-License-Identifier: Apache-2.0 */
/* status_words.c: sentences that the page and the terminal share (status.h). */
#include "controller/status/status.h"

#include <inttypes.h>

void status_span(struct str_buf *b, int64_t us)
{
    int64_t s = us < 0 ? 0 : us / 1000000;

    if (s < 120) {
        str_appendf(b, "%" PRId64 " s", s);
    } else if (s < (int64_t)2 * 3600) {
        str_appendf(b, "%" PRId64 " min", s / 60);
    } else if (s < (int64_t)48 * 3600) {
        str_appendf(b, "%" PRId64 " h", s / 3600);
    } else {
        str_appendf(b, "%" PRId64 " d", s / 86400);
    }
}

void status_rest(struct str_buf *b, const struct status_view *v)
{
    str_append(b, "At rest: ");
    if (v->next_due_ms < 0) {
        str_append(b, "nothing waits.");
    } else {
        str_append(b, "the next work is due in ");
        status_span(b, v->next_due_ms * 1000);
        str_append_c(b, '.');
    }
}

void status_leads(struct str_buf *b, const struct status_leader *l)
{
    const char *lease = str_nonnull(l->lease);

    if (!l->elects) {
        str_append(b, "This process works alone (--leader-elect=false).");
    } else if (l->leads) {
        str_appendf(b, "This process is the leader: it holds %s.", lease);
    } else if (str_is_empty(l->holder)) {
        str_appendf(b, "This process is a standby and changes nothing. %s has no holder yet.",
                    lease);
    } else {
        str_appendf(b, "This process is a standby and changes nothing. %s is held by %s.", lease,
                    l->holder);
    }
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

void status_answer(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    size_t by_state[STATUS_STATES];
    size_t n = status_count(v, f, by_state);
    size_t bad = by_state[BOARD_FAILED] + by_state[BOARD_RETRYING];
    size_t busy = by_state[BOARD_SYNCING] + by_state[BOARD_WAITING];

    if (!v->running) {
        str_append(b, v->leader.elects && !v->leader.leads ? "standing by" : "starting");
    } else if (bad > 0) {
        str_appendf(b, "%zu of %zu load balancer%s need%s attention", bad, n, plural(n),
                    bad == 1 ? "s" : "");
    } else if (busy > 0) {
        str_appendf(b, "%zu of %zu load balancer%s %s being worked on", busy, n, plural(n),
                    busy == 1 ? "is" : "are");
    } else if (n == 0) {
        str_append(b, "there are no load balancers to look after");
    } else if (n == 1) {
        str_append(b, "the load balancer is as it should be");
    } else {
        str_appendf(b, "all %zu load balancers are as they should be", n);
    }
}
