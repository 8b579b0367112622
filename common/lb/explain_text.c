/* SPDX-License-Identifier: Apache-2.0 */
/* explain_text.c: the rows of an explanation as text (docs/ux.md): the answer, the questions in a
 * column, then nodes, the way of a packet, and health.
 *
 * Part of explain.h.  Pure. */
#include "common/lb/explain.h"

#include <string.h>

#define SUBJECT_AT 2  /* column of a question */
#define VALUE_AT   31 /* of what was found */
#define PARAGRAPH  9  /* of the text behind "Packet:" */
#define NARROW_AT  6  /* of a value on a terminal that has no room for two columns */
#define ROOM       24 /* a column narrower than this is none */

struct printer {
    struct str_buf *b;
    const struct tt_explain_row *rows;
    size_t n;
    bool fits_all; /* not for a terminal: a fact is one line, however long */
};

static size_t last_line_columns(const struct str_buf *b, size_t from)
{
    const char *text = str_buf_text(b);
    for (size_t i = b->len; i > from; i--) {
        if (text[i - 1] == '\n') {
            return str_columns(text + i);
        }
    }
    return str_columns(text + from);
}

/* Appends the line; where it does not fit, broken between words, further lines at `indent`. */
static void fact(struct printer *p, const char *line, size_t indent)
{
    if (p->fits_all || str_columns(line) <= str_buf_columns(p->b)) {
        str_append(p->b, line);
    } else {
        size_t lead = strspn(line, " ");
        str_append_n(p->b, line, lead);
        str_append_wrapped(p->b, line + lead, lead, indent);
    }
    str_append_c(p->b, '\n');
}

/* Not for a terminal, a long name at the end does not get a line of its own. */
static void answer(struct printer *p, const char *line)
{
    const char *last = strrchr(line, ' ');
    size_t name = str_columns(last);
    if (p->fits_all && name > ROOM && str_columns(line) - name <= str_buf_columns(p->b)) {
        str_append(p->b, line);
    } else {
        str_append_wrapped(p->b, line, 0, 2);
    }
    str_append_c(p->b, '\n');
}

static void decision(struct printer *p, const struct tt_explain_row *r)
{
    _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
    const char *subject = str_nonnull(r->subject);
    const char *value = str_nonnull(r->value);
    if (r->outcome == NULL) {
        str_appendf(&line, "  %-28s %s", subject, value);
    } else {
        str_appendf(&line, "  %-28s %-16s → %s", subject, value, r->outcome);
    }
    if (p->fits_all || str_columns(str_buf_text(&line)) <= str_buf_columns(p->b)) {
        str_appendf(p->b, "%s\n", str_buf_text(&line));
        return;
    }
    size_t from = p->b->len;
    size_t at = VALUE_AT + ROOM <= str_buf_columns(p->b) ? VALUE_AT : NARROW_AT;
    str_appendf(p->b, "  %s", subject);
    size_t used = SUBJECT_AT + str_columns(subject);
    if (used + 1 > at || at == NARROW_AT) {
        str_appendf(p->b, "\n%*s", (int)at, "");
    } else {
        str_appendf(p->b, "%*s", (int)(at - used), "");
    }
    str_append_wrapped(p->b, value, at, at);
    if (r->outcome != NULL) {
        used = last_line_columns(p->b, from);
        if (used + 3 + str_columns(r->outcome) > str_buf_columns(p->b)) {
            str_appendf(p->b, "\n%*s→ ", (int)at, "");
            used = at;
        } else {
            str_append(p->b, " → ");
            used++;
        }
        str_append_wrapped(p->b, r->outcome, used + 2, at + 2);
    }
    str_append_c(p->b, '\n');
}

static void paragraph(struct printer *p, const char *heading, const char *text)
{
    _cleanup_(str_buf_done) struct str_buf head = STR_BUF_INIT;
    str_appendf(&head, "%s:", heading);
    str_appendf(p->b, "%-*s", PARAGRAPH, str_buf_text(&head));
    str_append_wrapped(p->b, text, PARAGRAPH, PARAGRAPH);
    str_append_c(p->b, '\n');
}

/* One zone: how many, and which. */
static void zone(struct printer *p, const struct tt_explain_row *r)
{
    _cleanup_(str_buf_done) struct str_buf head = STR_BUF_INIT;
    _cleanup_(str_buf_done) struct str_buf names = STR_BUF_INIT;
    str_appendf(&head, "  %-14s %3lld", str_nonnull(r->subject), (long long)r->count);
    if (r->of >= 0) {
        str_appendf(&head, " of %lld", (long long)r->of);
    }
    str_append(&head, "   ");
    for (uint32_t i = 0; i < r->n_names; i++) {
        str_appendf(&names, "%s%s", i > 0 ? " " : "", r->names[i]);
    }
    size_t at = str_columns(str_buf_text(&head));
    str_append(p->b, str_buf_text(&head));
    str_append_wrapped(p->b, names.len == 0 ? "-" : str_buf_text(&names), at, at);
    str_append_c(p->b, '\n');
}

static void left_out(struct printer *p, const struct tt_explain_row *r)
{
    _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
    str_appendf(&line, "  %-10s left out   %s", str_nonnull(r->subject), str_nonnull(r->outcome));
    fact(p, str_buf_text(&line), NARROW_AT);
}

/* All steps are one sentence: "client → 203.0.113.10:80 → any of 6 instances, port 80 → …". */
static void packet(struct printer *p, size_t first)
{
    _cleanup_(str_buf_done) struct str_buf way = STR_BUF_INIT;
    for (size_t i = first; i < p->n && p->rows[i].section == TT_EXPLAIN_HOP; i++) {
        const struct tt_explain_row *r = &p->rows[i];
        str_appendf(&way, "%s%s", i > first ? " → " : "", str_or(r->value, "(new address)"));
        if (r->port >= 0) {
            bool is_address = str_eq(r->subject, "load balancer");
            str_appendf(&way, "%s%lld", is_address ? ":" : ", port ", (long long)r->port);
        }
        if (r->outcome != NULL) {
            str_appendf(&way, " (%s)", r->outcome);
        }
    }
    paragraph(p, "Packet", str_buf_text(&way));
}

static void health(struct printer *p, const struct tt_explain_row *r)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    if (str_eq(r->subject, "TCP")) {
        str_append(&text, "a connection to node");
    } else {
        str_appendf(&text, "GET %s://node", str_eq(r->subject, "HTTPS") ? "https" : "http");
    }
    if (r->port >= 0) {
        str_appendf(&text, ":%lld", (long long)r->port);
    }
    str_append(&text, r->value);
    if (r->every_ms >= 0) {
        str_appendf(&text, " every %lld s", (long long)(r->every_ms / 1000));
    }
    paragraph(p, "Health", str_buf_text(&text));
}

/* A blank line parts the questions from what follows them. */
static bool opens_second_part(const struct printer *p, size_t i)
{
    uint32_t before = i > 0 ? p->rows[i - 1].section : TT_EXPLAIN_ANSWER;
    return p->rows[i].section == TT_EXPLAIN_NODES ||
           (p->rows[i].section == TT_EXPLAIN_NOTE &&
            (before == TT_EXPLAIN_ANSWER || before == TT_EXPLAIN_DECISION));
}

static void row(struct printer *p, const char *key, size_t i)
{
    const struct tt_explain_row *r = &p->rows[i];
    str_append(p->b, opens_second_part(p, i) ? "\n" : "");
    switch (r->section) {
    case TT_EXPLAIN_ANSWER: {
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_appendf(&line, "%s %s", key, str_nonnull(r->outcome));
        answer(p, str_buf_text(&line));
        break;
    }
    case TT_EXPLAIN_DECISION:
        decision(p, r);
        break;
    case TT_EXPLAIN_NODES: {
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_appendf(&line, "Nodes: %s", str_nonnull(r->value));
        fact(p, str_buf_text(&line), 2);
        break;
    }
    case TT_EXPLAIN_ZONE:
        zone(p, r);
        break;
    case TT_EXPLAIN_NODES_RULE:
        str_append(p->b, "  ");
        str_append_wrapped(p->b, str_nonnull(r->value), 2, 2);
        str_append_c(p->b, '\n');
        break;
    case TT_EXPLAIN_LEFT_OUT:
        left_out(p, r);
        break;
    case TT_EXPLAIN_HEALTH:
        health(p, r);
        break;
    case TT_EXPLAIN_NOTE:
        paragraph(p, str_nonnull(r->subject), str_nonnull(r->value));
        break;
    case TT_EXPLAIN_WARNING: {
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_appendf(&line, "  ! %s", str_nonnull(r->value));
        fact(p, str_buf_text(&line), 4);
        break;
    }
    default:
        break;
    }
}

/* Rows whose texts may be shown: what annotations, names and plugins put there is escaped. */
static const struct tt_explain_row *clean_rows(struct arena *a, const struct tt_explain_row *rows,
                                               size_t n)
{
    struct tt_explain_row *out = ARENA_ARRAY(a, struct tt_explain_row, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = rows[i];
        out[i].subject = str_clean(a, rows[i].subject);
        out[i].value = str_clean(a, rows[i].value);
        out[i].outcome = str_clean(a, rows[i].outcome);
        out[i].names = str_clean_all(a, rows[i].names, rows[i].n_names);
    }
    return out;
}

void lb_explain_text(struct str_buf *b, const char *key, const struct tt_explain_row *unclean,
                     size_t n)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    const struct tt_explain_row *rows = clean_rows(a, unclean, n);
    struct printer p = {.b = b, .rows = rows, .n = n, .fits_all = b->columns == 0};
    key = str_clean(a, key);
    for (size_t i = 0; i < n; i++) {
        bool is_hop = rows[i].section == TT_EXPLAIN_HOP;
        if (is_hop && (i == 0 || rows[i - 1].section != TT_EXPLAIN_HOP)) {
            packet(&p, i);
        } else if (!is_hop) {
            row(&p, key, i);
        }
    }
}
