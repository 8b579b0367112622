/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c: see findings.h. */
#include "common/lb/findings.h"

#include "common/base/str.h"
#include "common/lb/service_rules.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PORT        "port_"
#define VALUE_SHOWN 100

/* ---- keys ------------------------------------------------------------------------------------ */

static bool stands_for(const char *row, const char *key)
{
    size_t n = strlen(row);
    return n > 0 && row[n - 1] == '*' ? strncmp(row, key, n - 1) == 0 : str_eq(row, key);
}

static bool is_listed(const char *const *rows, const char *key)
{
    for (; *rows != NULL; rows++) {
        bool may = **rows == *key || **rows == '*'; /* most begin otherwise */
        if (may && stands_for(*rows, key)) {
            return true;
        }
    }
    return false;
}

static const char *prefix_of(const struct lb_annotation_keys *keys, const char *key)
{
    for (const char *const *p = keys->prefixes; *p != NULL; p++) {
        if (str_has_prefix(key, *p)) {
            return *p;
        }
    }
    return NULL;
}

/* "port_80_x" as "port_<port>_x", the way tables have it; *ret_port is the number. */
static const char *without_port(struct arena *a, const char *key, const char **ret_port)
{
    const char *at = strstr(key, "/" PORT);
    const char *from = at == NULL ? NULL : at + strlen("/" PORT);
    size_t n = from == NULL ? 0 : strspn(from, "0123456789");
    *ret_port = NULL;
    if (n == 0 || from[n] != '_') {
        return key;
    }
    *ret_port = arena_strndup(a, from, n);
    return arena_printf(a, "%.*s<port>%s", (int)(from - key), key, from + n);
}

static const char *with_port(struct arena *a, const char *key, const char *port)
{
    const char *at = port == NULL || key == NULL ? NULL : strstr(key, "<port>");
    return at == NULL
               ? key
               : arena_printf(a, "%.*s%s%s", (int)(at - key), key, port, at + strlen("<port>"));
}

/* ---- keys of another domain ------------------------------------------------------------------ */

/* "kubernetes.io" of "service.beta.kubernetes.io/x". */
static const char *last_labels(struct arena *a, const char *key)
{
    const char *domain = arena_strndup(a, key, strcspn(key, "/"));
    const char *dot = strrchr(domain, '.');
    while (dot != NULL && dot > domain && dot[-1] != '.') {
        dot--;
    }
    return dot == NULL ? domain : dot;
}

/* How far the domain of `key` is from that of the known one: its slips, or 4 with a label too few
 * or too many; SIZE_MAX: it is another domain. */
static size_t domain_distance(struct arena *a, const char *key, const char *known)
{
    const char *domain = str_lower(a, arena_strndup(a, key, strcspn(key, "/")));
    const char *right = arena_strndup(a, known, strcspn(known, "/"));
    if (str_nearest(domain, &right, 1) != NULL) {
        return str_distance(domain, right);
    }
    return str_eq(last_labels(a, domain), last_labels(a, right)) ? 4 : SIZE_MAX;
}

/* The known key that has the very name of `key` behind another domain: that of another row of the
 * table, or a slip of its own.  NULL: none. */
static const char *of_another_domain(struct arena *a, const struct lb_annotation_keys *keys,
                                     const char *key)
{
    const char *slash = strchr(key, '/');
    size_t best_distance = prefix_of(keys, key) != NULL ? SIZE_MAX : SIZE_MAX - 1;
    const char *best = NULL;
    for (const char *const *k = keys->known; slash != NULL && *k != NULL; k++) {
        const char *name = strchr(*k, '/');
        if (name != NULL && strchr(*k, '*') == NULL && str_eq_nocase(name, slash)) {
            size_t distance = domain_distance(a, key, *k);
            bool better = distance < best_distance || (distance == best_distance && best == NULL);
            best = better ? *k : best;
            best_distance = better ? distance : best_distance;
        }
    }
    return best;
}

/* ---- slips ----------------------------------------------------------------------------------- */

/* The known key under that prefix that is near.  The name behind the prefix decides: a whole key is
 * long enough for three slips, "name" is not. */
static const char *of_same_prefix(struct arena *a, const struct lb_annotation_keys *keys,
                                  const char *prefix, const char *name)
{
    size_t n = 0;
    while (keys->known[n] != NULL) {
        n++;
    }
    const char **names = ARENA_ARRAY(a, const char *, n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        bool alike = str_has_prefix(keys->known[i], prefix) && strchr(keys->known[i], '*') == NULL;
        if (alike) {
            names[used++] = keys->known[i] + strlen(prefix);
        }
    }
    const char *meant = str_nearest(name, names, used);
    return meant == NULL ? NULL : arena_printf(a, "%s%s", prefix, meant);
}

/* "ort_80_x" as "ort_<port>_x": the first number of a name stands for a port. */
static const char *with_any_port(struct arena *a, const char *name, const char **ret_port)
{
    size_t at = strcspn(name, "0123456789");
    size_t n = strspn(name + at, "0123456789");
    *ret_port = arena_strndup(a, name + at, n);
    return n == 0 ? name : arena_printf(a, "%.*s<port>%s", (int)at, name, name + at + n);
}

const char *lb_annotation_meant(struct arena *a, const struct lb_annotation_keys *keys,
                                const char *key)
{
    const char *port;
    const char *plain = without_port(a, key, &port);
    if (is_listed(keys->known, plain) || is_listed(keys->others, key)) {
        return NULL;
    }
    const char *prefix = prefix_of(keys, key);
    const char *other = of_another_domain(a, keys, plain);
    const char *own = NULL;
    if (prefix != NULL) {
        const char *name = str_lower(a, key + strlen(prefix));
        own = of_same_prefix(a, keys, prefix, str_replace(a, name, "_", "-"));
        name = own != NULL ? name : with_any_port(a, name, &port);
        own = own != NULL ? own : of_same_prefix(a, keys, prefix, name);
    }
    bool by_case = own != NULL && str_eq_nocase(own, plain);
    return with_port(a, other != NULL && !by_case ? other : own, port);
}

const char *lb_annotation_meant_text(struct arena *a, const char *key, const char *meant)
{
    return arena_printf(a, "annotation %s is unknown and has no effect; is %s meant?", key, meant);
}

/* ---- private or public ----------------------------------------------------------------------- */

static bool is_word(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(word, words[i])) {
            return true;
        }
    }
    return false;
}

bool lb_text_means_private(struct arena *a, const char *text)
{
    static const char *const yes[] = {"true", "yes", "on", "1", "y", "t"};
    static const char *const no[] = {"false", "no", "off", "0", "n", "f"};
    /* Long enough for a slip of one not to be another. */
    static const char *const near[] = {"true",  "enabled",  "internal", "private",
                                       "false", "disabled", "external", "public"};
    const char *word = str_lower(a, str_trim(a, str_nonnull(text)));
    if (is_word(word, yes, ARRAY_LEN(yes)) || is_word(word, no, ARRAY_LEN(no))) {
        return is_word(word, yes, ARRAY_LEN(yes));
    }
    const char *meant = strlen(word) < 3 ? NULL : str_nearest(word, near, ARRAY_LEN(near));
    return meant != NULL && is_word(meant, near, ARRAY_LEN(near) / 2);
}

bool lb_service_stands(const struct tt_service *s)
{
    return s->n_ingress > 0 || svc_has_finalizer(s, LB_CLEANUP_FINALIZER);
}

const struct tt_kv *lb_private_slip(struct arena *a, const struct lb_annotation_keys *keys,
                                    const struct tt_service *s, const char *wanted)
{
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        const struct tt_kv *kv = &s->annotations[i];
        if (str_eq(lb_annotation_meant(a, keys, kv->key), wanted) &&
            lb_text_means_private(a, kv->value)) {
            return kv;
        }
    }
    return NULL;
}

int lb_private_slip_refuse(const struct tt_kv *slip, const char *wanted, const char *lenient,
                           struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "annotation %s is unknown and the Service would be public; %s was probably "
                   "meant (%s makes it public)",
                   slip->key, wanted, lenient);
}

/* ---- findings of an item --------------------------------------------------------------------- */

/* At most `max` bytes, whole characters. */
static const char *clipped(struct arena *a, const char *text, size_t max)
{
    size_t n = strlen(text);
    if (n <= max) {
        return text;
    }
    n = max - strlen("…");
    while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) {
        n--;
    }
    return arena_printf(a, "%.*s…", (int)n, text);
}

const char *lb_finding_value(struct arena *a, const char *value)
{
    return clipped(a, str_nonnull(value), VALUE_SHOWN);
}

/* Items are the sync's own; flows see them as const. */
static struct lb_item *own(struct lb_sync *s, const struct lb_item *item)
{
    return &s->items[item - s->items];
}

static void add(struct lb_sync *s, const struct lb_item *to, const char *reason, const char *field,
                const char *message)
{
    struct lb_item *item = own(s, to);
    for (size_t i = 0; i < item->n_findings; i++) {
        if (str_eq(item->findings[i].message, message)) {
            return;
        }
    }
    if (item->n_findings == LB_FINDINGS_MAX) {
        return;
    }
    if (item->findings == NULL) {
        item->findings = ARENA_ARRAY(s->life, struct tt_finding, LB_FINDINGS_MAX);
    }
    item->findings[item->n_findings++] = (struct tt_finding){
        .size = sizeof(struct tt_finding),
        .reason = arena_strdup(s->life, reason),
        .field = arena_strdup(s->life, field),
        .message = arena_strdup(s->life, clipped(s->life, message, TT_TEXT_MAX))};
}

void lb_finding(struct lb_sync *s, const struct lb_item *item, const char *reason,
                const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *message = arena_vprintf(s->life, fmt, ap);
    va_end(ap);
    add(s, item, reason, field, message);
}

const char *lb_family_missed(const struct tt_service *s, bool v4, bool v6)
{
    uint32_t n = str_eq(s->ip_family_policy, "PreferDualStack") && s->n_ip_families > 1
                     ? 1
                     : s->n_ip_families;
    for (uint32_t i = 0; i < n; i++) {
        if (str_eq(s->ip_families[i], "IPv6") ? !v6 : !v4) {
            return s->ip_families[i];
        }
    }
    return NULL;
}

void lb_findings_unknown(struct lb_sync *s, const struct lb_item *item,
                         const struct lb_annotation_keys *keys)
{
    const struct tt_service *svc = item->in->service;
    for (uint32_t i = 0; i < svc->n_annotations; i++) {
        const char *key = svc->annotations[i].key;
        const char *meant = lb_annotation_meant(s->a, keys, key);
        if (meant != NULL) {
            lb_finding(s, item, LB_FINDING_IGNORED, key, "%s",
                       lb_annotation_meant_text(s->a, key, meant));
        }
    }
}

void lb_serves_nobody(struct lb_sync *s, const struct lb_item *item, const char *reason)
{
    own(s, item)->serves_nobody = arena_strdup(s->life, reason);
}

#define REASONS_SHOWN 3

/* Without names and numbers, so that it is the same text as long as it is the same state. */
const char *lb_nobody_nodes(struct arena *a, const char *const *reasons, size_t n)
{
    const char *shown[REASONS_SHOWN];
    size_t n_shown = 0;
    bool more = false;
    for (size_t i = 0; i < n; i++) {
        if (reasons[i] == NULL || is_word(reasons[i], shown, n_shown)) {
            continue;
        }
        more = more || n_shown == REASONS_SHOWN;
        if (n_shown < REASONS_SHOWN) {
            shown[n_shown++] = reasons[i];
        }
    }
    if (n_shown == 0) {
        return n == 0 ? "no node takes part: the cluster has none"
                      : "no node takes part: none of them is an instance that serves";
    }
    return arena_printf(a, "no node takes part: %s%s", str_join(a, shown, n_shown, "; "),
                        more ? "; …" : "");
}

/* ---- the driver's ---------------------------------------------------------------------------- */

void lb_findings_stage_begin(struct lb_sync *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        s->items[i].kept_findings = s->items[i].n_findings;
        s->items[i].kept_nobody = s->items[i].serves_nobody;
    }
}

void lb_findings_turn_begin(struct lb_sync *s)
{
    for (size_t i = 0; i < s->n_items; i++) {
        if (lb_item_is_active(&s->items[i])) {
            s->items[i].n_findings = s->items[i].kept_findings;
            s->items[i].serves_nobody = s->items[i].kept_nobody;
        }
    }
}

void lb_findings_put(struct lb_sync *s, struct lb_plan *plan)
{
    for (size_t i = 0; i < s->n_items; i++) {
        const struct lb_item *item = &s->items[i];
        bool told = s->planning || item->err.code == ERR_OK;
        if (item->settled || !told || (item->n_findings == 0 && item->serves_nobody == NULL)) {
            continue;
        }
        struct lb_plan_service *p = lb_plan_service(plan, item->key);
        p->findings = item->findings;
        p->n_findings = item->n_findings;
        p->serves_nobody = item->serves_nobody;
    }
}
