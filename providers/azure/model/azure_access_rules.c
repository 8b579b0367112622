/* SPDX-License-Identifier: Apache-2.0 */
/* azure_access_rules.c: who may reach a Service (azure_access_rules.h).
 *
 * Texts of events are those of the Go controller (docs/spec/azure.md 9.3), which emits them on the
 * wrong path; the caller emits them when it ensures (17 row 5).  Pure. */
#include "providers/azure/model/azure_access_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/azure/model/azure_text.h"

#define ALLOWED_RANGES "azure-allowed-ip-ranges"
#define SOURCE_RANGES  "load-balancer-source-ranges"
#define SERVICE_TAGS   "azure-allowed-service-tags"
#define ADDITIONAL_IPS "azure-additional-public-ips"
#define DENY_ALL       "azure-deny-all-except-load-balancer-source-ranges"
#define MAX_FINDINGS   8

const char *azure_protocol_text(enum azure_protocol p)
{
    static const char *const texts[AZURE_PROTOCOLS] = {"Tcp", "Udp", "*"};
    return texts[p];
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The trimmed items of a comma list; none when the annotation is absent or blank. */
static struct azure_texts list_items(struct arena *a, const struct tt_service *s, const char *name)
{
    const char *value = azure_annotation(s, name);
    if (value == NULL || *str_trim_unicode(a, value) == '\0') {
        return (struct azure_texts){0};
    }
    size_t n;
    char **items = str_split(a, value, ',', &n);
    for (size_t i = 0; i < n; i++) {
        items[i] = str_trim_unicode(a, items[i]);
    }
    return (struct azure_texts){.items = (const char *const *)items, .n = n};
}

static void parse_ranges(struct arena *a, struct azure_texts in, struct azure_prefixes *ret_good,
                         struct azure_texts *ret_bad)
{
    struct ip_net *good = ARENA_ARRAY(a, struct ip_net, in.n);
    const char **bad = ARENA_ARRAY(a, const char *, in.n);
    *ret_good = (struct azure_prefixes){.items = good};
    *ret_bad = (struct azure_texts){.items = bad};
    for (size_t i = 0; i < in.n; i++) {
        if (azure_prefix_parse(in.items[i], &good[ret_good->n])) {
            ret_good->n++;
        } else {
            bad[ret_bad->n++] = in.items[i];
        }
    }
}

static struct azure_texts spec_ranges(struct arena *a, const struct tt_service *s)
{
    const char **items = ARENA_ARRAY(a, const char *, s->n_source_ranges);
    for (uint32_t i = 0; i < s->n_source_ranges; i++) {
        items[i] = str_trim_unicode(a, s->source_ranges[i]);
    }
    return (struct azure_texts){.items = items, .n = s->n_source_ranges};
}

static struct azure_texts joined(struct arena *a, struct azure_texts x, struct azure_texts y)
{
    const char **items = ARENA_ARRAY(a, const char *, x.n + y.n);
    for (size_t i = 0; i < x.n + y.n; i++) {
        items[i] = i < x.n ? x.items[i] : y.items[i - x.n];
    }
    return (struct azure_texts){.items = items, .n = x.n + y.n};
}

static void read_additional(struct arena *a, struct azure_access *x)
{
    struct azure_texts in = list_items(a, x->service->in, ADDITIONAL_IPS);
    const char **items = ARENA_ARRAY(a, const char *, in.n);
    for (size_t i = 0; i < in.n; i++) {
        items[i] = azure_addr_canonical(a, in.items[i]);
        if (items[i] == NULL) {
            x->bad_additional = in.items[i];
            return; /* all or none: half a list would open half of what is meant */
        }
    }
    x->additional = (struct azure_texts){.items = items, .n = in.n};
}

/* ---- ports ----------------------------------------------------------------------------------- */

static bool protocol_of(const char *kubernetes, enum azure_protocol *ret)
{
    static const struct {
        const char *kubernetes;
        enum azure_protocol azure;
    } rows[] = {{"TCP", AZURE_TCP}, {"UDP", AZURE_UDP}, {"SCTP", AZURE_ANY}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(kubernetes, rows[i].kubernetes)) {
            *ret = rows[i].azure;
            return true;
        }
    }
    return false;
}

static void read_ports(struct arena *a, struct azure_access *x)
{
    const struct tt_service *s = x->service->in;
    int32_t *ports[AZURE_PROTOCOLS];
    for (int p = 0; p < AZURE_PROTOCOLS; p++) {
        ports[p] = ARENA_ARRAY(a, int32_t, s->n_ports);
        x->ports[p].items = ports[p];
    }
    for (uint32_t i = 0; i < s->n_ports; i++) {
        enum azure_protocol p;
        if (!protocol_of(s->ports[i].protocol, &p)) {
            x->bad_protocol = x->bad_protocol == NULL ? s->ports[i].protocol : x->bad_protocol;
            continue;
        }
        ports[p][x->ports[p].n++] =
            x->service->disable_floating_ip ? s->ports[i].node_port : s->ports[i].port;
    }
}

/* ---- findings -------------------------------------------------------------------------------- */

static void add_finding(struct azure_access *x, struct azure_finding *findings,
                        struct azure_finding f)
{
    findings[x->n_findings++] = f;
}

/* `where ["a" "b"]`, as Go prints a list of quoted texts. */
static const char *ranges_message(struct arena *a, const char *where, const struct azure_texts *bad)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_appendf(&b, "Found invalid %s [", where);
    for (size_t i = 0; i < bad->n; i++) {
        str_append(&b, i > 0 ? " " : "");
        str_append_go_quoted(&b, bad->items[i]);
    }
    str_append(&b, "], ignoring and adding a default DenyAll rule in security group.");
    return str_buf_to_arena(&b, a);
}

static bool has_empty(const struct azure_texts *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (*t->items[i] == '\0') {
            return true;
        }
    }
    return false;
}

static void find_fatal(struct arena *a, struct azure_access *x, struct azure_finding *findings)
{
    if (x->source_ranges.n > 0 && x->allowed_ranges.n > 0) {
        add_finding(
            x, findings,
            (struct azure_finding){"ConflictConfiguration",
                                   "cannot set both spec.LoadBalancerSourceRanges and service "
                                   "annotation " AZURE_ANNOTATION_PREFIX ALLOWED_RANGES,
                                   true});
    }
    if (x->bad_protocol != NULL) {
        add_finding(x, findings,
                    (struct azure_finding){
                        "InvalidPort",
                        arena_printf(a, "spec.ports: unsupported protocol %s", x->bad_protocol),
                        true});
    }
    if (x->bad_additional != NULL) {
        add_finding(x, findings,
                    (struct azure_finding){
                        "InvalidAnnotation",
                        arena_printf(a, "annotation %s%s: \"%s\" is not an IP address",
                                     AZURE_ANNOTATION_PREFIX, ADDITIONAL_IPS, x->bad_additional),
                        true});
    }
    if (has_empty(&x->tags) && !x->service->disable_nsg_rule) {
        add_finding(
            x, findings,
            (struct azure_finding){"InvalidAnnotation",
                                   "annotation " AZURE_ANNOTATION_PREFIX SERVICE_TAGS
                                   " has an empty item between its commas, which Azure refuses",
                                   true});
    }
}

static void find_doubtful(struct arena *a, struct azure_access *x, struct azure_finding *findings)
{
    if (x->bad_source_ranges.n > 0) {
        add_finding(x, findings,
                    (struct azure_finding){
                        "InvalidSourceRanges",
                        ranges_message(a, "spec.LoadBalancerSourceRanges", &x->bad_source_ranges),
                        false});
    }
    if (x->bad_allowed_ranges.n > 0) {
        add_finding(x, findings,
                    (struct azure_finding){"InvalidAllowedIPRanges",
                                           ranges_message(a, AZURE_ANNOTATION_PREFIX ALLOWED_RANGES,
                                                          &x->bad_allowed_ranges),
                                           false});
    }
    if (x->source_ranges.n > 0 && x->tags.n > 0) {
        add_finding(
            x, findings,
            (struct azure_finding){
                "ConflictConfiguration",
                "Please use annotation " AZURE_ANNOTATION_PREFIX ALLOWED_RANGES
                " instead of spec.loadBalancerSourceRanges while using " AZURE_ANNOTATION_PREFIX
                    SERVICE_TAGS " annotation at the same time.",
                false});
    }
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool allows_internet(const struct azure_access *x)
{
    size_t n_ranges = x->source_ranges.n + x->allowed_ranges.n;
    if (x->tags.n > 0 || x->bad_source_ranges.n > 0 || x->bad_allowed_ranges.n > 0) {
        return false;
    }
    if (x->source_ranges.n > 0 && !azure_prefixes_allow_all(&x->source_ranges)) {
        return false;
    }
    if (x->allowed_ranges.n > 0 && !azure_prefixes_allow_all(&x->allowed_ranges)) {
        return false;
    }
    return !x->service->internal || n_ranges > 0;
}

const struct azure_access *azure_access_read(struct arena *a, const struct azure_service *s)
{
    struct azure_access *x = ARENA_NEW(a, struct azure_access);
    struct azure_finding *findings = ARENA_ARRAY(a, struct azure_finding, MAX_FINDINGS);
    *x = (struct azure_access){.service = s, .findings = findings};
    parse_ranges(a, spec_ranges(a, s->in), &x->source_ranges, &x->bad_source_ranges);
    parse_ranges(
        a, joined(a, list_items(a, s->in, ALLOWED_RANGES), list_items(a, s->in, SOURCE_RANGES)),
        &x->allowed_ranges, &x->bad_allowed_ranges);
    x->tags = list_items(a, s->in, SERVICE_TAGS);
    read_additional(a, x);
    read_ports(a, x);
    x->allow_internet = allows_internet(x);
    bool some_range = x->source_ranges.n + x->allowed_ranges.n > 0;
    x->deny_all = (azure_text_true(azure_annotation(s->in, DENY_ALL)) && some_range) ||
                  x->bad_source_ranges.n + x->bad_allowed_ranges.n > 0;
    find_fatal(a, x, findings);
    find_doubtful(a, x, findings);
    return x;
}

int azure_access_check(const struct azure_access *x, struct err *err)
{
    for (size_t i = 0; i < x->n_findings; i++) {
        if (x->findings[i].fatal) {
            return err_set(err, ERR_INVALID, "%s", x->findings[i].message);
        }
    }
    return ERR_OK;
}

int azure_access_check_sources(const struct azure_access *x, struct err *err)
{
    bool refused = (x->source_ranges.n > 0 && x->allowed_ranges.n > 0) || x->bad_protocol != NULL;
    return refused ? azure_access_check(x, err) : ERR_OK;
}

int azure_access_check_rules(const struct azure_access *x, struct err *err)
{
    int rc = azure_access_check_sources(x, err);
    return rc == ERR_OK && x->bad_additional != NULL ? azure_access_check(x, err) : rc;
}

struct azure_prefixes azure_access_prefixes(struct arena *a, const struct azure_access *x)
{
    size_t n = x->source_ranges.n + x->allowed_ranges.n;
    struct ip_net *all = ARENA_ARRAY(a, struct ip_net, n);
    for (size_t i = 0; i < n; i++) {
        all[i] = i < x->source_ranges.n ? x->source_ranges.items[i]
                                        : x->allowed_ranges.items[i - x->source_ranges.n];
    }
    struct azure_prefixes both = {.items = all, .n = n};
    return azure_prefixes_aggregate(a, &both);
}

struct str_set azure_access_ports(struct arena *a, const struct azure_access *x,
                                  enum azure_protocol p)
{
    const char **texts = ARENA_ARRAY(a, const char *, x->ports[p].n);
    for (size_t i = 0; i < x->ports[p].n; i++) {
        texts[i] = arena_printf(a, "%d", x->ports[p].items[i]);
    }
    return str_set_make(a, texts, x->ports[p].n);
}
