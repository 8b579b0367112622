/* SPDX-License-Identifier: Apache-2.0 */
/* event_stable.c: see event_stable.h.
 *
 * One pass: at each byte a list of matchers is asked for a piece that begins there.  The forms are
 * those of Azure Resource Manager and Entra ID, of AWS's query APIs and SDKs, and of Compute. */
#include "controller/kube/events/event_stable.h"

#include <ctype.h>
#include <string.h>

#include "common/base/str.h"

#define HIDDEN      "…"
#define UUID_BYTES  36
#define EPOCH_BYTES 10 /* digits of a moment in seconds, at least */

struct scan {
    const char *text;
    const char *at;
    struct str_buf out;
};
/* A piece of the text; n 0: none. */
struct piece {
    size_t n;
    size_t keep; /* its first bytes that stay */
    bool hide;   /* the rest becomes "…"; else the whole piece goes */
    bool quoted; /* a quote before it goes, too: "trace_id":"1" */
};

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

static bool begins_word(const struct scan *s)
{
    return s->at == s->text || !isalnum((unsigned char)s->at[-1]);
}

/* Does the text before `s->at` end so? */
static bool follows(const struct scan *s, const char *before)
{
    size_t n = strlen(before);
    return (size_t)(s->at - s->text) >= n && strncmp(s->at - n, before, n) == 0;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* Bytes at `at` that have the form: '0' is a digit, all else itself; 0: they do not. */
static size_t has_form(const char *at, const char *form)
{
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool ok = form[i] == '0' ? isdigit((unsigned char)at[i]) != 0 : at[i] == form[i];
        if (!ok) {
            return 0;
        }
    }
    return strlen(form);
}

/* ".123456", "Z", "+01:00", " UTC" behind a time. */
static size_t zone_at(const char *at)
{
    size_t n = at[0] == '.' && digits(at + 1) > 0 ? 1 + digits(at + 1) : 0;
    const char *zone = at + n;
    size_t offset = 0;
    if (*zone == '+' || *zone == '-') {
        offset = has_form(zone + 1, "00:00");
        offset = offset > 0 ? offset : has_form(zone + 1, "0000");
    }
    if (*zone == 'Z') {
        return n + 1;
    }
    if (str_has_prefix(zone, " UTC")) {
        return n + strlen(" UTC");
    }
    return n + (offset > 0 ? 1 + offset : 0);
}

/* "2026-11-28T17:00:00.12Z", "2026-11-28 17:00:00Z". */
static size_t iso_at(const char *at)
{
    size_t n = has_form(at, "0000-00-00T00:00:00");
    n = n > 0 ? n : has_form(at, "0000-00-00 00:00:00");
    return n > 0 ? n + zone_at(at + n) : 0;
}

/* "4/17/2026 10:31:45 PM" */
static size_t us_at(const char *at)
{
    size_t month = digits(at);
    size_t day = month >= 1 && month <= 2 && at[month] == '/' ? digits(at + month + 1) : 0;
    size_t n = month + 1 + day;
    if (day < 1 || day > 2 || has_form(at + n, "/0000 ") == 0) {
        return 0;
    }
    n += strlen("/0000 ");
    size_t hour = digits(at + n);
    if (hour < 1 || hour > 2 || has_form(at + n + hour, ":00:00") == 0) {
        return 0;
    }
    n += hour + strlen(":00:00");
    bool half = str_has_prefix(at + n, " AM") || str_has_prefix(at + n, " PM");
    return n + (half ? strlen(" AM") : 0);
}

static size_t time_at(const char *at)
{
    size_t n = iso_at(at);
    n = n > 0 ? n : has_form(at, "00000000T000000Z");
    return n > 0 ? n : us_at(at);
}

static struct piece moment(const struct scan *s)
{
    size_t n = begins_word(s) ? time_at(s->at) : 0;
    if (n == 0 && (follows(s, "date/time ") || follows(s, " issued at ")) &&
        digits(s->at) >= EPOCH_BYTES) {
        n = digits(s->at);
    }
    return (struct piece){.n = n, .hide = true};
}

/* ---- labels and their values ----------------------------------------------------------------- */

/* A blank also stands for "-", "_" and nothing; letters for both cases. */
static const char *const labels[] = {
    "x ms correlation request id",
    "x ms client request id",
    "x ms request id",
    "x amzn request id",
    "x amz request id",
    "request correlation id",
    "correlation request id",
    "client request id",
    "request id",
    "host id",
    "trace id",
    "correlation id",
    "activity id",
    "tracking id",
    "operation id",
    "op id",
    "timestamp",
    "measured request count",
    "encoded authorization failure message",
};

static size_t label_at(const char *at, const char *label)
{
    const char *p = at;
    for (const char *l = label; *l != '\0'; l++) {
        if (*l == ' ') {
            p += *p == ' ' || *p == '-' || *p == '_';
        } else if (tolower((unsigned char)*p) == *l) {
            p++;
        } else {
            return 0;
        }
    }
    return (size_t)(p - at);
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

/* A value behind `at`: a quoted one, a moment, or a word without its full stop. */
static size_t value_at(const char *at)
{
    if (is_quote(*at)) {
        const char *end = strchr(at + 1, *at);
        return end != NULL ? (size_t)(end - at) + 1 : 0;
    }
    size_t n = time_at(at);
    n = n > 0 ? n : strcspn(at, " ,;)}]");
    while (n > 0 && at[n - 1] == '.') {
        n--;
    }
    return n;
}

/* Bytes that join a label to its value: ": ", "=", or a blank before a quote; 0: nothing does. */
static size_t joint_at(const char *at)
{
    size_t n = strspn(at, " ");
    if (at[n] == ':' || at[n] == '=') {
        return n + 1 + strspn(at + n + 1, " ");
    }
    return n > 0 && is_quote(at[n]) ? n : 0;
}

static struct piece label(const struct scan *s)
{
    for (size_t i = 0; begins_word(s) && i < ARRAY_LEN(labels); i++) {
        size_t n = label_at(s->at, labels[i]);
        bool quoted = n > 0 && s->at > s->text && is_quote(s->at[-1]) && s->at[n] == s->at[-1];
        n += quoted;
        size_t joint = n > 0 ? joint_at(s->at + n) : 0;
        size_t value = joint > 0 ? value_at(s->at + n + joint) : 0;
        if (value > 0) {
            return (struct piece){.n = n + joint + value, .quoted = quoted};
        }
    }
    return (struct piece){0};
}

/* ---- names of operations --------------------------------------------------------------------- */

static bool is_uuid(const char *at)
{
    size_t n = strspn(at, "0123456789abcdefABCDEF-");
    return n == UUID_BYTES && at[8] == '-' && at[13] == '-' && at[18] == '-' && at[23] == '-';
}

/* "(request 1a-2b)", "(8bd7f0a4-…)", "(Code: '-123')". */
static struct piece bracket(const struct scan *s)
{
    const char *end = *s->at == '(' ? strchr(s->at, ')') : NULL;
    if (end == NULL) {
        return (struct piece){0};
    }
    bool is =
        is_uuid(s->at + 1) || str_has_prefix(s->at, "(Code: '") ||
        (str_has_prefix(s->at, "(request ") &&
         strcspn(s->at + strlen("(request "), " )") + strlen("(request ") == (size_t)(end - s->at));
    return (struct piece){.n = is ? (size_t)(end - s->at) + 1 : 0};
}

/* "operations/1a", "operation-1713392345-1a": the name goes. */
static struct piece operation(const struct scan *s)
{
    static const char *const starts[] = {"operations/", "operationResults/", "operationStatuses/",
                                         "operation-"};
    for (size_t i = 0; begins_word(s) && i < ARRAY_LEN(starts); i++) {
        size_t keep = strlen(starts[i]);
        if (!str_has_prefix(s->at, starts[i])) {
            continue;
        }
        size_t name = strcspn(s->at + keep, " /?'\",;:()");
        while (name > 0 && s->at[keep + name - 1] == '.') {
            name--;
        }
        const char *digit = strpbrk(s->at + keep, "0123456789");
        if (digit != NULL && digit < s->at + keep + name) {
            return (struct piece){.n = keep + name, .keep = keep, .hide = true};
        }
    }
    return (struct piece){0};
}

/* The number in "after '13' seconds", "in 13 seconds", "after 512 bytes". */
static struct piece span(const struct scan *s)
{
    static const char *const units[] = {" second", " minute", " millisecond", " bytes"};
    size_t n = digits(s->at);
    bool quoted = n > 0 && s->at > s->text && is_quote(s->at[-1]) && s->at[n] == s->at[-1];
    const char *unit = s->at + n + (quoted ? 1 : 0);
    bool behind = quoted ? follows(s, "after '") || follows(s, "in '")
                         : follows(s, "after ") || follows(s, " in ");
    for (size_t i = 0; n > 0 && behind && i < ARRAY_LEN(units); i++) {
        if (str_has_prefix(unit, units[i])) {
            return (struct piece){.n = n, .hide = true};
        }
    }
    return (struct piece){0};
}

/* ---- the pass -------------------------------------------------------------------------------- */

static struct piece piece_at(const struct scan *s)
{
    static struct piece (*const matchers[])(const struct scan *) = {bracket, label, operation,
                                                                    moment, span};
    for (size_t i = 0; i < ARRAY_LEN(matchers); i++) {
        struct piece p = matchers[i](s);
        if (p.n > 0) {
            return p;
        }
    }
    return (struct piece){0};
}

static char last_of(const struct str_buf *b)
{
    return b->len > 0 ? b->data[b->len - 1] : '\0';
}

static void drop_last(struct str_buf *b)
{
    b->data[--b->len] = '\0';
}

/* Removes what a piece leaves behind: the quote, the blanks and a comma beside it, and
 * brackets around nothing. */
static void close_gap(struct scan *s, bool quoted)
{
    if (quoted && is_quote(last_of(&s->out))) {
        drop_last(&s->out);
    }
    while (last_of(&s->out) == ' ') {
        drop_last(&s->out);
    }
    if (last_of(&s->out) == '(' && *s->at == ')') {
        drop_last(&s->out);
        s->at++;
        while (last_of(&s->out) == ' ') {
            drop_last(&s->out);
        }
    }
    char last = last_of(&s->out);
    if ((last == ':' || last == '(' || last == '{') && (*s->at == ',' || *s->at == ';')) {
        s->at++;
    }
    bool comma = last == ',' || last == ';';
    if (comma && (*s->at == '\0' || strchr(",;)}", *s->at) != NULL)) {
        drop_last(&s->out);
    }
}

static void take(struct scan *s, const struct piece *p)
{
    if (p->hide) {
        str_append_n(&s->out, s->at, p->keep);
        str_append(&s->out, HIDDEN);
    }
    s->at += p->n;
    if (!p->hide) {
        close_gap(s, p->quoted);
    }
}

const char *event_stable(struct arena *a, const char *text)
{
    struct scan s = {.text = text, .at = text, .out = STR_BUF_INIT};
    bool changed = false;

    while (*s.at != '\0') {
        const struct piece p = piece_at(&s);
        if (p.n > 0) {
            changed = true;
            take(&s, &p);
        } else {
            str_append_c(&s.out, *s.at++);
        }
    }
    const char *ret = changed ? str_buf_to_arena(&s.out, a) : text;
    str_buf_done(&s.out);
    return ret;
}
