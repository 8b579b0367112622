/* SPDX-License-Identifier: Apache-2.0 */
/* status_html.c: the view of status.h as HTML, by hand: no scripts, nothing from elsewhere,
 * readable on a phone and without colour.
 *
 * A table that becomes a list of cards where the screen is narrow.  A line ends between the parts
 * of a name or an address, never within one.  States are words with a sign, never colour alone.
 * All that comes from outside (names, messages of clouds) is escaped by character(). */
#include "controller/serve/status_html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/timefmt.h"

/* Where the screen is narrower than CARDS_BELOW, the table becomes a list of cards. */
#define CARDS_BELOW      "75rem"
#define CARDS_BELOW_LONG "110rem" /* with a name that cannot be broken for more than ... */
#define LONG_PIECE       32       /* ... this many characters */

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.45 system-ui,sans-serif;margin:1rem auto;max-width:110rem;padding:0 1rem;"
    "overflow-wrap:break-word}"
    "h1{font-size:1.3rem;margin:.2rem 0}h2{font-size:1.05rem;margin:1.4rem 0 .4rem}"
    "p{margin:.3rem 0;max-width:72rem}.quiet{opacity:.75}"
    /* A cell is as wide as its longest word at least, so that no other cell takes its room. */
    "table{border-collapse:collapse;width:100%}thead,tbody{border-bottom:1px solid #8885}"
    "th,td{text-align:left;vertical-align:top;padding:.35rem 1rem .35rem 0}"
    "th,td.ago,td.pending{white-space:nowrap}.ip wbr{display:none}td.kind{min-width:8rem}"
    /* Texts of a cloud may contain words of any length. */
    "tr.why td{padding-top:0;overflow-wrap:anywhere}"
    ".bad{font-weight:600}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;"
    "padding:.5rem .7rem;border-left:3px solid #888}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.4rem 0}"
    "dd{margin:0;min-width:0}"
    "svg{max-width:100%;height:auto;display:block;margin:.6rem 0}"
    "@media(max-width:40rem){dl{display:block}dt{opacity:.75}dd{margin-bottom:.4rem}"
    ".ip wbr{display:inline}}";
static const char cards[] =
    "thead{display:none}table,tbody,tr,td{display:block}tbody{padding:.5rem 0}"
    "td{padding:.1rem 0}td.name{font-weight:600}"
    "td[data-is]::before{content:attr(data-is) \": \";opacity:.75}";

static const char *const signs[STATUS_STATES] = {
    [BOARD_WAITING] = "–",  [BOARD_SYNCING] = "…", [BOARD_READY] = "✓",
    [BOARD_RETRYING] = "!", [BOARD_FAILED] = "✗",  [BOARD_ELSEWHERE] = "→",
};

/* ---- words ----------------------------------------------------------------------------------- */

static void character(struct str_buf *b, char c)
{
    switch (c) {
    case '&':
        str_append(b, "&amp;");
        break;
    case '<':
        str_append(b, "&lt;");
        break;
    case '>':
        str_append(b, "&gt;");
        break;
    case '"':
        str_append(b, "&quot;");
        break;
    case '\'':
        str_append(b, "&#39;");
        break;
    default:
        str_append_c(b, c);
    }
}

/* One character of s[0..n), escaped where it does not show or would change the line;
 * returns its bytes. */
static size_t shown(struct str_buf *b, const char *s, size_t n)
{
    char out[STR_CLEAN_MAX];
    size_t len;
    size_t used = str_clean_next(s, n, STR_BREAKS_KEPT, out, &len);
    for (size_t i = 0; i < len; i++) {
        character(b, out[i]);
    }
    return used;
}

static void text(struct str_buf *b, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0; i < n;) {
        i += shown(b, s + i, n - i);
    }
}

/* A line may end behind these characters of a name, and nowhere else in it. */
static const char joints[] = "/-.:";

static void name_text(struct str_buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        bool joint = strchr(joints, s[i]) != NULL;
        i += shown(b, s + i, n - i);
        if (joint && i < n && strchr(joints, s[i]) == NULL) {
            str_append(b, "<wbr>");
        }
    }
}

static void name(struct str_buf *b, const char *s)
{
    name_text(b, s, strlen(s));
}

void status_html_text(struct str_buf *b, const char *s)
{
    text(b, s);
}

void status_html_name(struct str_buf *b, const char *s)
{
    name(b, s);
}

/* One address of `n` bytes.  IPv4 stays in one piece; IPv6 does where the screen is wide; the names
 * of AWS are long. */
static void address(struct str_buf *b, const char *s, size_t n)
{
    bool is_v4 = strspn(s, "0123456789.") >= n;
    bool is_ip = is_v4 || memchr(s, ':', n) != NULL;

    str_append(b, is_ip ? "<span class=\"ip\">" : "");
    if (is_v4) {
        str_append_n(b, s, n);
    } else {
        name_text(b, s, n);
    }
    str_append(b, is_ip ? "</span>" : "");
}

/* "203.0.113.10, 2001:db8::1". */
static void addresses(struct str_buf *b, const char *s)
{
    while (*s != '\0') {
        size_t n = strcspn(s, ", ");
        size_t between = strspn(s + n, ", ");
        address(b, s, n);
        str_append_n(b, s + n, between);
        s += n + between;
    }
}

static void ago(struct str_buf *b, int64_t then_us, int64_t now_us)
{
    char at[32];

    if (then_us == 0) {
        str_append(b, "never");
        return;
    }
    time_format_rfc3339(then_us, at);
    str_appendf(b, "<time datetime=\"%s\">", at);
    status_span(b, now_us - then_us);
    str_append(b, " ago</time>");
}

static bool is_bad(const struct status_service *s)
{
    return s->row.state == BOARD_FAILED || s->row.state == BOARD_RETRYING;
}

static void state(struct str_buf *b, const struct status_service *s, int64_t now_us)
{
    const struct board_row *r = &s->row;

    str_appendf(b, "<span%s>%s&nbsp;%s</span>", is_bad(s) ? " class=\"bad\"" : "", signs[r->state],
                board_state_word(r->state));
    if (r->state == BOARD_SYNCING && r->began_us != 0) {
        str_append(b, " since ");
        status_span(b, now_us - r->began_us);
    }
    if (r->next_us > now_us) {
        str_append(b, ", again in ");
        status_span(b, r->next_us - now_us);
    }
}

static void pending(struct str_buf *b, const struct board_row *r)
{
    if (r->create + r->change + r->delete_ == 0) {
        str_append(b, "nothing");
        return;
    }
    str_appendf(b, "+%u ~%u -%u", r->create, r->change, r->delete_);
}

/* ---- the head -------------------------------------------------------------------------------- */

/* Has one of the names a piece that is long and cannot be broken? */
static bool has_long_pieces(const struct status_view *v)
{
    for (size_t i = 0; i < v->n_services; i++) {
        const char *s = v->services[i].row.key;
        for (size_t n = 0; *s != '\0'; s += n + (s[n] != '\0')) {
            n = strcspn(s, joints);
            if (n > LONG_PIECE) {
                return true;
            }
        }
    }
    return false;
}

static void head(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    const struct status_filter everything = {0};
    const struct status_filter *counted = f->absent != NULL ? &everything : f;

    str_append(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                  "<title>trimtab: ");
    status_answer(b, v, counted);
    str_appendf(b, "</title><style>%s@media(max-width:%s){%s}</style></head><body>\n<h1>", style,
                has_long_pieces(v) ? CARDS_BELOW_LONG : CARDS_BELOW, cards);
    status_answer(b, v, counted);
    str_append(b, "</h1>\n<p>");
    _cleanup_(str_buf_done) struct str_buf leads = STR_BUF_INIT;
    status_leads(&leads, &v->leader);
    text(b, str_buf_text(&leads));
    str_append(b, "</p>\n<p class=\"quiet\">trimtab ");
    text(b, v->version);
    str_append(b, ", provider ");
    text(b, v->provider);
    str_append(b, ", cluster ");
    text(b, v->cluster);
    str_append(b, ", started ");
    ago(b, v->started_us, v->now_us);
    str_append(b, "</p>\n");
}

/* ---- Services -------------------------------------------------------------------------------- */

static void link_to(struct str_buf *b, const char *key)
{
    str_append(b, "<a href=\"?service=");
    text(b, key); /* names of Kubernetes need no other escaping in a query */
    str_append(b, "\">");
    name(b, key);
    str_append(b, "</a>");
}

/* Appends findings of a sync that went well, each between `before` and `behind`. */
static void attention(struct str_buf *b, const struct board_row *r, const char *before,
                      const char *behind)
{
    if (*r->serves_nobody != '\0') {
        str_append(b, before);
        text(b, "serves nobody: ");
        text(b, r->serves_nobody);
        str_append(b, behind);
    }
    for (const char *at = r->findings; *at != '\0';) {
        size_t n = strcspn(at, "\n");
        _cleanup_(str_buf_done) struct str_buf line = STR_BUF_INIT;
        str_append_n(&line, at, n);
        str_append(b, before);
        text(b, str_buf_text(&line));
        str_append(b, behind);
        at += n + (at[n] == '\n' ? 1 : 0);
    }
}

static void row(struct str_buf *b, const struct status_service *s, int64_t now_us)
{
    const struct board_row *r = &s->row;

    str_append(b, "<tbody><tr><td class=\"name\">");
    link_to(b, r->key);
    str_append(b, "</td><td data-is=\"state\">");
    state(b, s, now_us);
    str_append(b, "</td><td class=\"address\" data-is=\"address\">");
    addresses(b, str_or(s->address, "none"));
    str_append(b, "</td><td class=\"kind\" data-is=\"kind\">");
    text(b, str_or(r->kind, "not known yet"));
    str_append(b, "</td><td class=\"ago\" data-is=\"last sync\">");
    ago(b, r->synced_us, now_us);
    str_appendf(b, "</td><td data-is=\"calls\">%u</td><td class=\"pending\" data-is=\"pending\">",
                r->calls);
    pending(b, r);
    str_append(b, "</td></tr>\n");
    if (r->code != TT_OK) {
        str_append(b, "<tr class=\"why\"><td colspan=\"7\">");
        text(b, r->message);
        str_append(b, "</td></tr>\n");
    }
    attention(b, r, "<tr class=\"why\"><td colspan=\"7\">! ", "</td></tr>\n");
    str_append(b, "</tbody>\n");
}

static void services(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    size_t shown = 0;
    size_t left = 0;

    str_append(b, "<h2>Services</h2>\n<table><thead><tr><th>Service<th>State<th>Address<th>Kind"
                  "<th>Last sync<th>Calls<th>Pending</tr></thead>\n");
    for (size_t i = 0; i < v->n_services; i++) {
        if (!status_shows(f, &v->services[i])) {
            continue;
        }
        if (f->most != 0 && shown == f->most) {
            left++;
            continue;
        }
        shown++;
        row(b, &v->services[i], v->now_us);
    }
    str_append(b, "</table>\n");
    if (shown == 0) {
        str_append(b, "<p>No Service of type LoadBalancer is ours.</p>\n");
    }
    if (left > 0) {
        str_appendf(b, "<p>%zu more are not shown. <a href=\"?all\">Show all</a></p>\n", left);
    }
}

/* ---- one Service ----------------------------------------------------------------------------- */

static void fact(struct str_buf *b, const char *name, const char *value)
{
    str_appendf(b, "<dt>%s</dt><dd>", name);
    text(b, value);
    str_append(b, "</dd>\n");
}

static void facts(struct str_buf *b, const struct status_service *s, int64_t now_us)
{
    const struct board_row *r = &s->row;

    str_append(b, "<dl><dt>State</dt><dd>");
    state(b, s, now_us);
    str_append(b, "</dd>\n");
    if (r->code != TT_OK) {
        fact(b, "Why", r->message);
    }
    attention(b, r, "<dt>Attention</dt><dd>! ", "</dd>\n");
    str_append(b, "<dt>Address</dt><dd class=\"address\">");
    addresses(b, str_or(s->address, "none"));
    str_append(b, "</dd>\n");
    fact(b, "Kind", str_or(r->kind, "not known yet"));
    str_append(b, "<dt>Last sync</dt><dd>");
    ago(b, r->synced_us, now_us);
    if (r->synced_us != 0) {
        str_appendf(b, " (%s), took %" PRId64 " ms, %u calls", r->verb, r->took_ms, r->calls);
    }
    str_append(b, "</dd>\n");
    if (r->failing_us != 0) {
        str_appendf(b, "<dt>Failing</dt><dd>%u time%s, first ", r->failures,
                    r->failures == 1 ? "" : "s");
        ago(b, r->failing_us, now_us);
        str_append(b, "</dd>\n");
    }
    for (uint32_t i = 0; i < s->n_conditions; i++) {
        const struct tt_condition *c = &s->conditions[i];
        str_append(b, "<dt>Condition</dt><dd>");
        text(b, str_nonnull(c->type));
        str_append(b, " is ");
        text(b, str_nonnull(c->status));
        str_append(b, str_is_empty(c->reason) ? "" : ": ");
        text(b, str_nonnull(c->reason));
        str_append(b, str_is_empty(c->message) ? "" : ", ");
        text(b, str_nonnull(c->message));
        str_append(b, "</dd>\n");
    }
    str_append(b, "</dl>\n");
}

static void one_service(struct str_buf *b, const struct status_view *v,
                        const struct status_filter *f)
{
    str_append(b, "<p><a href=\"?\">All Services</a></p>\n<h2>Service ");
    name(b, f->service);
    str_append(b, "</h2>\n");
    for (size_t i = 0; i < v->n_services; i++) {
        const struct status_service *s = &v->services[i];
        if (!status_shows(f, s)) {
            continue;
        }
        facts(b, s, v->now_us);
        status_html_inside(b, v, s);
        str_append(b, "<h2>Pending plan</h2>\n");
        if (*s->row.plan == '\0') {
            str_append(b, "<p>Nothing is pending.</p>\n");
        } else {
            str_append(b, "<pre>");
            text(b, s->row.plan);
            str_append(b, "</pre>\n");
        }
        if (!str_is_empty(s->row.left)) {
            str_append(b, "<h2>Left as it was taken over</h2>\n<pre>");
            text(b, s->row.left);
            str_append(b, "</pre>\n");
        }
        return;
    }
}

/* The reason why nothing is shown. */
static void absent(struct str_buf *b, const struct status_filter *f)
{
    const char *heading = f->not_read ? "Not known yet" : "Not found";
    size_t n = strlen(f->absent);

    str_appendf(b, "<p><a href=\"?\">All Services</a></p>\n<h2>%s</h2>\n<p>", heading);
    text(b, f->absent);
    str_append(b, n > 0 && f->absent[n - 1] == '?' ? "</p>\n" : ".</p>\n");
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void work(struct str_buf *b, const struct status_view *v)
{
    str_appendf(b,
                "<h2>Work</h2>\n<p>Queue: %zu in line, %zu being processed, %zu at a later moment."
                "</p>\n",
                v->queue.waiting, v->queue.processing, v->queue.delayed);
    if (v->at_rest) {
        str_append(b, "<p>");
        status_rest(b, v);
        str_append(b, "</p>\n");
    }
    for (size_t i = 0; i < v->n_batches; i++) {
        const struct board_batch *g = &v->batches[i];
        str_appendf(b, "<p>%s of %zu Service%s", *g->batch_key == '\0' ? "A sync" : "A batch", g->n,
                    g->n == 1 ? "" : "s");
        if (*g->batch_key != '\0') {
            str_append(b, " (");
            text(b, g->batch_key);
            str_append_c(b, ')');
        }
        str_append(b, " has run for ");
        status_span(b, v->now_us - g->began_us);
        str_append(b, ".</p>\n");
    }
    for (size_t i = 0; i < v->n_budgets; i++) {
        const struct status_budget *g = &v->budgets[i];
        str_append(b, "<p>API ");
        text(b, g->api);
        if (*g->kind != '\0') {
            str_append(b, ", ");
            text(b, g->kind);
            str_appendf(b,
                        ": %" PRIu64 " waited for their turn, %" PRIu64
                        " throttled; at most %.3g per second now.</p>\n",
                        g->held, g->throttled, g->qps);
            continue;
        }
        str_appendf(b, ": %" PRIu64 " requests, %" PRIu64 " of them throttled", g->requests,
                    g->throttled);
        if (g->qps > 0) {
            str_appendf(b, "; at most %g per second, %d at once", g->qps, g->burst);
        }
        str_append(b, ".</p>\n");
    }
}

void status_html(struct str_buf *b, const struct status_view *v, const struct status_filter *f)
{
    head(b, v, f);
    if (f->absent != NULL) {
        absent(b, f);
    } else if (f->service != NULL) {
        one_service(b, v, f);
    } else {
        services(b, v, f);
        work(b, v);
    }
    str_append(b, "</body></html>\n");
}
