/* SPDX-License-Identifier: Apache-2.0 */
/* answer_text.c: an answer as text: the first line answers, the last says what to
 * do; see answer.h. */
#include <string.h>

#include "common/base/str.h"
#include "common/services/tell/answer_parts.h"
#include "common/services/tell/inside.h"

#define INDENT 2
#define GAP    2
#define CELLS  6

/* ---- a table --------------------------------------------------------------------------------- */

struct row {
    const char *cells[CELLS]; /* NULL: empty */
};

static void print_rows(struct str_buf *b, const struct row *rows, size_t n)
{
    size_t widths[CELLS] = {0};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < CELLS; k++) {
            size_t w = str_columns(rows[i].cells[k]);
            widths[k] = w > widths[k] ? w : widths[k];
        }
    }
    for (size_t i = 0; i < n; i++) {
        size_t last = 0;
        for (size_t k = 0; k < CELLS; k++) {
            last = str_is_empty(rows[i].cells[k]) ? last : k;
        }
        str_appendf(b, "%*s", INDENT, "");
        for (size_t k = 0; k <= last; k++) {
            const char *cell = str_nonnull(rows[i].cells[k]);
            size_t pad = k == last || widths[k] == 0 ? 0 : widths[k] - str_columns(cell) + GAP;
            str_appendf(b, "%s%*s", cell, (int)pad, "");
        }
        str_append_c(b, '\n');
    }
}

static void print_paragraph(struct str_buf *b, const char *head, const char *text)
{
    str_append(b, head);
    str_append_wrapped(b, text, str_columns(head), 2 * INDENT);
    str_append_c(b, '\n');
}

static size_t shown_of(size_t n, size_t limit)
{
    return limit != 0 && n > limit ? limit : n;
}

static void print_more(struct str_buf *b, size_t n, size_t limit, const char *noun)
{
    if (limit != 0 && n > limit) {
        str_appendf(b, "%*s… and %zu more %s (-v shows all, -o json, too)\n", INDENT, "", n - limit,
                    noun);
    }
}

/* ---- the load balancer ----------------------------------------------------------------------- */

static void print_balancer(struct str_buf *b, struct arena *a, const struct ks_answer *x,
                           const struct ks_show *show)
{
    const struct ks_balancer *lb = x->balancer;
    size_t out = 0;
    if (lb == NULL) {
        return;
    }
    for (size_t i = 0; i < lb->n_backends; i++) {
        out += lb->backends[i].left_out != NULL;
    }
    str_append(b, "\nLoad balancer\n");
    if (lb->said != NULL) {
        print_paragraph(b, "  ", arena_printf(a, "%s %s", x->service, lb->said));
    } else if (lb->unknown != NULL) {
        print_paragraph(b, "  ", arena_printf(a, "its own state is not known: %s", lb->unknown));
    }
    if (x->proxied) {
        print_paragraph(b, "  ", "it keeps the address for itself and sends to the node port");
    }
    if (lb->n_backends > 0) {
        str_appendf(b, "  nodes: %zu of %zu take part%s\n", lb->n_backends - out, lb->n_backends,
                    lb->said == NULL ? ", by the controller's rule" : "");
    }
    if (lb->health != NULL || x->health_port != NULL) {
        str_appendf(b, "  health check: %s\n", str_or(lb->health, x->health_port));
    }
    size_t n = 0;
    for (size_t i = 0; i < lb->n_backends && n < shown_of(out, show->rows); i++) {
        if (lb->backends[i].left_out != NULL) {
            n++;
            str_appendf(b, "  %s  left out: %s\n", lb->backends[i].node, lb->backends[i].left_out);
        }
    }
    print_more(b, out, show->rows, "left out");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *way_text(struct arena *a, const struct ks_way *way)
{
    switch (way->outcome) {
    case KS_DELIVERED:
        return way->verdict == KS_ACCEPT
                   ? "kube-proxy answers"
                   : arena_printf(a, "to %s", str_count(a, way->n_list, "pod"));
    case KS_REJECTED:
        return "refused";
    case KS_DROPPED:
        return way->loses_answer ? "answer lost" : "dropped";
    case KS_UNREACHABLE:
        break;
    }
    return way->leaves ? "leaves the node" : "not taken";
}

static const char *way_note(struct arena *a, const struct ks_way *way)
{
    if (way->left_out != NULL) {
        return way->left_out;
    }
    if (way->ready >= 0) {
        return arena_printf(a, "health check: %lld ready", (long long)way->ready);
    }
    return "";
}

static void print_nodes(struct str_buf *b, struct arena *a, const struct ks_answer *x,
                        const struct ks_show *show)
{
    size_t n = shown_of(x->n_ways, show->rows);
    struct row *rows = ARENA_ARRAY(a, struct row, n);
    str_appendf(b, "\nNode%s  %s (%s)\n", x->n_ways == 1 ? "" : "s",
                ks_mode_name(x->question->mode), show->proxy_source);
    for (size_t i = 0; i < n; i++) {
        const struct ks_way *way = &x->ways[i];
        rows[i] = (struct row){{way->node->meta.name, way->node->zone,
                                x->n_ways == 1 ? NULL : ks_inside_percent(a, way->weight),
                                way_text(a, way), way_note(a, way)}};
    }
    print_rows(b, rows, n);
    print_more(b, x->n_ways, show->rows, "nodes");
}

static bool same_steps(const struct ks_way *p, const struct ks_way *q)
{
    for (size_t i = 0; p->n_steps == q->n_steps && i < p->n_steps; i++) {
        if (!str_eq(p->steps[i], q->steps[i])) {
            return false;
        }
    }
    return p->n_steps == q->n_steps;
}

/* Below each step its rule, and in parentheses what becomes of the packet. */
static void print_met(struct str_buf *b, struct arena *a, const struct ks_way *way)
{
    for (size_t i = 0; way->met != NULL && i < way->n_steps; i++) {
        const struct ks_met *met = &way->met[i];
        const char *lines[] = {met->rule,
                               met->why == NULL ? NULL : arena_printf(a, "(%s)", met->why)};
        if (met->rule != NULL || met->why != NULL) {
            str_appendf(b, "    %s\n", way->steps[i]);
        }
        for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
            if (lines[k] != NULL) {
                str_append(b, "      ");
                str_append_wrapped(b, lines[k], 6, 8);
                str_append_c(b, '\n');
            }
        }
    }
}

/* Each way through the rules once, with the first node that goes it. */
static void print_steps(struct str_buf *b, struct arena *a, const struct ks_answer *x)
{
    size_t printed = 0;
    for (size_t i = 0; i < x->n_ways && i < 1000 && printed < 8; i++) {
        bool seen = x->ways[i].n_steps == 0;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = same_steps(&x->ways[i], &x->ways[k]);
        }
        if (seen) {
            continue;
        }
        const char *head =
            x->n_ways == 1 ? "  " : arena_printf(a, "  as on %s: ", x->ways[i].node->meta.name);
        if (printed++ == 0) {
            str_append(b, x->question->mode == KS_IPTABLES ? "\nChains\n"
                                                           : "\nChains, sets and maps\n");
        }
        str_append(b, head);
        str_append_wrapped(b, str_join(a, x->ways[i].steps, x->ways[i].n_steps, " → "),
                           str_columns(head), 2 * INDENT);
        str_append_c(b, '\n');
        print_met(b, a, &x->ways[i]);
    }
}

/* ---- pods ------------------------------------------------------------------------------------ */

static const char *source_text(enum ks_source source)
{
    static const char *const texts[] = {"source kept", "source: the node's", "source: the node's",
                                        "source: the load balancer's"};
    return texts[source];
}

static void print_pods(struct str_buf *b, struct arena *a, const struct ks_answer *x,
                       const struct ks_show *show)
{
    size_t n = shown_of(x->n_shares, show->rows);
    struct row *rows = ARENA_ARRAY(a, struct row, n);
    if (n == 0) {
        return;
    }
    str_append(b, "\nPods\n");
    for (size_t i = 0; i < n; i++) {
        const struct ks_pod_share *s = &x->shares[i];
        rows[i] = (struct row){{ks_inside_percent(a, s->probability), s->address, s->pod, s->node,
                                s->zone,
                                arena_printf(a, "%s%s", source_text(s->source),
                                             s->terminating ? ", terminating" : "")}};
    }
    print_rows(b, rows, n);
    print_more(b, x->n_shares, show->rows, "pods");
}

/* The reason why it is not delivered stands in the first line already. */
static void print_because(struct str_buf *b, const struct ks_answer *x)
{
    size_t first = x->outcome == KS_DELIVERED ? 0 : 1;
    if (x->n_because > first) {
        str_append(b, "\nBecause\n");
    }
    for (size_t i = first; i < x->n_because; i++) {
        print_paragraph(b, "  ", x->because[i]);
    }
}

void ks_answer_text(struct str_buf *b, const struct ks_answer *x, const struct ks_show *show)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    str_append_wrapped(b, x->line, 0, INDENT);
    str_append(b, ".\n");
    print_balancer(b, a, x, show);
    if (x->n_ways > 0 && x->service != NULL) {
        print_nodes(b, a, x, show);
        print_steps(b, a, x);
    }
    print_pods(b, a, x, show);
    print_because(b, x);
    if (x->next != NULL) {
        str_append_c(b, '\n');
        print_paragraph(b, "Next: ", x->next);
    }
}
