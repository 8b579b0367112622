/* SPDX-License-Identifier: Apache-2.0 */
/* service_rules.c: predicates and small values of a Service, as upstream's service controller has
 * them.
 *
 * Every function is one row or one table of controller.md (sections named beside them), so that the
 * two can be read side by side; trimtab-eval asks these very functions.  Source ranges stand in
 * source_ranges.c.  Absent and empty text are the same here unless a line says otherwise: that is
 * how Go decodes a string without a pointer.  Pure: no I/O, no clock; thread-safe. */
#include "common/lb/service_rules.h"
#include "common/base/str.h"

#include <string.h>

static bool text_eq(const char *a, const char *b)
{
    return strcmp(str_nonnull(a), str_nonnull(b)) == 0;
}

/* ---- §1.4 ------------------------------------------------------------------------------------ */
bool svc_wants_lb(const struct tt_service *s)
{
    return svc_wants_lb_of(s, NULL, 0);
}

bool svc_wants_lb_of(const struct tt_service *s, const char *const *classes, size_t n)
{
    if (!text_eq(s->type, "LoadBalancer")) {
        return false;
    }
    if (s->lb_class == NULL) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(s->lb_class, classes[i]) == 0) {
            return true;
        }
    }
    return false; /* a class that is present but empty counts as another program's, too */
}

bool svc_is_unreadable(const struct tt_service *s)
{
    return TT_HAS(s, flags) && (s->flags & TT_SERVICE_UNREADABLE) != 0;
}

bool svc_has_finalizer(const struct tt_service *s, const char *finalizer)
{
    for (uint32_t i = 0; i < s->n_finalizers; i++) {
        if (strcmp(s->finalizers[i], finalizer) == 0) {
            return true;
        }
    }
    return false;
}

bool svc_needs_cleanup(const struct tt_service *s)
{
    return svc_has_finalizer(s, LB_CLEANUP_FINALIZER) &&
           (s->deleted_us != 0 || !text_eq(s->type, "LoadBalancer"));
}

/* ---- §1.5 ------------------------------------------------------------------------------------ */
static bool texts_eq(const char *const *a, size_t na, const char *const *b, size_t nb)
{
    if (na != nb) {
        return false;
    }
    for (size_t i = 0; i < na; i++) {
        if (!text_eq(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static bool port_eq(const struct tt_port *a, const struct tt_port *b)
{
    return text_eq(a->name, b->name) && text_eq(a->protocol, b->protocol) && a->port == b->port &&
           a->node_port == b->node_port && a->target_port == b->target_port &&
           str_eq(a->target_name, b->target_name) && str_eq(a->app_protocol, b->app_protocol);
}

static bool ports_eq(const struct tt_service *a, const struct tt_service *b)
{
    if (a->n_ports != b->n_ports) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_ports; i++) {
        if (!port_eq(&a->ports[i], &b->ports[i])) {
            return false;
        }
    }
    return true;
}

bool svc_is_report(const char *key)
{
    return str_eq(key, LB_LAST_PLAN_ANNOTATION) || str_eq(key, LB_LAST_ERROR_ANNOTATION) ||
           str_eq(key, LB_MARK_ANNOTATION) || str_eq(key, LB_MARK_BY_ANNOTATION);
}

/* A pattern that ends in '*' stands for all keys that begin with it. */
static bool is_among(const char *const *patterns, size_t n_patterns, const char *key)
{
    for (size_t i = 0; i < n_patterns; i++) {
        const char *own = patterns[i];
        size_t n = strlen(own);
        bool begins = n > 0 && own[n - 1] == '*';
        if (begins ? strncmp(key, own, n - 1) == 0 : strcmp(key, own) == 0) {
            return true;
        }
    }
    return false;
}

static bool counts_not(const struct svc_scope *scope, const char *key)
{
    return (scope->skips_reports && svc_is_report(key)) ||
           is_among(scope->own_annotations, scope->n_own_annotations, key) ||
           (scope->wishes != NULL && !is_among(scope->wishes, scope->n_wishes, key));
}

bool svc_is_wish(const struct svc_scope *scope, const char *key)
{
    return !counts_not(scope, key);
}

/* The next one from *i on that counts; NULL at the end. */
static const struct tt_kv *next_annotation(const struct svc_scope *scope,
                                           const struct tt_service *s, uint32_t *i)
{
    while (*i < s->n_annotations && counts_not(scope, s->annotations[*i].key)) {
        (*i)++;
    }
    return *i < s->n_annotations ? &s->annotations[(*i)++] : NULL;
}

/* Both are sorted by key.  An absent map equals an empty one: upstream's difference between the two
 * only costs it a sync. */
static bool annotations_eq(const struct svc_scope *scope, const struct tt_service *a,
                           const struct tt_service *b)
{
    uint32_t at_a = 0;
    uint32_t at_b = 0;
    for (;;) {
        const struct tt_kv *x = next_annotation(scope, a, &at_a);
        const struct tt_kv *y = next_annotation(scope, b, &at_b);
        if (x == NULL || y == NULL) {
            return x == y;
        }
        if (strcmp(x->key, y->key) != 0 || !text_eq(x->value, y->value)) {
            return false;
        }
    }
}

/* The first difference among the members that upstream compares, in its order; NULL if there is
 * none. */
static const char *first_difference(const struct svc_scope *scope, const struct tt_service *o,
                                    const struct tt_service *c)
{
    if (o->has_source_ranges != c->has_source_ranges ||
        !texts_eq(o->source_ranges, o->n_source_ranges, c->source_ranges, c->n_source_ranges)) {
        return "spec.loadBalancerSourceRanges";
    }
    if (!ports_eq(o, c)) {
        return "spec.ports";
    }
    if (!text_eq(o->session_affinity, c->session_affinity)) {
        return "spec.sessionAffinity";
    }
    if (o->affinity_timeout_s != c->affinity_timeout_s) {
        return "spec.sessionAffinityConfig";
    }
    if (!text_eq(o->lb_ip, c->lb_ip)) {
        return "spec.loadBalancerIP";
    }
    if (!texts_eq(o->external_ips, o->n_external_ips, c->external_ips, c->n_external_ips)) {
        return "spec.externalIPs";
    }
    if (!annotations_eq(scope, o, c)) {
        return "metadata.annotations";
    }
    if (!text_eq(o->uid, c->uid)) {
        return "metadata.uid";
    }
    if (!text_eq(o->external_traffic_policy, c->external_traffic_policy)) {
        return "spec.externalTrafficPolicy";
    }
    if (o->health_check_node_port != c->health_check_node_port) {
        return "spec.healthCheckNodePort";
    }
    return o->n_ip_families != c->n_ip_families ? "spec.ipFamilies" : NULL; /* only the length */
}

static bool ingress_eq(const struct tt_service *o, const struct tt_service *c)
{
    bool same = o->n_ingress == c->n_ingress;
    for (uint32_t i = 0; same && i < o->n_ingress; i++) {
        same = text_eq(o->ingress[i].ip, c->ingress[i].ip) &&
               text_eq(o->ingress[i].hostname, c->ingress[i].hostname);
    }
    return same;
}

bool svc_needs_update_in(const struct svc_scope *scope, const struct tt_service *old_svc,
                         const struct tt_service *cur, const char **ret_what)
{
    bool wanted = svc_wants_lb_of(old_svc, scope->classes, scope->n_classes);
    bool wants = svc_wants_lb_of(cur, scope->classes, scope->n_classes);
    const char *what = NULL;
    if (wanted != wants) {
        what = text_eq(old_svc->type, cur->type) ? "spec.loadBalancerClass" : "spec.type";
    } else if (wants && !str_eq(old_svc->lb_class, cur->lb_class)) {
        /* Only with classes of our own: each may mean another kind of load balancer. */
        what = "spec.loadBalancerClass";
    } else if (wants) {
        what = first_difference(scope, old_svc, cur);
        if (what == NULL && scope->follows_distribution &&
            !text_eq(old_svc->traffic_distribution, cur->traffic_distribution)) {
            what = "spec.trafficDistribution";
        }
        if (what == NULL && scope->follows_ingress && !ingress_eq(old_svc, cur)) {
            what = "status.loadBalancer";
        }
    }
    if (ret_what != NULL) {
        *ret_what = what;
    }
    return what != NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */
const char *svc_annotation(const struct tt_service *s, const char *key)
{
    size_t low = 0;
    size_t high = s->n_annotations;
    while (low < high) { /* sorted by key (types.h) */
        size_t mid = low + (high - low) / 2;
        int order = strcmp(key, s->annotations[mid].key);
        if (order == 0) {
            return s->annotations[mid].value;
        }
        if (order < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return NULL;
}

char *svc_key(struct arena *a, const struct tt_service *s)
{
    return arena_printf(a, "%s/%s", str_nonnull(s->ns), str_nonnull(s->name));
}

/* §2.3.  Upstream cuts at 32 bytes after taking the dashes out, so the last hex digit of a
 * UID is lost. */
char *svc_default_lb_name(struct arena *a, const char *uid)
{
    char name[33] = "a";
    size_t len = 1;
    for (const char *p = str_nonnull(uid); *p != '\0' && len < sizeof name - 1; p++) {
        if (*p != '-') {
            name[len++] = *p;
        }
    }
    name[len] = '\0';
    return arena_strdup(a, name);
}

/* ---- §2.5 ------------------------------------------------------------------------------------ */
bool svc_only_local_traffic(const struct tt_service *s)
{
    return (text_eq(s->type, "LoadBalancer") || text_eq(s->type, "NodePort")) &&
           text_eq(s->external_traffic_policy, "Local");
}

bool svc_needs_health_check(const struct tt_service *s)
{
    return text_eq(s->type, "LoadBalancer") && svc_only_local_traffic(s);
}

const char *svc_health_check(const struct tt_service *s, int32_t *ret_port)
{
    bool served = svc_needs_health_check(s) && s->health_check_node_port != 0;
    if (ret_port != NULL) {
        *ret_port = served ? s->health_check_node_port : 0;
    }
    return served ? "/healthz" : NULL;
}

/* ---- §1.7 ------------------------------------------------------------------------------------ */
int svc_split_key(struct arena *a, const char *key, const char **ret_ns, const char **ret_name,
                  struct err *err)
{
    const char *slash = strchr(key, '/');
    if (slash != NULL && strchr(slash + 1, '/') != NULL) {
        struct str_buf quoted _cleanup_(str_buf_done) = STR_BUF_INIT;
        str_append_go_quoted(&quoted, key);
        return err_set(err, ERR_INVALID, "unexpected key format: %s", str_buf_text(&quoted));
    }
    if (slash == NULL) {
        *ret_ns = "";
        *ret_name = arena_strdup(a, key);
    } else {
        *ret_ns = arena_strndup(a, key, (size_t)(slash - key));
        *ret_name = arena_strdup(a, slash + 1);
    }
    return ERR_OK;
}
