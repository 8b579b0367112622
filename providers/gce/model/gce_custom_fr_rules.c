/* SPDX-License-Identifier: Apache-2.0 */
/* gce_custom_fr_rules.c: see gce_custom_fr_rules.h. */
#include "providers/gce/model/gce_custom_fr_rules.h"

#include "common/base/ip.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/net/url_build.h"

#include <string.h>

#define IPS_OF_RULE_MAX 2

/* ---- references ------------------------------------------------------------------------------ */

/* Characters of names in API paths; others could be more than a name. */
static bool is_word(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-.:";
    return url_segment_fault(text) == NULL && text[strspn(text, allowed)] == '\0';
}

/* A link is to a forwarding rule of a region, or to a global one. */
static bool ref_of(struct arena *a, const char *text, const char *project, const char *region,
                   struct gce_custom_ref *ret)
{
    *ret = (struct gce_custom_ref){.text = text};
    if (strchr(text, '/') == NULL) {
        ret->link = (struct gce_link){.project = project,
                                      .resource = "forwardingRules",
                                      .name = text,
                                      .zone = "",
                                      .region = region};
        return is_word(text);
    }
    if (gce_link_parse(a, text, &ret->link, NULL) != ERR_OK ||
        !str_eq(ret->link.resource, "forwardingRules") || *ret->link.zone != '\0') {
        return false;
    }
    const struct gce_link *l = &ret->link;
    ret->link.project = str_or(l->project, project);
    return is_word(l->name) && is_word(l->project) && (*l->region == '\0' || is_word(l->region));
}

void gce_custom_refs_parse(struct arena *a, const char *annotation, const char *project,
                           const char *region, struct gce_custom_refs *ret)
{
    size_t n = 0;
    char **parts = str_split(a, str_nonnull(annotation), ',', &n);
    const char **texts = ARENA_ARRAY(a, const char *, n);
    size_t n_texts = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = str_trim(a, parts[i]);
        if (*text != '\0') {
            texts[n_texts++] = text;
        }
    }
    struct str_set set = str_set_make(a, texts, n_texts);
    *ret = (struct gce_custom_refs){
        .items = ARENA_ARRAY(a, struct gce_custom_ref, set.n),
        .bad = {.items = ARENA_ARRAY(a, const char *, set.n)},
        .surplus = {.items = ARENA_ARRAY(a, const char *, set.n)},
    };
    for (size_t i = 0; i < set.n; i++) {
        struct gce_custom_ref one;
        if (!ref_of(a, set.items[i], project, region, &one)) {
            ret->bad.items[ret->bad.n++] = set.items[i];
        } else if (ret->n == GCE_CUSTOM_FR_MAX) {
            ret->surplus.items[ret->surplus.n++] = set.items[i];
        } else {
            ret->items[ret->n++] = one;
        }
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

void gce_custom_rule_take(struct arena *a, struct json_object *rule, struct gce_custom_seen *ret)
{
    struct json_object *several = json_member(rule, "IPAddresses");
    const char *one = json_str(rule, "IPAddress");
    size_t n = json_len(several);
    ret->scheme = arena_strdup(a, str_nonnull(json_str(rule, "loadBalancingScheme")));
    ret->protocol = arena_strdup(a, str_nonnull(json_str(rule, "IPProtocol")));
    ret->backend = arena_strdup(a, str_nonnull(json_str(rule, "backendService")));
    ret->ips = (struct gce_strs){.items = ARENA_ARRAY(a, const char *, n + 1)};
    for (size_t i = 0; i < n; i++) {
        const char *ip = json_object_get_string(json_object_array_get_idx(several, i));
        if (!str_is_empty(ip)) {
            ret->ips.items[ret->ips.n++] = arena_strdup(a, ip);
        }
    }
    if (n == 0 && !str_is_empty(one)) {
        ret->ips.items[ret->ips.n++] = arena_strdup(a, one);
    }
}

void gce_custom_service_take(struct arena *a, struct json_object *service,
                             struct gce_custom_seen *ret)
{
    struct json_object *backends = json_member(service, "backends");
    size_t n = json_len(backends);
    ret->groups = (struct gce_strs){.items = ARENA_ARRAY(a, const char *, n)};
    for (size_t i = 0; i < n; i++) {
        const char *group = json_str(json_object_array_get_idx(backends, i), "group");
        if (!str_is_empty(group)) {
            ret->groups.items[ret->groups.n++] = arena_strdup(a, group);
        }
    }
}

/* ---- one rule -------------------------------------------------------------------------------- */

/* In the order in which upstream asks. */
enum reason {
    PROGRAMMED = 0,
    NO_REF,
    UNSUPPORTED,
    INVALID,
    NOT_ATTACHED,
    PROVIDER,
};
static const struct {
    const char *name;
    const char *message; /* of the condition; NULL: it names the addresses */
} reasons[] = {
    [PROGRAMMED] = {"IPProgrammed", NULL},
    [NO_REF] = {"NoForwardingRuleRef", "Service is missing the custom forwarding rule reference"},
    [UNSUPPORTED] = {"UnsupportedLBType",
                     "The referenced forwarding rule has an unsupported load balancing scheme"},
    [INVALID] = {"InvalidForwardingRule", "The custom forwarding rule reference is invalid"},
    [NOT_ATTACHED] = {"BackendNotAttached",
                      "The service NEGs are not attached to the load balancer backend service"},
    [PROVIDER] = {"ProviderError",
                  "GCE provider error encountered while retrieving forwarding rules"},
};

static bool is_one_of(const char *text, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(text, all[i])) {
            return true;
        }
    }
    return false;
}

static bool scheme_fits(const char *scheme)
{
    static const char *const schemes[] = {"EXTERNAL", "EXTERNAL_PASSTHROUGH"};
    return is_one_of(scheme, schemes, ARRAY_LEN(schemes));
}

static bool protocol_fits(const char *protocol)
{
    static const char *const protocols[] = {"TCP", "UDP", "L3_DEFAULT"};
    return is_one_of(protocol, protocols, ARRAY_LEN(protocols));
}

bool gce_custom_wants_service(const struct gce_custom_seen *s)
{
    return s->rule_err.code == ERR_OK && scheme_fits(s->scheme) && protocol_fits(s->protocol) &&
           s->ips.n <= IPS_OF_RULE_MAX && !str_is_empty(s->backend);
}

/* NEG names hold a digest of cluster, namespace and Service: the name is enough. */
static bool has_neg(struct arena *a, const struct gce_strs *groups, const char *neg)
{
    for (size_t i = 0; i < groups->n; i++) {
        struct gce_link link;
        if (gce_link_parse(a, groups->items[i], &link, NULL) == ERR_OK &&
            str_eq(link.resource, "networkEndpointGroups") && *link.zone != '\0' &&
            str_eq(link.name, neg)) {
            return true;
        }
    }
    return false;
}

/* Meaning of an error of the API: an absent resource is the owner's error. */
static enum reason of_error(const struct err *err)
{
    return err->code == ERR_NOT_FOUND ? INVALID : PROVIDER;
}

/* The rule by itself; *ret_why says what is wrong with it. */
static enum reason judge_rule(struct arena *a, const char *name, const struct gce_custom_seen *s,
                              const char **ret_why)
{
    if (s->rule_err.code != ERR_OK) {
        *ret_why = arena_printf(a, "forwarding rule %s: %s", name, s->rule_err.message);
        return of_error(&s->rule_err);
    }
    if (!scheme_fits(s->scheme)) {
        *ret_why = arena_printf(a,
                                "forwarding rule %s has unsupported load balancing scheme: %s, "
                                "supported schemes are: EXTERNAL, EXTERNAL_PASSTHROUGH",
                                name, s->scheme);
        return UNSUPPORTED;
    }
    if (!protocol_fits(s->protocol)) {
        *ret_why = arena_printf(a,
                                "forwarding rule %s has unsupported protocol: %s, supported "
                                "protocols are: TCP, UDP, L3_DEFAULT",
                                name, s->protocol);
        return INVALID;
    }
    if (s->ips.n > IPS_OF_RULE_MAX) {
        *ret_why = arena_printf(a, "forwarding rule %s has more than 2 IP addresses", name);
        return INVALID;
    }
    return PROGRAMMED;
}

/* Its backend service, and its address. */
static enum reason judge_target(struct arena *a, const char *name, const struct gce_custom_seen *s,
                                const char *neg, const char **ret_why)
{
    if (!s->service_looked) {
        *ret_why = str_is_empty(s->backend)
                       ? arena_printf(a, "forwarding rule %s has no backend service", name)
                       : arena_printf(a, "forwarding rule %s: \"%s\" is no backend service", name,
                                      s->backend);
        return INVALID;
    }
    const char *service = gce_link_last(s->backend);
    if (s->service_err.code != ERR_OK) {
        *ret_why = arena_printf(a, "backend service %s of forwarding rule %s: %s", service, name,
                                s->service_err.message);
        return of_error(&s->service_err);
    }
    if (!has_neg(a, &s->groups, neg)) {
        *ret_why = arena_printf(a,
                                "the service NEGs are not attached to the load balancer (backend "
                                "service: %s)",
                                service);
        return NOT_ATTACHED;
    }
    if (s->ips.n == 0) {
        *ret_why = arena_printf(a, "forwarding rule %s has no IP address", name);
        return INVALID;
    }
    return PROGRAMMED;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct judging {
    struct arena *a;
    struct gce_custom_verdict *v;
    const char **wrongs;
    size_t n_wrongs;
    enum reason first; /* of the first that is wrong */
    bool unread;       /* something could not be read */
};

static void wrong(struct judging *j, enum reason reason, const char *why)
{
    j->first = j->n_wrongs == 0 ? reason : j->first;
    j->unread = j->unread || reason == PROVIDER;
    j->wrongs[j->n_wrongs++] = why;
}

/* Rules of IPv6 have a range, "2600:1901::/96"; clients use its first address. */
static const char *canonical(struct arena *a, const char *text)
{
    struct ip_addr ip;
    char out[IP_TEXT_MAX];
    const char *plain = arena_strndup(a, text, strcspn(text, "/"));
    if (!ip_parse(plain, &ip)) {
        return plain;
    }
    ip_format(&ip, out);
    return arena_strdup(a, out);
}

static void add_ip(struct judging *j, const char *text)
{
    struct gce_strs *ips = &j->v->ips;
    const char *ip = canonical(j->a, text);
    if (*ip != '\0' && !is_one_of(ip, ips->items, ips->n)) {
        ips->items[ips->n++] = ip;
    }
}

static void add_published(struct judging *j, const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ingress; i++) {
        if (!str_is_empty(s->ingress[i].ip)) {
            add_ip(j, s->ingress[i].ip);
        }
    }
}

static struct tt_condition condition_of(const struct judging *j, enum reason reason, size_t found)
{
    const char *message = reasons[reason].message;
    if (message == NULL) {
        message =
            arena_printf(j->a, "IPs programmed: %s", str_join(j->a, j->v->ips.items, found, ", "));
    }
    return (struct tt_condition){.type = GCE_CUSTOM_FR_CONDITION,
                                 .status = reason == PROGRAMMED ? "True" : "False",
                                 .reason = reasons[reason].name,
                                 .message = message};
}

static void tell(struct judging *j, const struct gce_custom_refs *refs, size_t found)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    const struct gce_strs *more = &refs->surplus;
    if (j->n_wrongs > 0) {
        str_appendf(&b, "%s: %s",
                    found == 0 ? "None of the Forwarding Rules could be used"
                               : "Some Forwarding Rules could not be used",
                    str_join(j->a, j->wrongs, j->n_wrongs, "; "));
    }
    if (more->n > 0) {
        str_appendf(&b, "%sUp to %d forwarding rules are supported. Skipping %s",
                    b.len > 0 ? "; " : "", GCE_CUSTOM_FR_MAX,
                    str_join(j->a, more->items, more->n, ", "));
    }
    if (b.len > 0) {
        j->v->event_reason = "ForwardingRuleUnusable";
        j->v->event = str_buf_to_arena(&b, j->a);
    }
}

static void judge_all(struct judging *j, const struct gce_custom_refs *refs,
                      const struct gce_custom_seen *seen, const char *neg)
{
    for (size_t i = 0; i < refs->bad.n; i++) {
        wrong(
            j, INVALID,
            arena_printf(j->a, "\"%s\" is no reference to a forwarding rule", refs->bad.items[i]));
    }
    for (size_t i = 0; i < refs->n; i++) {
        const char *name = refs->items[i].text;
        const char *why = NULL;
        enum reason r = judge_rule(j->a, name, &seen[i], &why);
        r = r == PROGRAMMED ? judge_target(j->a, name, &seen[i], neg, &why) : r;
        if (r != PROGRAMMED) {
            wrong(j, r, why);
            continue;
        }
        for (size_t k = 0; k < seen[i].ips.n; k++) {
            add_ip(j, seen[i].ips.items[k]);
        }
    }
}

void gce_custom_judge(struct arena *a, const struct tt_service *s,
                      const struct gce_custom_refs *refs, const struct gce_custom_seen *seen,
                      const char *neg, struct gce_custom_verdict *ret)
{
    struct judging j = {.a = a, .v = ret};
    *ret = (struct gce_custom_verdict){.asks = refs->n + refs->bad.n > 0};
    j.wrongs = ARENA_ARRAY(a, const char *, refs->n + refs->bad.n);
    ret->ips.items =
        ARENA_ARRAY(a, const char *, GCE_CUSTOM_FR_MAX *IPS_OF_RULE_MAX + s->n_ingress);
    judge_all(&j, refs, seen, neg);
    size_t found = ret->ips.n;
    enum reason reason = found > 0 ? PROGRAMMED : j.n_wrongs > 0 ? j.first : NO_REF;
    ret->condition = condition_of(&j, reason, found);
    if (j.unread) {
        add_published(&j, s);
    }
    ret->is_fine = ret->asks && j.n_wrongs == 0;
    tell(&j, refs, found);
    if (!ret->asks) {
        ret->event_reason = "NoForwardingRuleRef";
        ret->event = "Service has no forwarding rule reference";
    }
}
