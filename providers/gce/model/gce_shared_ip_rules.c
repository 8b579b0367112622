/* SPDX-License-Identifier: Apache-2.0 */
/* gce_shared_ip_rules.c: see gce_shared_ip_rules.h. */
#include "providers/gce/model/gce_shared_ip_rules.h"

#include "common/base/str.h"
#include "common/data/json.h"
#include "common/lb/service_rules.h"

#include <string.h>

struct range {
    int64_t low, high;
};

/* "80" or "80-90"; anything else counts as all ports: nothing is known to be free then. */
static struct range range_of(struct arena *a, const char *text)
{
    const char *dash = strchr(text, '-');
    struct range r = {0, 0};
    const char *low = dash == NULL ? text : arena_strndup(a, text, (size_t)(dash - text));
    bool good = str_to_i64(low, &r.low) && str_to_i64(dash == NULL ? text : dash + 1, &r.high);
    return good ? r : (struct range){0, 65535};
}

static size_t ranges_of(struct arena *a, const struct gce_rule *r, struct range **ret)
{
    struct range *out = ARENA_ARRAY(a, struct range, r->ports.n + 1);
    size_t n = 0;
    for (size_t i = 0; !r->all_ports && i < r->ports.n; i++) {
        out[n++] = range_of(a, r->ports.items[i]);
    }
    if (n == 0) {
        bool all = r->all_ports || str_is_empty(r->port_range);
        out[n++] = all ? (struct range){0, 65535} : range_of(a, r->port_range);
    }
    *ret = out;
    return n;
}

bool gce_rules_overlap(const struct gce_rule *x, const struct gce_rule *y)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct range *p, *q;
    if (!str_eq_nocase(x->protocol, y->protocol)) {
        return false;
    }
    size_t n_p = ranges_of(a, x, &p);
    size_t n_q = ranges_of(a, y, &q);
    for (size_t i = 0; i < n_p; i++) {
        for (size_t k = 0; k < n_q; k++) {
            if (p[i].low <= q[k].high && q[k].low <= p[i].high) {
                return true;
            }
        }
    }
    return false;
}

const char *gce_description_service(struct arena *a, const char *description)
{
    struct json_object *d = NULL;
    if (json_parse_arena(a, str_nonnull(description), strlen(str_nonnull(description)), NULL, &d,
                         NULL) != ERR_OK) {
        return NULL;
    }
    const char *name = json_str(d, "networking.gke.io/service-name");
    return name != NULL ? name : json_str(d, "kubernetes.io/service-name");
}

static const char *owner_of(struct arena *a, const struct gce_rule *r)
{
    const char *service = gce_description_service(a, r->description);
    return service != NULL ? arena_printf(a, "Service %s (forwarding rule %s)", service, r->name)
                           : arena_printf(a, "forwarding rule %s", r->name);
}

static const char *ports_text(struct arena *a, const struct gce_rule *r)
{
    if (r->all_ports) {
        return "all";
    }
    return r->ports.n > 0 ? str_join(a, r->ports.items, r->ports.n, ",")
                          : str_nonnull(r->port_range);
}

static bool may_share(const struct gce_ip_uses *u, bool internal)
{
    return !internal || (u->reserved && str_eq(u->address.purpose, GCE_PURPOSE_SHARED));
}

int gce_address_check_side(const char *ip, const char *type, bool internal, struct err *err)
{
    if (str_is_empty(type) || str_eq(type, "INTERNAL") == internal) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "IP configuration error: \"%s\" is reserved as an %s address, and the load "
                   "balancer is %s",
                   ip, internal ? "external" : "internal", internal ? "internal" : "external");
}

bool gce_rule_name_is_of_another_uid(struct arena *a, const char *name,
                                     const struct tt_service *svc)
{
    const char *own = svc_default_lb_name(a, str_nonnull(svc->uid));
    size_t n = strlen(own);
    bool is_lb = name[0] == 'a' && n == strspn(name, "a0123456789bcdef") &&
                 (name[n] == '\0' || str_eq(name + n, "-ipv6"));
    return is_lb && strncmp(name, own, n) != 0;
}

static bool names_it(struct arena *a, const struct gce_rule *r, const struct tt_service *svc)
{
    return str_eq(gce_description_service(a, r->description),
                  arena_printf(a, "%s/%s", svc->ns, svc->name));
}

bool gce_rule_is_an_older_ones(struct arena *a, const struct gce_rule *r,
                               const struct tt_service *svc)
{
    return names_it(a, r, svc) && gce_rule_name_is_of_another_uid(a, r->name, svc);
}

/* A reservation has one tier, which its rules have to have.  What a run of ours holds is
 * exchanged. */
static int check_tier(struct arena *a, const struct gce_ip_uses *u, const struct tt_service *svc,
                      const struct gce_rule *want, size_t n, struct err *err)
{
    const char *has = u->reserved ? str_nonnull(u->address.tier) : "";
    const char *holder = gce_description_service(a, str_nonnull(u->address.description));
    bool ours = str_eq(holder, arena_printf(a, "%s/%s", svc->ns, svc->name));
    for (size_t i = 0; *has != '\0' && !ours && i < n; i++) {
        if (!str_is_empty(want[i].tier) && !str_eq(want[i].tier, has)) {
            return err_set(err, ERR_INVALID,
                           "Network tier mismatch for resource %s, desired: %s, received: %s",
                           u->ip, want[i].tier, has);
        }
    }
    return ERR_OK;
}

int gce_ip_check_rules(struct arena *a, const struct gce_ip_uses *u, const struct tt_service *svc,
                       bool internal, const struct gce_rule *want, size_t n, struct err *err)
{
    const char *type = u->reserved ? u->address.type : NULL;
    if (gce_address_check_side(u->ip, type, internal, err) != ERR_OK ||
        (!internal && check_tier(a, u, svc, want, n, err) != ERR_OK)) {
        return err->code;
    }
    for (size_t i = 0; i < u->n_rules; i++) {
        const struct gce_rule *other = u->rules[i];
        if (names_it(a, other, svc) && !gce_rule_name_is_of_another_uid(a, other->name, svc)) {
            continue;
        }
        if (!may_share(u, internal)) {
            return err_set(err, ERR_IN_USE, "IP configuration error: \"%s\" is in use by %s", u->ip,
                           owner_of(a, other));
        }
        for (size_t k = 0; k < n; k++) {
            if (gce_rules_overlap(other, &want[k])) {
                return err_set(
                    err, ERR_IN_USE,
                    "Conflicting ports configuration error: \"%s\": at address %s %s has %s %s",
                    ports_text(a, &want[k]), u->ip, owner_of(a, other), other->protocol,
                    ports_text(a, other));
            }
        }
    }
    return ERR_OK;
}
