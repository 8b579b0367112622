/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.c: a plan as text for people.
 *
 *     Service demo/web  external, target pool, us-central1
 *       because  no load-balancer-type annotation
 *
 *       1  + address   a7f3a09c…  regional, PREMIUM      because the Service is new
 *       2  ~ firewall  k8s-fw-…   0.0.0.0/0 → tcp:80     because spec.ports changed
 *            allowed[0].ports   - 80
 *                               + 443
 *
 *     Plan: 1 to create, 1 to change, 0 to delete, in 2 waves (5 calls). Nothing has been changed.
 *
 * Wave, symbol, kind and name stand in columns per Service; when a reason does not fit behind them,
 * all reasons of that Service go to lines of their own, so that the eye finds them at one place.
 * On a terminal that has no room for columns, each cell is a line.  Names are never cut: people
 * paste them.  Wraps at the buffer's columns (names and single words longer than that aside).
 * Same plan, same bytes.  Pure. */
#include "common/lb/plan_print.h"

#include <string.h>

#include "common/lb/plan_shares.h"

#define KIND_MAX     24
#define NAME_MAX_COL 44
#define PATH_MAX_COL 36
#define ROOM         24 /* a column narrower than this is none */
#define QUIET_SHOWN  10 /* more up-to-date Services than this are counted, not listed */

struct printer {
    struct str_buf *b;
    const struct tt_plan *plan;
    const struct plan_print *how;
    struct plan_shares *shares;
};

/* Column widths of one Service's operations. */
struct columns {
    size_t kind;
    size_t name;
    size_t summary;
    bool tail_below; /* reasons on lines of their own */
    bool all_below;  /* every cell on a line of its own: there is no room for columns */
};

static void print_service(struct printer *p, const struct tt_plan_service *s);
static void print_last_line(struct printer *p);

/* ---- words ----------------------------------------------------------------------------------- */
static void pad(struct str_buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str_append_c(b, ' ');
    }
}

static const char *symbol(uint32_t verb)
{
    static const char *const symbols[] = {
        [TT_OP_CREATE] = "+", [TT_OP_CHANGE] = "~", [TT_OP_DELETE] = "-", [TT_OP_KEEP] = "="};
    return verb >= TT_OP_CREATE && verb <= TT_OP_KEEP ? symbols[verb] : "!";
}

static const char *color_on(const struct printer *p, const char *sym)
{
    if (!p->how->color) {
        return "";
    }
    switch (sym[0]) {
    case '+':
        return "\033[32m";
    case '-':
        return "\033[31m";
    case '~':
        return "\033[33m";
    case '!':
        return "\033[1;31m";
    default:
        return "\033[2m";
    }
}

static const char *color_off(const struct printer *p)
{
    return p->how->color ? "\033[0m" : "";
}

/* ---- counting -------------------------------------------------------------------------------- */
static size_t count_verb(const struct tt_plan *plan, uint32_t verb)
{
    size_t n = 0;
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        n += plan->operations[i]->verb == verb;
    }
    return n;
}

static size_t count_changes(const struct tt_plan *plan)
{
    return plan->n_operations - count_verb(plan, TT_OP_KEEP);
}

/* A shared operation is printed once, with the first of its owners. */
static bool is_printed_with(const struct tt_operation *op, const struct tt_plan_service *s)
{
    return op->n_owners > 0 && strcmp(op->owners[0], s->key) == 0;
}

static bool is_quiet(const struct printer *p, const struct tt_plan_service *s)
{
    return (s->code == TT_OK || s->code == TT_IMPLEMENTED_ELSEWHERE) &&
           !plan_share_changes(p->shares, s->key);
}

static bool is_up_to_date(const struct printer *p, const struct tt_plan_service *s)
{
    return s->code == TT_OK && s->n_left == 0 && !plan_share_changes(p->shares, s->key);
}

static bool is_shown(const struct printer *p, const struct tt_operation *op,
                     const struct tt_plan_service *s)
{
    return is_printed_with(op, s) && (op->verb != TT_OP_KEEP || p->how->verbose);
}

/* ---- one operation --------------------------------------------------------------------------- */
/* "security group k8s-elb-a1": operations have numbers in JSON only. */
static void append_operation(struct str_buf *b, const struct tt_plan *plan, uint64_t n)
{
    for (uint32_t i = 0; i < plan->n_operations; i++) {
        if (plan->operations[i]->n == n) {
            str_appendf(b, "%s %s", plan->operations[i]->kind, plan->operations[i]->name);
            return;
        }
    }
    str_appendf(b, "operation %llu", (unsigned long long)n);
}

/* "address known after address; sent after target pool a1; because the Service is new", in a buffer
 * of the caller's. */
static void tail_text(struct str_buf *t, const struct tt_plan *plan, const struct tt_operation *op)
{
    str_append(t, op->note);
    if (op->sent_after > 0) {
        str_appendf(t, "%ssent after ", t->len > 0 ? "; " : "");
        append_operation(t, plan, op->sent_after);
    }
    if (!str_is_empty(op->why)) {
        str_append(t, t->len > 0 ? "; " : "");
        str_append(t, str_has_prefix(op->why, "because ") ? "" : "because ");
        str_append(t, op->why);
    }
    if (op->n_owners > 1) {
        str_appendf(t, "%sfor %s", t->len > 0 ? "; " : "", op->owners[0]);
        uint32_t shown = op->n_owners <= 4 ? op->n_owners : 3;
        for (uint32_t i = 1; i < shown; i++) {
            str_appendf(t, ", %s", op->owners[i]);
        }
        if (shown < op->n_owners) {
            str_appendf(t, " and %u more", op->n_owners - shown);
        }
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Columns in front of the kind: "  12  + ". */
#define LEAD 8
/* As the position in a line: it is full, the next cell begins another one. */
#define FULL ((size_t)10000)

static struct columns columns_measure(const struct printer *p, const struct tt_plan_service *s)
{
    struct columns c = {0};
    size_t longest_tail = 0;
    const struct plan_share own = plan_share_of(p->shares, s->key);
    for (uint32_t i = 0; i < own.n; i++) {
        const struct tt_operation *op = own.operations[i];
        if (!is_shown(p, op, s)) {
            continue;
        }
        struct str_buf tail _cleanup_(str_buf_done) = STR_BUF_INIT;
        tail_text(&tail, p->plan, op);
        c.kind = most(c.kind, least(str_columns(op->kind), KIND_MAX));
        c.name = most(c.name, least(str_columns(op->name), NAME_MAX_COL));
        c.summary = most(c.summary, str_columns(op->summary));
        longest_tail = most(longest_tail, str_columns(str_buf_text(&tail)));
    }
    size_t before_tail = LEAD + c.kind + 2 + c.name + 2 + (c.summary > 0 ? c.summary + 2 : 0);
    size_t wide = str_buf_columns(p->b);
    c.tail_below = longest_tail > 0 && before_tail + longest_tail > wide;
    c.all_below = wide < STR_COLUMNS && LEAD + c.kind + 2 + c.name + 2 + ROOM > wide;
    return c;
}

/* One or two cells of a row: pads to the column, or breaks the line when the text was too
 * long for it. */
static size_t cell_end(struct str_buf *b, size_t at, size_t column)
{
    if (at + 2 <= column) {
        pad(b, column - at);
    } else {
        str_append_c(b, '\n');
        pad(b, column);
    }
    return column;
}

static void print_text(struct printer *p, const char *text, size_t col)
{
    struct str_buf known _cleanup_(str_buf_done) = STR_BUF_INIT;
    uint64_t n;
    if (str_has_prefix(text, PLAN_KNOWN_AFTER) && str_to_u64(text + strlen(PLAN_KNOWN_AFTER), &n)) {
        str_append(&known, PLAN_KNOWN_AFTER);
        append_operation(&known, p->plan, n);
        text = str_buf_text(&known);
    }
    str_append_wrapped(p->b, text, col, col);
}

/* The '-' and '+' lines of one path; *i moves past its fields. */
static void print_path(struct printer *p, const struct tt_operation *op, uint32_t *i, size_t col)
{
    static const char *const signs[] = {"-", "+"};
    uint32_t from = *i;
    uint32_t to = from;
    while (to < op->n_fields && strcmp(op->fields[to].path, op->fields[from].path) == 0) {
        to++;
    }
    pad(p->b, LEAD + 2);
    str_append(p->b, op->fields[from].path);
    size_t at = LEAD + 2 + str_columns(op->fields[from].path);
    if (col + ROOM > str_buf_columns(p->b)) {
        col = LEAD + 4;
        at = FULL;
    }
    for (size_t side = 0; side < ARRAY_LEN(signs); side++) {
        for (uint32_t f = from; f < to; f++) {
            const char *text = side == 0 ? op->fields[f].old_text : op->fields[f].new_text;
            if (text == NULL) {
                continue;
            }
            at = cell_end(p->b, at, col);
            str_appendf(p->b, "%s%s%s ", color_on(p, signs[side]), signs[side], color_off(p));
            print_text(p, text, col + 2);
            at = FULL; /* the next one begins a line */
        }
    }
    str_append_c(p->b, '\n');
    *i = to;
}

static void print_fields(struct printer *p, const struct tt_operation *op)
{
    if (op->verb != TT_OP_CHANGE && !p->how->verbose) {
        return; /* what is new or goes away is known by its summary */
    }
    size_t longest = 0;
    for (uint32_t i = 0; i < op->n_fields; i++) {
        longest = most(longest, least(str_columns(op->fields[i].path), PATH_MAX_COL));
    }
    for (uint32_t i = 0; i < op->n_fields;) {
        print_path(p, op, &i, LEAD + 2 + longest + 2);
    }
}

/* Behind the kind: name, summary and reason, in columns. */
static void print_cells(struct printer *p, const struct tt_operation *op, const struct columns *c,
                        const char *tail)
{
    size_t name_col = LEAD + c->kind + 2;
    size_t at = cell_end(p->b, LEAD + str_columns(op->kind), name_col);
    str_append(p->b, op->name);
    at += str_columns(op->name);
    size_t col = name_col + c->name + 2;
    if (!str_is_empty(op->summary)) {
        at = cell_end(p->b, at, col);
        str_append_wrapped(p->b, op->summary, at, col);
        at += str_columns(op->summary);
    }
    if (*tail != '\0') {
        col = c->tail_below ? LEAD : col + (c->summary > 0 ? c->summary + 2 : 0);
        (void)cell_end(p->b, c->tail_below ? FULL : at, col);
        str_append_wrapped(p->b, tail, col, col);
    }
    str_append_c(p->b, '\n');
}

/* The same, each on a line of its own but for a name that fits. */
static void print_cells_below(struct printer *p, const struct tt_operation *op, const char *tail)
{
    const char *const below[] = {op->summary, tail};
    size_t used = LEAD + str_columns(op->kind) + 2;
    if (used + str_columns(op->name) <= str_buf_columns(p->b)) {
        str_appendf(p->b, "  %s", op->name);
    } else {
        str_appendf(p->b, "\n%*s%s", LEAD, "", op->name);
    }
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        if (!str_is_empty(below[i])) {
            str_appendf(p->b, "\n%*s", LEAD, "");
            str_append_wrapped(p->b, below[i], LEAD, LEAD);
        }
    }
    str_append_c(p->b, '\n');
}

static void print_operation(struct printer *p, const struct tt_operation *op,
                            const struct columns *c)
{
    struct str_buf tail _cleanup_(str_buf_done) = STR_BUF_INIT;
    tail_text(&tail, p->plan, op);
    const char *sym = symbol(op->verb);
    if (op->wave > 0) {
        str_appendf(p->b, "%4u  ", op->wave);
    } else {
        str_append(p->b, "      ");
    }
    str_appendf(p->b, "%s%s%s %s", color_on(p, sym), sym, color_off(p), op->kind);
    if (c->all_below) {
        print_cells_below(p, op, str_buf_text(&tail));
    } else {
        print_cells(p, op, c, str_buf_text(&tail));
    }
    print_fields(p, op);
}

/* ---- one Service ----------------------------------------------------------------------------- */
static void print_attention(struct printer *p, const char *text)
{
    str_appendf(p->b, "  %s!%s ", color_on(p, "!"), color_off(p));
    str_append_wrapped(p->b, text, 4, 4);
    str_append_c(p->b, '\n');
}

/* Prints findings, which refuse nothing; also in a quiet plan. */
static void print_findings(struct printer *p, const struct tt_plan_service *s)
{
    if (!str_is_empty(s->serves_nobody)) {
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_appendf(&line, "serves nobody: %s", s->serves_nobody);
        print_attention(p, str_buf_text(&line));
    }
    for (uint32_t i = 0; i < s->n_findings; i++) {
        print_attention(p, s->findings[i]->message);
    }
}

static bool has_findings(const struct tt_plan_service *s)
{
    return s->n_findings > 0 || !str_is_empty(s->serves_nobody);
}

static void print_because(struct printer *p, const struct tt_plan_service *s)
{
    for (uint32_t i = 0; i < s->n_because; i++) {
        str_append(p->b, i == 0 ? "  because  " : "           ");
        str_append_wrapped(p->b, s->because[i], 11, 11);
        str_append_c(p->b, '\n');
    }
}

static void print_sentences(struct printer *p, const struct tt_plan_service *s)
{
    for (uint32_t i = 0; i < s->n_effects; i++) {
        str_append(p->b, "  ");
        str_append_wrapped(p->b, s->effects[i], 2, 2);
        str_append_c(p->b, '\n');
    }
}

/* "! sentence", for each value that is left as it was taken over. */
static void print_left(struct printer *p, const struct tt_plan_service *s)
{
    for (uint32_t i = 0; i < s->n_left; i++) {
        str_appendf(p->b, "  %s!%s ", color_on(p, "!"), color_off(p));
        str_append_wrapped(p->b, s->left[i], 4, 4);
        str_append_c(p->b, '\n');
    }
}

#define WITH_SHOWN 3

/* "~ and 2 shared with demo/db": the Services with which they are printed. */
static void print_elsewhere(struct printer *p, const struct tt_plan_service *s, uint32_t n,
                            bool any)
{
    const char *with[WITH_SHOWN];
    uint32_t n_with = 0;
    bool more = false;
    const struct plan_share own = plan_share_of(p->shares, s->key);
    for (uint32_t i = 0; i < own.n; i++) {
        const struct tt_operation *op = own.operations[i];
        bool known = op->verb == TT_OP_KEEP || is_printed_with(op, s);
        for (uint32_t k = 0; !known && k < n_with; k++) {
            known = strcmp(with[k], op->owners[0]) == 0;
        }
        if (!known && n_with < WITH_SHOWN) {
            with[n_with++] = op->owners[0];
        } else if (!known) {
            more = true;
        }
    }
    _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
    str_appendf(&line, "~ and %u shared with", n);
    for (uint32_t k = 0; k < n_with; k++) {
        str_appendf(&line, "%s %s", k > 0 ? "," : "", with[k]);
    }
    str_append(&line, more ? " and others" : "");
    str_append(p->b, any ? "      " : "\n      ");
    str_append_wrapped(p->b, str_buf_text(&line), 6, 8);
    str_append_c(p->b, '\n');
}

static void print_operations(struct printer *p, const struct tt_plan_service *s)
{
    struct columns c = columns_measure(p, s);
    uint32_t kept = 0;
    uint32_t elsewhere = 0;
    bool any = false;
    const struct plan_share own = plan_share_of(p->shares, s->key);
    for (uint32_t i = 0; i < own.n; i++) {
        const struct tt_operation *op = own.operations[i];
        kept += op->verb == TT_OP_KEEP && is_printed_with(op, s);
        elsewhere += op->verb != TT_OP_KEEP && !is_printed_with(op, s);
        if (is_shown(p, op, s)) {
            str_append(p->b, any ? "" : "\n");
            any = true;
            print_operation(p, op, &c);
        }
    }
    if (elsewhere > 0) {
        print_elsewhere(p, s, elsewhere, any);
    }
    if (kept > 0 && !p->how->verbose) {
        str_appendf(p->b, "      %s=%s %u resource%s as %s should be\n", color_on(p, "="),
                    color_off(p), kept, kept == 1 ? "" : "s", kept == 1 ? "it" : "they");
    }
}

/* "Service demo/web"; how many columns that took. */
static size_t print_head(struct printer *p, const char *key)
{
    str_appendf(p->b, "Service %s", key);
    return strlen("Service ") + str_columns(key);
}

/* Another cell of that line, which is at column `at`; where it does not fit it begins a line. */
static size_t head_cell(struct printer *p, size_t at, const char *text)
{
    if (at + 2 + str_columns(text) <= str_buf_columns(p->b) || p->b->columns == 0) {
        str_appendf(p->b, "  %s", text);
        return at + 2 + str_columns(text);
    }
    str_append(p->b, "\n    ");
    str_append_wrapped(p->b, text, 4, 4);
    return FULL;
}

static void print_quiet(struct printer *p, const struct tt_plan_service *s)
{
    _cleanup_(str_buf_done) struct str_buf said = STR_BUF_INIT;
    size_t at = print_head(p, s->key);
    if (!str_is_empty(s->address)) {
        at = head_cell(p, at, s->address);
    }
    if (s->code == TT_IMPLEMENTED_ELSEWHERE) {
        at = at == FULL ? 4 : at + 2;
        str_append(p->b, at == 4 ? "\n    left alone: " : "  left alone: ");
        str_append_wrapped(p->b, str_or(s->message, "another controller's"), at + 12, 4);
    } else if (s->n_left > 0) {
        str_appendf(&said, "nothing to do, %u value%s left as %s.", s->n_left,
                    s->n_left == 1 ? "" : "s", s->n_left == 1 ? "it is" : "they are");
        (void)head_cell(p, at, str_buf_text(&said));
    } else if (s->checked > 0) {
        str_appendf(&said, "up to date (%u resource%s checked).", s->checked,
                    s->checked == 1 ? "" : "s");
        (void)head_cell(p, at, str_buf_text(&said));
    } else {
        str_append(&said, "nothing to do");
        if (!str_is_empty(s->message)) {
            str_appendf(&said, ": %s", s->message);
        }
        str_append_c(&said, '.');
        (void)head_cell(p, at, str_buf_text(&said));
    }
    str_append_c(p->b, '\n');
    print_findings(p, s);
    print_left(p, s);
    if (p->how->verbose) {
        print_because(p, s);
        print_operations(p, s);
    }
}

static void print_service(struct printer *p, const struct tt_plan_service *s)
{
    size_t at = print_head(p, s->key);
    if (!str_is_empty(s->kind)) {
        at = head_cell(p, at, s->kind);
    }
    if (!str_is_empty(s->address)) {
        (void)head_cell(p, at, s->address);
    }
    str_append_c(p->b, '\n');
    print_because(p, s);
    if (s->code != TT_OK) {
        print_attention(p, str_or(s->message, "cannot be planned"));
    }
    print_findings(p, s);
    print_left(p, s);
    print_operations(p, s);
    if (p->plan->n_services > 1) { /* one Service's effects end the last line */
        print_sentences(p, s);
    }
    str_append_c(p->b, '\n');
}

/* ---- all ------------------------------------------------------------------------------------- */
static void print_quiet_ones(struct printer *p)
{
    uint32_t n = 0;
    uint64_t checked = 0;
    for (uint32_t i = 0; i < p->plan->n_services; i++) {
        const struct tt_plan_service *s = p->plan->services[i];
        bool quiet = is_up_to_date(p, s) && !has_findings(s);
        n += quiet;
        checked += quiet ? s->checked : 0;
    }
    bool in_short = n > QUIET_SHOWN && !p->how->verbose;
    for (uint32_t i = 0; i < p->plan->n_services; i++) {
        const struct tt_plan_service *s = p->plan->services[i];
        if (is_quiet(p, s) && (!in_short || !is_up_to_date(p, s) || has_findings(s))) {
            print_quiet(p, s);
        }
    }
    if (in_short) {
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_appendf(&line, "%u Services are up to date (%llu resources checked).", n,
                    (unsigned long long)checked);
        str_append_wrapped(p->b, str_buf_text(&line), 0, 4);
        str_append_c(p->b, '\n');
    }
}

static void last_line_effects(struct printer *p, struct str_buf *line)
{
    const struct tt_plan_service *s = p->plan->n_services == 1 ? p->plan->services[0] : NULL;
    for (uint32_t i = 0; s != NULL && i < s->n_effects; i++) {
        bool stopped = str_has_suffix(s->effects[i], ".");
        str_appendf(line, " %s%s", s->effects[i], stopped ? "" : ".");
    }
}

static void print_last_line(struct printer *p)
{
    uint32_t failed = 0;
    for (uint32_t i = 0; i < p->plan->n_services; i++) {
        int32_t code = p->plan->services[i]->code;
        failed += code != TT_OK && code != TT_IMPLEMENTED_ELSEWHERE;
    }
    if (count_changes(p->plan) == 0 && failed == 0) {
        if (p->plan->n_services != 1) {
            str_append(p->b, "Plan: nothing to do.\n");
        }
        return;
    }
    struct str_buf line _cleanup_(str_buf_done) = STR_BUF_INIT;
    str_append(&line, "Plan: ");
    plan_print_counts(&line, p->plan);
    str_appendf(&line, ", in %u wave%s (%u call%s).", p->plan->waves,
                p->plan->waves == 1 ? "" : "s", p->plan->calls, p->plan->calls == 1 ? "" : "s");
    if (failed > 0) {
        str_appendf(&line, " %u Service%s cannot be planned.", failed, failed == 1 ? "" : "s");
    }
    last_line_effects(p, &line);
    str_append(&line, " Nothing has been changed.");
    str_append_wrapped(p->b, str_buf_text(&line), 0, 0);
    str_append_c(p->b, '\n');
}

void plan_print_text(struct str_buf *b, const struct tt_plan *plan, const struct plan_print *how)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct printer p = {.b = b, .plan = plan_clean(a, plan), .how = how};
    plan = p.plan;
    p.shares = plan_shares_new(a, plan);
    for (uint32_t i = 0; i < plan->n_services; i++) {
        if (!is_quiet(&p, plan->services[i])) {
            print_service(&p, plan->services[i]);
        }
    }
    print_quiet_ones(&p);
    print_last_line(&p);
    plan_shares_done(p.shares);
}
