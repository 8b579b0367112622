/* SPDX-License-Identifier: Apache-2.0 */
/* status_text.c: the view of status.h for a terminal: the answer, who leads, a table with failures on top, and what is
 * under way. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/status.h"

#define COLUMNS 6

/* One line of the table. */
struct line {
    const char *cells[COLUMNS];
    const char *below; /* the failure's words; "" none */
};

static const char *span_text(struct arena *a, int64_t us, const char *suffix)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    status_span(&b, us);
    str_append(&b, suffix);
    return str_buf_to_arena(&b, a);
}

static const char *state_text(struct arena *a, const struct board_row *r, int64_t now_us)
{
    bool bad = r->state == BOARD_FAILED || r->state == BOARD_RETRYING;
    const char *when = "";

    if (r->state == BOARD_SYNCING && r->began_us != 0) {
        when = arena_printf(a, " %s", span_text(a, now_us - r->began_us, ""));
    } else if (r->next_us > now_us) {
        when = arena_printf(a, " %s", span_text(a, r->next_us - now_us, ""));
        when = arena_printf(a, ", again in%s", when);
    }
    return arena_printf(a, "%s%s%s", bad ? "! " : "", board_state_word(r->state), when);
}

static const char *pending_text(struct arena *a, const struct board_row *r)
{
    if (r->create + r->change + r->delete_ == 0) {
        return "-";
    }
    return arena_printf(a, "+%u ~%u -%u", r->create, r->change, r->delete_);
}

static struct line line_of(struct arena *a, const struct status_service *s, int64_t now_us)
{
    const struct board_row *r = &s->row;

    return (struct line){
        .cells = {r->key, state_text(a, r, now_us), str_or(s->address, "-"),
                  r->synced_us == 0 ? "never" : span_text(a, now_us - r->synced_us, " ago"),
                  pending_text(a, r), r->kind},
        .below = r->code == TT_OK ? "" : r->message,
    };
}

static void print_line(struct str_buf *b, const struct line *l, const size_t width[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t took = str_columns(l->cells[c]);
        str_append(b, l->cells[c]);
        bool more = false;
        for (int d = c + 1; d < COLUMNS; d++) {
            more = more || *l->cells[d] != '\0';
        }
        if (!more) {
            break;
        }
        str_appendf(b, "%*s", (int)(width[c] - took + 2), "");
    }
    str_append_c(b, '\n');
    if (*l->below != '\0') {
        str_append(b, "    ");
        str_append_wrapped(b, l->below, 4, 4);
        str_append_c(b, '\n');
    }
}

static void table(struct str_buf *b, struct arena *a, const struct status_view *v,
                  const struct status_filter *f)
{
    struct line *lines = ARENA_ARRAY(a, struct line, v->n_services + 1);
    size_t width[COLUMNS] = {0};
    size_t n = 1;

    lines[0] =
        (struct line){{"SERVICE", "STATE", "ADDRESS", "LAST SYNC", "PENDING", "KIND"}, .below = ""};
    for (size_t i = 0; i < v->n_services; i++) {
        if (status_shows(f, &v->services[i])) {
            lines[n++] = line_of(a, &v->services[i], v->now_us);
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            size_t w = str_columns(lines[i].cells[c]);
            width[c] = w > width[c] ? w : width[c];
        }
    }
    for (size_t i = 0; i < n && n > 1; i++) {
        print_line(b, &lines[i], width);
    }
}

static void work(struct str_buf *b, const struct status_view *v)
{
    str_appendf(b, "\nQueue: %zu in line, %zu being processed, %zu at a later moment.\n",
                v->queue.waiting, v->queue.processing, v->queue.delayed);
    for (size_t i = 0; i < v->n_batches; i++) {
        const struct board_batch *g = &v->batches[i];
        str_appendf(b, "Under way for ");
        status_span(b, v->now_us - g->began_us);
        str_appendf(b, ": %zu Service%s%s%s\n", g->n, g->n == 1 ? "" : "s",
                    *g->batch_key == '\0' ? "" : " of ", g->batch_key);
    }
    for (size_t i = 0; i < v->n_budgets; i++) {
        const struct status_budget *g = &v->budgets[i];
        str_appendf(b, "API %s: %" PRIu64 " requests, %" PRIu64 " throttled", g->api, g->requests,
                    g->throttled);
        if (g->qps > 0) {
            str_appendf(b, ", at most %g per second, %d at once", g->qps, g->burst);
        }
        str_append_c(b, '\n');
    }
}

static void one(struct str_buf *b, struct arena *a, const struct status_view *v,
                const struct status_filter *f)
{
    for (size_t i = 0; i < v->n_services; i++) {
        const struct status_service *s = &v->services[i];
        if (!status_shows(f, s)) {
            continue;
        }
        const struct board_row *r = &s->row;
        str_appendf(b, "Service %s  %s\n", r->key, state_text(a, r, v->now_us));
        if (r->code != TT_OK) {
            str_append(b, "  ");
            str_append_wrapped(b, r->message, 2, 2);
            str_appendf(b, "\n  failed %u time%s, first %s\n", r->failures,
                        r->failures == 1 ? "" : "s",
                        span_text(a, v->now_us - r->failing_us, " ago"));
        }
        str_appendf(b, "  address    %s\n  kind       %s\n  last sync  %s",
                    str_or(s->address, "none"), str_or(r->kind, "not known yet"),
                    r->synced_us == 0 ? "never" : span_text(a, v->now_us - r->synced_us, " ago"));
        if (r->synced_us != 0) {
            str_appendf(b, " (%s), %" PRId64 " ms, %u calls", r->verb, r->took_ms, r->calls);
        }
        str_append_c(b, '\n');
        for (uint32_t c = 0; c < s->n_conditions; c++) {
            const struct tt_condition *k = &s->conditions[c];
            str_appendf(b, "  condition  %s %s  %s  %s\n", str_nonnull(k->type),
                        str_nonnull(k->status), str_nonnull(k->reason), str_nonnull(k->message));
        }
        str_appendf(b, "\n%s%s", *r->plan == '\0' ? "Nothing is pending.\n" : "Pending plan:\n",
                    r->plan);
        return;
    }
    str_appendf(b, "There is no Service %s, or it is none of ours.\n", f->service);
}

void status_text(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();

    if (f->service != NULL) {
        one(b, a, v, f);
        return;
    }
    status_answer(b, v);
    str_append(b, "\n");
    status_leads(b, &v->leader);
    str_appendf(b, "\ntrimtab %s, provider %s, cluster %s, started ", v->version, v->provider,
                v->cluster);
    status_span(b, v->now_us - v->started_us);
    str_append(b, " ago\n\n");
    table(b, a, v, f);
    work(b, v);
}
