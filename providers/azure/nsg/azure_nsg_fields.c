/* SPDX-License-Identifier: Apache-2.0 */
/* azure_nsg_fields.c: see azure_nsg_fields.h. */
#include "providers/azure/nsg/azure_nsg_fields.h"

#include "common/base/str.h"
#include "common/lb/diff.h"

/* The values of one member of a rule that is new: "443, 80". */
static const char *values_of(struct arena *a, const struct azure_nsg_rule_change *c,
                             const char *member)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < c->n_fields; i++) {
        const char *text = c->fields[i].new_value.text;
        if (text != NULL && str_has_prefix(c->fields[i].path, member)) {
            str_appendf(&b, "%s%s", b.len > 0 ? ", " : "", text);
        }
    }
    return str_buf_to_arena(&b, a);
}

/* A rule that is new, on one line. */
static const char *rule_line(struct arena *a, const struct azure_nsg_rule_change *c)
{
    return arena_printf(a, "%s %s from %s to %s, ports %s", values_of(a, c, "access"),
                        values_of(a, c, "protocol"), values_of(a, c, "sourceAddressPrefix"),
                        values_of(a, c, "destinationAddressPrefix"),
                        values_of(a, c, "destinationPortRange"));
}

void azure_nsg_result_fields(struct lb_diff *d, const struct azure_nsg_result *r)
{
    for (size_t i = 0; i < r->n_diff; i++) {
        const struct azure_nsg_rule_change *c = &r->diff[i];
        const char *rule = arena_printf(d->a, "securityRules[%s]", c->name);
        if (c->verb == LB_CREATE) {
            (void)lb_diff_text(d, rule, NULL, rule_line(d->a, c));
            continue;
        }
        for (size_t k = 0; k < c->n_fields; k++) {
            (void)lb_diff_value(d, arena_printf(d->a, "%s.%s", rule, c->fields[k].path),
                                c->fields[k].old_text, c->fields[k].new_value);
        }
        if (c->n_fields == 0) {
            (void)lb_diff_text(d, rule, c->verb == LB_DELETE ? c->why : NULL,
                               c->verb == LB_DELETE ? NULL : c->why);
        }
    }
}
