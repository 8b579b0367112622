/* SPDX-License-Identifier: Apache-2.0 */
/* status_text.c: the view of status.h for a terminal: the answer, who leads, a table with failures
 * on top, and what is in progress. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/services/tell/inside.h"
#include "controller/status/status.h"

#define COLUMNS      6
#define BELOW        4  /* column of what stands below a line */
#define INSIDE_NODES 20 /* nodes with pods of one Service */

/* One line of the table. */
struct line {
    const char *cells[COLUMNS];
    const char *below;     /* the failure's words; "" none */
    const char *attention; /* lines; "" none */
};

static const char *span_text(struct arena *a, int64_t us, const char *suffix)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;

    status_span(&b, us);
    str_append(&b, suffix);
    return str_buf_to_arena(&b, a);
}

/* A line that is wrapped on a terminal. */
static void sentence(struct str_buf *b, const char *text)
{
    if (b->columns == 0) {
        str_append(b, text);
    } else {
        str_append_wrapped(b, text, 0, BELOW);
    }
    str_append_c(b, '\n');
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

/* Returns findings of a sync that went well, a line each. */
static const char *attention_of(struct arena *a, const struct board_row *r)
{
    const char *nobody =
        *r->serves_nobody == '\0' ? "" : arena_printf(a, "serves nobody: %s\n", r->serves_nobody);
    return arena_printf(a, "%s%s", nobody, r->findings);
}

static void print_attention(struct str_buf *b, struct arena *a, const char *lines, const char *lead)
{
    size_t n;
    char **items = str_split(a, lines, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (*items[i] != '\0') {
            str_appendf(b, "%s! ", lead);
            str_append_wrapped(b, items[i], strlen(lead) + 2, strlen(lead) + 2);
            str_append_c(b, '\n');
        }
    }
}

static struct line line_of(struct arena *a, const struct status_service *s, int64_t now_us)
{
    const struct board_row *r = &s->row;

    return (struct line){
        .cells = {r->key, state_text(a, r, now_us), str_or(s->address, "-"),
                  r->synced_us == 0 ? "never" : span_text(a, now_us - r->synced_us, " ago"),
                  pending_text(a, r), r->kind},
        .below = r->code == TT_OK ? "" : r->message,
        .attention = attention_of(a, r),
    };
}

/* How many cells from there on stand beside each other: the others go to the line below. */
static int cells_that_fit_from(const size_t width[COLUMNS], int from, size_t wide)
{
    size_t used = 0;
    for (int c = from; c < COLUMNS; c++) {
        used += width[c];
        if (used > wide && c > from) {
            return c - from;
        }
        used += 2;
    }
    return COLUMNS - from;
}

/* Cells `from` to `to`, without blanks at the end. */
static void print_cells(struct str_buf *b, const struct line *l, const size_t width[COLUMNS],
                        int from, int to)
{
    while (to > from && *l->cells[to - 1] == '\0') {
        to--;
    }
    for (int c = from; c < to; c++) {
        str_append(b, l->cells[c]);
        if (c + 1 < to) {
            str_appendf(b, "%*s", (int)(width[c] - str_columns(l->cells[c]) + 2), "");
        }
    }
}

static bool has_cells(const struct line *l, int from, int to)
{
    for (int c = from; c < to; c++) {
        if (*l->cells[c] != '\0') {
            return true;
        }
    }
    return false;
}

static void print_line(struct str_buf *b, struct arena *a, const struct line *l,
                       const size_t width[COLUMNS])
{
    size_t wide =
        b->columns > 0 ? b->columns : SIZE_MAX; /* elsewhere a Service is a line, for grep */
    for (int from = 0; from < COLUMNS;) {
        size_t lead = from > 0 ? BELOW : 0;
        int to = from + cells_that_fit_from(width, from, wide - lead);
        if (from == 0 || has_cells(l, from, to)) {
            str_appendf(b, "%*s", (int)lead, "");
            print_cells(b, l, width, from, to);
            str_append_c(b, '\n');
        }
        from = to;
    }
    if (*l->below != '\0') {
        str_append(b, "    ");
        str_append_wrapped(b, l->below, 4, 4);
        str_append_c(b, '\n');
    }
    print_attention(b, a, l->attention, "    ");
}

static void table(struct str_buf *b, struct arena *a, const struct status_view *v,
                  const struct status_filter *f)
{
    struct line *lines = ARENA_ARRAY(a, struct line, v->n_services + 1);
    size_t width[COLUMNS] = {0};
    size_t n = 1;

    lines[0] = (struct line){{"SERVICE", "STATE", "ADDRESS", "LAST SYNC", "PENDING", "KIND"},
                             .below = "",
                             .attention = ""};
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
        print_line(b, a, &lines[i], width);
    }
}

static void work(struct str_buf *b, struct arena *a, const struct status_view *v)
{
    str_append_c(b, '\n');
    sentence(b, arena_printf(a, "Queue: %zu in line, %zu being processed, %zu at a later moment.",
                             v->queue.waiting, v->queue.processing, v->queue.delayed));
    if (v->at_rest) {
        _cleanup_(str_buf_done) struct str_buf rest = STR_BUF_INIT;
        status_rest(&rest, v);
        sentence(b, str_buf_text(&rest));
    }
    for (size_t i = 0; i < v->n_batches; i++) {
        const struct board_batch *g = &v->batches[i];
        sentence(b,
                 arena_printf(a, "Under way for %s: %zu Service%s%s%s",
                              span_text(a, v->now_us - g->began_us, ""), g->n, g->n == 1 ? "" : "s",
                              *g->batch_key == '\0' ? "" : " of ", g->batch_key));
    }
    for (size_t i = 0; i < v->n_budgets; i++) {
        const struct status_budget *g = &v->budgets[i];
        if (*g->kind != '\0') {
            sentence(b, arena_printf(a,
                                     "API %s, %s: %" PRIu64 " waited for their turn, %" PRIu64
                                     " throttled; at most %.3g per second now",
                                     g->api, g->kind, g->held, g->throttled, g->qps));
            continue;
        }
        const char *limit =
            g->qps > 0 ? arena_printf(a, ", at most %g per second, %d at once", g->qps, g->burst)
                       : "";
        sentence(b, arena_printf(a, "API %s: %" PRIu64 " requests, %" PRIu64 " throttled%s", g->api,
                                 g->requests, g->throttled, limit));
    }
}

/* "  last sync  5 s ago". */
static void one_row(struct str_buf *b, const char *name, const char *text)
{
    str_appendf(b, "  %-9s  ", name);
    if (b->columns == 0) {
        str_append(b, text);
    } else {
        str_append_wrapped(b, text, 13, 13);
    }
    str_append_c(b, '\n');
}

/* The lines were made elsewhere; those that are wider than the terminal are broken again. */
static void plan_lines(struct str_buf *b, struct arena *a, const char *plan)
{
    size_t n;
    char **lines = str_split(a, plan, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        size_t lead = strspn(lines[i], " ");
        if (b->columns == 0 || str_columns(lines[i]) <= b->columns) {
            str_append(b, lines[i]);
        } else {
            str_append_n(b, lines[i], lead);
            str_append_wrapped(b, lines[i] + lead, lead, lead + BELOW);
        }
        str_append(b, i + 1 < n ? "\n" : "");
    }
}

/* Prints pods and nodes behind the Service; their names come from others. */
static void inside(struct str_buf *b, struct arena *a, const struct status_view *v,
                   const struct board_row *r)
{
    _cleanup_(str_buf_done) struct str_buf text = {.columns = b->columns};

    if (v->endpoints == STATUS_ENDPOINTS_UNREAD || r->state == BOARD_ELSEWHERE) {
        return;
    }
    str_append(b, "\nInside the cluster:\n");
    if (v->inside == NULL) {
        str_append(b, v->endpoints == STATUS_ENDPOINTS_KNOWN
                          ? "  the Service has no EndpointSlice\n"
                          : "  the process watches no endpoints: its provider needs none\n");
        return;
    }
    ks_inside_text(&text, a, v->inside, INSIDE_NODES);
    str_append_clean(b, str_buf_text(&text), STR_BREAKS_KEPT);
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
        print_attention(b, a, attention_of(a, r), "  ");
        one_row(b, "address", str_or(s->address, "none"));
        one_row(b, "kind", str_or(r->kind, "not known yet"));
        const char *last =
            r->synced_us == 0 ? "never" : span_text(a, v->now_us - r->synced_us, " ago");
        if (r->synced_us != 0) {
            last = arena_printf(a, "%s (%s), %" PRId64 " ms, %u calls", last, r->verb, r->took_ms,
                                r->calls);
        }
        one_row(b, "last sync", last);
        for (uint32_t c = 0; c < s->n_conditions; c++) {
            const struct tt_condition *k = &s->conditions[c];
            one_row(b, "condition",
                    arena_printf(a, "%s %s  %s  %s", str_nonnull(k->type), str_nonnull(k->status),
                                 str_nonnull(k->reason), str_nonnull(k->message)));
        }
        inside(b, a, v, r);
        str_append(b, *r->plan == '\0' ? "\nNothing is pending.\n" : "\nPending plan:\n");
        plan_lines(b, a, r->plan);
        if (!str_is_empty(r->left)) {
            str_append(b, "\nLeft as it was taken over:\n");
            plan_lines(b, a, r->left);
        }
        return;
    }
    str_appendf(b, "Service %s not found, or not managed by trimtab.\n", str_clean(a, f->service));
}

void status_text(struct str_buf *b, const struct status_view *unclean,
                 const struct status_filter *f)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct status_view clean = status_clean(a, unclean);
    const struct status_view *v = &clean;

    if (f->service != NULL) {
        one(b, a, v, f);
        return;
    }
    _cleanup_(str_buf_done) struct str_buf leads = STR_BUF_INIT;
    status_answer(b, v, f);
    str_append(b, "\n");
    status_leads(&leads, &v->leader);
    sentence(b, str_buf_text(&leads));
    sentence(b, arena_printf(a, "trimtab %s, provider %s, cluster %s, started %s", v->version,
                             v->provider, v->cluster,
                             span_text(a, v->now_us - v->started_us, " ago")));
    str_append_c(b, '\n');
    table(b, a, v, f);
    work(b, a, v);
}
