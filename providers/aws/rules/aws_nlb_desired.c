/* SPDX-License-Identifier: Apache-2.0 */
/* aws_nlb_desired.c: the NLB that a Service should have, with its listeners and target groups.
 * Source: docs/spec/aws.md 5.  Part of aws_desired.h.  Pure. */
#include "providers/aws/model/aws_desired.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_rules.h"
#include "providers/aws/rules/aws_attribute_rules.h"
#include "providers/aws/rules/aws_health_rules.h"

/* ---- subnets and addresses ------------------------------------------------------------------- */

static int check_count(const struct aws_service *s, const char *name, bool has,
                       struct aws_texts given, size_t n_subnets, struct err *err)
{
    if (!has || given.n == n_subnets) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "annotation " AWS_ANNOTATION
                   "%s: \"%s\": %zu for %zu subnets: want one for each",
                   name, str_nonnull(aws_annotation(s->in, name)), given.n, n_subnets);
}

/* 5.4 item 2: by position. */
static int map_subnets(struct arena *a, const struct aws_service *s, struct aws_texts subnets,
                       struct aws_nlb_want *want, struct err *err)
{
    struct aws_subnet_mapping *items = ARENA_ARRAY(a, struct aws_subnet_mapping, subnets.n);
    int rc;
    if (subnets.n == 0) {
        return err_set(err, ERR_INVALID,
                       "no subnet for the load balancer; tag subnets of the VPC, or name some in "
                       "annotation " AWS_ANNOTATION "subnets");
    }
    rc = check_count(s, "eip-allocations", s->has_allocations, s->allocations, subnets.n, err);
    if (rc == ERR_OK) {
        rc = check_count(s, "private-ipv4-addresses", s->has_addresses, s->addresses, subnets.n,
                         err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    for (size_t i = 0; i < subnets.n; i++) {
        items[i] = (struct aws_subnet_mapping){
            .subnet = subnets.items[i],
            .allocation = s->has_allocations ? s->allocations.items[i] : "",
            .address = s->has_addresses ? s->addresses.items[i] : "",
        };
    }
    want->mappings = items;
    want->n_mappings = subnets.n;
    return ERR_OK;
}

/* ---- ports ----------------------------------------------------------------------------------- */

static void map_ports(struct arena *a, const struct aws_naming *naming, const struct aws_service *s,
                      struct aws_nlb_want *want)
{
    struct aws_nlb_port *ports = ARENA_ARRAY(a, struct aws_nlb_port, s->n_ports);
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct aws_service_port *p = &s->ports[i];
        bool tls_behind = p->tls && str_eq(s->backend_protocol, "ssl");
        struct aws_group_name_input name = {
            .cluster_id = naming->cluster_id,
            .namespace_ = s->in->ns,
            .name = s->in->name,
            .port = p->port,
            .node_port = p->node_port,
            .traffic_protocol = tls_behind ? "TLS" : p->protocol,
            .health_protocol = want->health.protocol,
            .interval = want->health.interval,
        };
        ports[i] = (struct aws_nlb_port){
            .port = p->port,
            .node_port = p->node_port,
            .protocol = p->tls ? "TLS" : p->protocol,
            .traffic_protocol = name.traffic_protocol,
            .certificate = p->tls ? s->certificate : "",
            .ssl_policy = p->tls ? str_nonnull(s->ssl_policy) : "",
            .group_name = aws_target_group_name(a, &name),
        };
    }
    want->ports = ports;
    want->n_ports = s->n_ports;
}

/* ---- security groups ------------------------------------------------------------------------- */

/* 5.9 */
static int choose_groups(struct arena *a, const struct aws_naming *naming,
                         const struct aws_service *s, struct aws_nlb_want *want, struct err *err)
{
    const char *mode = str_nonnull(naming->nlb_group_mode);
    want->managed_groups = str_eq(mode, "Managed");
    if (!want->managed_groups && mode[0] != '\0') {
        return err_set(err, ERR_INVALID,
                       "NLBSecurityGroupMode of the cloud-config: \"%s\": want Managed, or nothing",
                       mode);
    }
    if (want->managed_groups && s->groups.n > 0) {
        want->groups = s->groups;
    } else if (want->managed_groups) {
        struct aws_group_want *g = ARENA_NEW(a, struct aws_group_want);
        g->name = s->nlb_group;
        g->description = AWS_NLB_GROUP_TEXT;
        g->tags = aws_group_tags(a, naming, s);
        g->rules = aws_managed_rules(a, s);
        want->own = g;
    }
    return ERR_OK;
}

int aws_nlb_desired(struct arena *a, const struct aws_naming *naming, const struct aws_service *s,
                    struct aws_texts subnets, struct aws_texts instances, struct aws_nlb_want *ret,
                    struct err *err)
{
    struct str_set ids = str_set_make(a, instances.items, instances.n);
    struct aws_nlb_want want = {.name = s->lb_name,
                                .internal = s->internal,
                                .health = {.protocol = "TCP", .port = "traffic-port", .path = ""},
                                .group_attributes = s->group_attributes,
                                .n_named_attributes = s->n_named_attributes,
                                .has_group_attributes = s->has_group_attributes,
                                .instances = {.items = ids.items, .n = ids.n}};
    if (s->err.code != ERR_OK) {
        return err_copy(err, &s->err);
    }
    /* Without a port that has a node port nothing is probed, and what the annotations say of
     * it is not read. */
    int rc = s->n_ports > 0 ? aws_nlb_health(a, naming, s->in, &want.health, err) : ERR_OK;
    if (rc == ERR_OK) {
        rc = choose_groups(a, naming, s, &want, err);
    }
    if (rc == ERR_OK) {
        rc = aws_nlb_attributes(a, s->in, &want.attributes, err);
    }
    if (rc == ERR_OK) {
        rc = map_subnets(a, s, subnets, &want, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    map_ports(a, naming, s, &want);
    want.tags = aws_balancer_tags(a, naming, s);
    *ret = want;
    return ERR_OK;
}
