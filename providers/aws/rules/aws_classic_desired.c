/* SPDX-License-Identifier: Apache-2.0 */
/* aws_classic_desired.c: the classic load balancer that a Service should have.
 * Source: docs/spec/aws.md 4.  Part of aws_desired.h.  Pure. */
#include "providers/aws/model/aws_desired.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"
#include "providers/aws/model/aws_service_rules.h"
#include "providers/aws/rules/aws_attribute_rules.h"
#include "providers/aws/rules/aws_health_rules.h"

static struct aws_texts sorted(struct arena *a, struct aws_texts t)
{
    struct str_set set = str_set_make(a, t.items, t.n);
    return (struct aws_texts){.items = set.items, .n = set.n};
}

static struct aws_texts joined(struct arena *a, struct aws_texts x, struct aws_texts y)
{
    const char **items = ARENA_ARRAY(a, const char *, x.n + y.n);
    for (size_t i = 0; i < x.n; i++) {
        items[i] = x.items[i];
    }
    for (size_t i = 0; i < y.n; i++) {
        items[x.n + i] = y.items[i];
    }
    return (struct aws_texts){.items = items, .n = x.n + y.n};
}

static const struct aws_group_want *own_group(struct arena *a, const struct aws_naming *naming,
                                              const struct aws_service *s)
{
    struct aws_group_want *g = ARENA_NEW(a, struct aws_group_want);
    g->name = s->classic_group;
    g->description = arena_printf(a, AWS_CLASSIC_GROUP_TEXT " %s (%s)", s->lb_name, s->key);
    g->tags = aws_group_tags(a, naming, s);
    g->rules = aws_managed_rules(a, s);
    return g;
}

/* 4.10: annotation, configuration, or one of its own; extra groups come behind. */
static void choose_groups(struct arena *a, const struct aws_naming *naming,
                          const struct aws_service *s, struct aws_classic_want *want)
{
    struct aws_texts main = s->groups;
    if (main.n == 0 && !str_is_empty(naming->shared_group)) {
        main = (struct aws_texts){.items = &naming->shared_group, .n = 1};
    }
    if (main.n == 0) {
        want->own = own_group(a, naming, s);
    }
    want->groups = joined(a, main, s->extra_groups);
}

int aws_classic_desired(struct arena *a, const struct aws_naming *naming,
                        const struct aws_service *s, struct aws_texts subnets,
                        struct aws_texts instances, struct aws_classic_want *ret, struct err *err)
{
    struct aws_classic_want want = {.name = s->lb_name,
                                    .internal = s->internal,
                                    .subnets = subnets,
                                    .n_listeners = s->n_ports,
                                    .proxy_protocol = s->proxy_protocol,
                                    .has_ssl_policy = s->ssl_policy != NULL,
                                    .instances = sorted(a, instances)};
    if (s->err.code != ERR_OK) {
        return err_copy(err, &s->err);
    }
    int rc = aws_classic_attributes(s->in, &want.attributes, err);
    if (rc == ERR_OK) {
        rc = aws_service_listeners(a, s->in, s->ports, s->n_ports, &want.listeners, err);
    }
    if (rc == ERR_OK) {
        rc = aws_classic_health(a, naming, s->in, s->n_ports > 0 ? s->ports[0].node_port : 0,
                                &want.health, err);
    }
    if (rc == ERR_OK && subnets.n == 0) {
        rc = err_set(err, ERR_INVALID,
                     "no subnet for the load balancer; tag subnets of the VPC, or name some in "
                     "annotation " AWS_ANNOTATION "subnets");
    }
    if (rc != ERR_OK) {
        return rc;
    }
    choose_groups(a, naming, s, &want);
    want.ssl_reference = str_nonnull(s->ssl_policy);
    want.ssl_policy = arena_printf(a, "k8s-SSLNegotiationPolicy-%s", want.ssl_reference);
    want.tags = aws_balancer_tags(a, naming, s);
    want.add_tags = s->extra_tags;
    *ret = want;
    return ERR_OK;
}
