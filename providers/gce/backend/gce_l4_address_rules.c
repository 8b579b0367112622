/* SPDX-License-Identifier: Apache-2.0 */
/* gce_l4_address_rules.c: see gce_l4_address_rules.h. */
#include "providers/gce/backend/gce_l4_address_rules.h"

#include "common/base/str.h"
#include "providers/gce/model/gce_links.h"

#include <string.h>

const char *gce_l4_ip_without_prefix(struct arena *a, const char *ip)
{
    const char *slash = strchr(str_nonnull(ip), '/');
    return slash == NULL ? str_nonnull(ip) : arena_printf(a, "%.*s", (int)(slash - ip), ip);
}

static const struct gce_address *address_named(const struct gce_address *const *found, size_t n,
                                               const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(found[i]->name, name)) {
            return found[i];
        }
    }
    return NULL;
}

void gce_l4_user_address(struct arena *a, const struct tt_service *s,
                         const struct gce_address *const *found, size_t n, bool v6,
                         struct gce_bs_user_address *ret, bool *ret_both)
{
    struct gce_strs names = gce_l4_address_names(a, s);
    const char *spec_ip = v6 ? "" : str_nonnull(s->lb_ip);
    struct gce_bs_user_address out = {.name = "", .ip = spec_ip, .tier = ""};
    bool both = false;
    for (size_t i = 0; i < names.n; i++) {
        const struct gce_address *d = address_named(found, n, names.items[i]);
        if (d == NULL || str_eq(d->ip_version, "IPV6") != v6) {
            continue;
        }
        out = (struct gce_bs_user_address){.name = names.items[i],
                                           .ip = gce_l4_ip_without_prefix(a, d->ip),
                                           .tier = str_nonnull(d->tier),
                                           .type = str_nonnull(d->type),
                                           .reserved = true};
        both = *spec_ip != '\0';
        break;
    }
    *ret = out;
    if (ret_both != NULL) {
        *ret_both = both;
    }
}

/* §4.4: an address stays only in its subnetwork.  Links are compared as resources (A: upstream
 * compares text). */
static bool is_of_subnetwork(const struct gce_rule *rule, const struct gce_l4_address_question *q)
{
    const char *wanted = str_nonnull(q->subnetwork);
    const char *has = str_nonnull(rule->subnetwork);
    if (*wanted == '\0' && q->any_subnetwork) {
        return true;
    }
    return str_eq(wanted, has) || (*wanted != '\0' && *has != '\0' && gce_link_same(wanted, has));
}

bool gce_l4_rule_is_of_other_tier(const struct gce_rule *rule,
                                  const struct gce_l4_address_question *q)
{
    return !q->internal && q->tier_is_set && !str_is_empty(rule->tier) &&
           !str_eq(rule->tier, q->tier);
}

void gce_l4_address_choose(struct arena *a, const struct gce_l4_address_question *q,
                           struct gce_l4_address_choice *ret)
{
    struct gce_l4_address_choice c = {.ip = str_nonnull(q->user->ip),
                                      .name = str_nonnull(q->user->name),
                                      .managed = !q->user->reserved};
    const struct gce_rule *of = NULL;
    for (size_t i = 0; of == NULL && i < q->n_rules; i++) {
        const struct gce_rule *rule = q->rules[i];
        const char *ip = gce_l4_ip_without_prefix(a, rule->ip);
        bool usable = *ip != '\0' && is_of_subnetwork(rule, q) &&
                      str_eq(str_nonnull(rule->ip_collection), str_nonnull(q->ip_collection));
        if (usable && (*c.ip == '\0' || str_eq(c.ip, ip))) {
            of = rule;
            c.ip = ip;
        }
    }
    c.from_rule = of != NULL;
    c.lost = of != NULL && c.managed && gce_l4_rule_is_of_other_tier(of, q);
    /* An address that the user gave by number is requested again: the cloud decides whether the
     * tier allows it. */
    c.lost = c.lost && str_is_empty(q->user->ip);
    c.ask = c.lost ? "" : c.ip;
    *ret = c;
}

bool gce_l4_address_must_be_held(const struct gce_l4_address_choice *c, bool goes, size_t wanted,
                                 size_t inserted)
{
    if (!c->managed || inserted == 0) {
        return false;
    }
    return goes || wanted > 1;
}

int gce_l4_user_address_check(const struct gce_bs_user_address *user, const char *tier,
                              struct err *err)
{
    if (user->reserved && !str_is_empty(user->tier) && !str_eq(user->tier, tier)) {
        return err_set(err, ERR_INVALID,
                       "Network tier mismatch for resource %s, desired: %s, received: %s",
                       str_or(user->name, user->ip), tier, user->tier);
    }
    return ERR_OK;
}
