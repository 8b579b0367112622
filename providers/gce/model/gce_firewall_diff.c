/* SPDX-License-Identifier: Apache-2.0 */
/* gce_firewall_diff.c: see gce_firewall_diff.h. */
#include "providers/gce/model/gce_firewall_diff.h"

#include "common/base/ip.h"
#include "common/base/str.h"

#include <stdlib.h>
#include <string.h>

/* Go's strconv.Atoi on digits with an optional sign. */
static bool parse_number(const char *s, int64_t *ret)
{
    const char *digits = *s == '+' || *s == '-' ? s + 1 : s;
    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits)) {
        return false;
    }
    int64_t v;
    if (!str_to_i64(*s == '+' ? digits : s, &v)) {
        return false;
    }
    *ret = v;
    return true;
}

int gce_firewall_port_parse(struct arena *a, const char *port, int64_t *ret_first,
                            int64_t *ret_last, struct err *err)
{
    size_t n;
    char **parts = str_split(a, port, '-', &n);
    int64_t first;
    int64_t last;
    if (n > 2) {
        return err_set(err, ERR_INVALID,
                       "unexpected port format \"%s\", expected a single port number or a range",
                       port);
    }
    if (!parse_number(parts[0], &first) || !parse_number(parts[n - 1], &last)) {
        return err_set(err, ERR_INVALID, "port \"%s\" is not a number", port);
    }
    *ret_first = first;
    *ret_last = last;
    return ERR_OK;
}

/* CIDRs as the set of their normal forms; false when one does not parse. */
static bool cidr_set(struct arena *a, const struct gce_strs *s, struct str_set *ret)
{
    const char **out = ARENA_ARRAY(a, const char *, s->n);
    for (size_t i = 0; i < s->n; i++) {
        struct ip_net net;
        char text[IP_TEXT_MAX];
        if (!ip_net_parse_sloppy(str_trim_unicode(a, s->items[i]), &net)) {
            return false;
        }
        ip_net_format(&net, text);
        out[i] = arena_strdup(a, text);
    }
    *ret = str_set_make(a, out, s->n);
    return true;
}

static bool destinations_differ(const struct gce_firewall *x, const struct gce_firewall *y)
{
    if (x->destinations.n != y->destinations.n) {
        return true;
    }
    for (size_t i = 0; i < x->destinations.n; i++) {
        if (!str_eq(x->destinations.items[i], y->destinations.items[i])) {
            return true;
        }
    }
    return false;
}

bool gce_firewall_traffic_differs(struct arena *a, const struct gce_firewall *found,
                                  const struct gce_firewall *wanted,
                                  const struct gce_strs *plain_ports)
{
    if (!str_eq(found->description, wanted->description) || found->allowed.n != 1) {
        return true;
    }
    const struct gce_allow *has = &found->allowed.items[0];
    if (!str_eq(has->protocol, "tcp") && !str_eq(has->protocol, "udp")) {
        return true;
    }
    if (!gce_strs_same(a, &has->ports, plain_ports) &&
        !gce_strs_same(a, &has->ports, &wanted->allowed.items[0].ports)) {
        return true;
    }
    struct str_set now;
    struct str_set then;
    if (!cidr_set(a, &found->sources, &now) || !cidr_set(a, &wanted->sources, &then) ||
        !str_set_eq(&now, &then)) {
        return true;
    }
    return destinations_differ(found, wanted) || found->priority != wanted->priority;
}

bool gce_firewall_protocol_differs(const struct gce_firewall *found,
                                   const struct gce_firewall *wanted)
{
    return found->allowed.n == 1 && wanted->allowed.n == 1 &&
           !str_eq(found->allowed.items[0].protocol, wanted->allowed.items[0].protocol);
}

const char *gce_firewall_priority_why(int32_t is, int32_t want)
{
    if (want == 0 || is == want) {
        return NULL;
    }
    if (want == GCE_PRIORITY_ABOVE_DENY) {
        return "allow rules come before the deny rule";
    }
    return is == GCE_PRIORITY_ABOVE_DENY ? "the deny firewall is switched off"
                                         : "its priority is another one";
}

bool gce_firewall_tags_differ(struct arena *a, const struct gce_firewall *found,
                              const struct gce_firewall *wanted)
{
    struct str_set now = gce_strs_set(a, &found->tags);
    struct str_set then = gce_strs_set(a, &wanted->tags);
    return then.n > 0 && !str_set_eq(&now, &then);
}

bool gce_firewall_check_differs(struct arena *a, const struct gce_firewall *found,
                                const struct gce_firewall *wanted)
{
    if (!str_eq(found->description, wanted->description) || found->allowed.n != 1) {
        return true;
    }
    const struct gce_allow *has = &found->allowed.items[0];
    const struct gce_allow *want = &wanted->allowed.items[0];
    return !str_eq(has->protocol, want->protocol) || !gce_strs_same(a, &has->ports, &want->ports) ||
           !gce_strs_same(a, &found->sources, &wanted->sources) ||
           found->priority != wanted->priority;
}

/* ---- the full comparison --------------------------------------------------------------------- */

/* Ports from `first` to `last` of a protocol.  Each entry has one with no ports at all, too
 * (-1…-1): an entry without ports is not the same as no entry. */
struct span {
    const char *protocol; /* upper case */
    int64_t first;
    int64_t last;
};

static int compare_spans(const void *x, const void *y)
{
    const struct span *a = x;
    const struct span *b = y;
    int by_protocol = strcmp(a->protocol, b->protocol);
    return by_protocol != 0 ? by_protocol : (a->first > b->first) - (a->first < b->first);
}

/* Sorts, and joins what overlaps or touches: equal sets of ports have equal spans then. */
static size_t merge_spans(struct span *spans, size_t n)
{
    size_t k = 0;
    qsort(spans, n, sizeof(*spans), compare_spans);
    for (size_t i = 0; i < n; i++) {
        struct span *top = k > 0 ? &spans[k - 1] : NULL;
        bool bare = spans[i].first < 0;
        if (top == NULL || !str_eq(top->protocol, spans[i].protocol) || (top->first < 0) != bare ||
            (!bare && spans[i].first - 1 > top->last)) {
            spans[k++] = spans[i];
        } else if (spans[i].last > top->last) {
            top->last = spans[i].last;
        }
    }
    return k;
}

static int read_spans(struct arena *a, const struct gce_allows *w, struct span **ret, size_t *ret_n,
                      struct err *err)
{
    size_t cap = 0;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        cap += w->items[i].ports.n + 1;
    }
    struct span *spans = ARENA_ARRAY(a, struct span, cap);
    for (size_t i = 0; i < w->n; i++) {
        const struct gce_strs *ports = &w->items[i].ports;
        const char *protocol = str_upper(a, w->items[i].protocol);
        spans[n++] = (struct span){.protocol = protocol, .first = -1, .last = -1};
        for (size_t k = 0; k < ports->n; k++) {
            struct span s = {.protocol = protocol};
            int rc = gce_firewall_port_parse(a, ports->items[k], &s.first, &s.last, err);
            if (rc != ERR_OK) {
                return rc;
            }
            if (s.first <= s.last) {
                spans[n++] = s;
            }
        }
    }
    *ret_n = merge_spans(spans, n);
    *ret = spans;
    return ERR_OK;
}

static int allows_equal(struct arena *a, const struct gce_allows *x, const struct gce_allows *y,
                        bool *ret, struct err *err)
{
    struct span *sx;
    struct span *sy;
    size_t nx;
    size_t ny;
    int rc = read_spans(a, x, &sx, &nx, err);
    if (rc == ERR_OK) {
        rc = read_spans(a, y, &sy, &ny, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    *ret = nx == ny;
    for (size_t i = 0; *ret && i < nx; i++) {
        *ret = compare_spans(&sx[i], &sy[i]) == 0 && sx[i].last == sy[i].last;
    }
    return ERR_OK;
}

int gce_firewall_traffic_equal(struct arena *a, const struct gce_firewall *x,
                               const struct gce_firewall *y, bool *ret, struct err *err)
{
    int rc = allows_equal(a, &x->allowed, &y->allowed, ret, err);
    if (rc != ERR_OK || !*ret) {
        return rc;
    }
    return allows_equal(a, &x->denied, &y->denied, ret, err);
}

bool gce_firewall_serves_both(struct arena *a, const struct gce_firewall *found,
                              const struct gce_firewall *wanted)
{
    bool same = false;
    bool priority = wanted->priority == 0 || found->priority == wanted->priority;
    return found->destinations.n > 0 && priority &&
           gce_firewall_traffic_equal(a, found, wanted, &same, NULL) == ERR_OK && same;
}

int gce_firewall_equal(struct arena *a, const struct gce_firewall *x, const struct gce_firewall *y,
                       bool *ret, struct err *err)
{
    struct str_set sx;
    struct str_set sy;
    if (!cidr_set(a, &x->sources, &sx) || !cidr_set(a, &y->sources, &sy)) {
        return err_set(err, ERR_INVALID, "firewall %s: a source range is no CIDR", x->name);
    }
    *ret = str_set_eq(&sx, &sy);
    int rc = *ret ? gce_firewall_traffic_equal(a, x, y, ret, err) : ERR_OK;
    *ret = *ret && x->priority == y->priority && !destinations_differ(x, y) &&
           str_eq(x->description, y->description);
    return rc;
}

/* ---- for people ------------------------------------------------------------------------------ */

static struct str_set allow_texts(struct arena *a, const struct gce_allows *w)
{
    const char **out = ARENA_ARRAY(a, const char *, w->n);
    for (size_t i = 0; i < w->n; i++) {
        const char *ports = str_join(a, w->items[i].ports.items, w->items[i].ports.n, ",");
        out[i] = *ports == '\0' ? w->items[i].protocol
                                : arena_printf(a, "%s:%s", w->items[i].protocol, ports);
    }
    return str_set_make(a, out, w->n);
}

static void set_field(struct lb_diff *d, const char *path, struct str_set now, struct str_set then)
{
    (void)lb_diff_set(d, path, &now, &then);
}

void gce_firewall_fields(struct lb_diff *d, const struct gce_firewall *found,
                         const struct gce_firewall *wanted)
{
    struct arena *a = d->a;
    (void)lb_diff_text(d, "description", found->description, wanted->description);
    set_field(d, "sourceRanges", gce_strs_set(a, &found->sources),
              gce_strs_set(a, &wanted->sources));
    set_field(d, "destinationRanges", gce_strs_set(a, &found->destinations),
              gce_strs_set(a, &wanted->destinations));
    set_field(d, "allowed", allow_texts(a, &found->allowed), allow_texts(a, &wanted->allowed));
    set_field(d, "denied", allow_texts(a, &found->denied), allow_texts(a, &wanted->denied));
    set_field(d, "targetTags", gce_strs_set(a, &found->tags), gce_strs_set(a, &wanted->tags));
    (void)lb_diff_int(d, "priority", found->priority, wanted->priority);
}

/* ---- health checks --------------------------------------------------------------------------- */

struct gce_check gce_check_default(const char *name, const char *description, const char *path,
                                   int32_t port)
{
    return (struct gce_check){
        .name = name,
        .description = description,
        .host = "",
        .path = path,
        .port = port,
        .interval_s = 8,
        .timeout_s = 1,
        .healthy = 1,
        .unhealthy = 3,
    };
}

bool gce_check_differs(const struct gce_check *found, const struct gce_check *wanted)
{
    return found->port != wanted->port || !str_eq(found->path, wanted->path) ||
           !str_eq(found->description, wanted->description) ||
           found->interval_s < wanted->interval_s || found->timeout_s < wanted->timeout_s ||
           found->healthy < wanted->healthy || found->unhealthy < wanted->unhealthy;
}

static int32_t larger(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

struct gce_check gce_check_merge(const struct gce_check *found, const struct gce_check *wanted)
{
    struct gce_check c = *wanted;
    c.interval_s = larger(c.interval_s, found->interval_s);
    c.timeout_s = larger(c.timeout_s, found->timeout_s);
    c.healthy = larger(c.healthy, found->healthy);
    c.unhealthy = larger(c.unhealthy, found->unhealthy);
    return c;
}

void gce_check_fields(struct lb_diff *d, const struct gce_check *found,
                      const struct gce_check *wanted)
{
    (void)lb_diff_text(d, "description", found->description, wanted->description);
    (void)lb_diff_int(d, "port", found->port, wanted->port);
    (void)lb_diff_text(d, "requestPath", found->path, wanted->path);
    (void)lb_diff_int(d, "checkIntervalSec", found->interval_s, wanted->interval_s);
    (void)lb_diff_int(d, "timeoutSec", found->timeout_s, wanted->timeout_s);
    (void)lb_diff_int(d, "healthyThreshold", found->healthy, wanted->healthy);
    (void)lb_diff_int(d, "unhealthyThreshold", found->unhealthy, wanted->unhealthy);
}
