/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe_around.c: what all Services share and a sync looks at: places and instances, and the
 * groups beside them.
 *
 * Subnets, route tables and zones change seldom: they are kept for ten minutes.  Security groups
 * and other Services stand in aws_observe_groups.c. */
#include "common/base/str.h"
#include "common/lb/mark_rules.h"
#include "common/lb/node_rules.h"
#include "providers/aws/aws_sync.h"

#include <string.h>

/* ---- places ---------------------------------------------------------------------------------- */

/* "us-east-1a" in "us-east-1": an availability zone by its name.  Local and Wavelength zones have
 * longer ones, and only AWS can tell what they are (4.9 item 6). */
static bool is_plain_zone(const char *zone, const char *region)
{
    size_t n = strlen(region);
    return str_has_prefix(zone, region) && zone[n] >= 'a' && zone[n] <= 'z' && zone[n + 1] == '\0';
}

static bool zones_are_plain(const struct aws_doc *subnets, const char *region)
{
    const struct aws_subnet *items = subnets->items;
    for (size_t i = 0; i < subnets->n; i++) {
        if (!is_plain_zone(items[i].zone, region)) {
            return false;
        }
    }
    return true;
}

/* An NLB that exists keeps its subnets, unless an option says otherwise: only their ranges are of
 * interest.  A classic one follows (4.6 item 1). */
static bool needs_tables(const struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_options *o = &y->p->naming.options;
    bool follows = it->service->kind == AWS_CLASSIC || o->nlb_subnets || o->replaces_scheme;
    bool is_new = it->service->kind == AWS_NLB && it->seen.nlb == NULL;
    return !it->service->has_subnets && (is_new || (follows && !aws_item_is_about_nodes(it)));
}

size_t aws_need_places(const struct aws_sync *y, const struct aws_item *it, struct aws_need *ret)
{
    int64_t not_older = aws_sync_facts_not_older(y);
    bool nothing = it->service->kind == AWS_CLASSIC && aws_item_is_about_nodes(it);
    if (!it->want || nothing) {
        return 0;
    }
    ret[0] = (struct aws_need){.kind = AWS_DOC_SUBNETS, .not_older_ms = not_older};
    ret[1] = (struct aws_need){.kind = AWS_DOC_ROUTE_TABLES, .not_older_ms = not_older};
    return needs_tables(y, it) ? 2 : 1;
}

int aws_observe_places(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    struct aws_need needs[2];
    size_t n = aws_need_places(y, it, needs);
    if (n == 0) {
        return ERR_OK;
    }
    if (aws_sync_read_all(y, needs, n, err) != ERR_OK) {
        return err->code;
    }
    struct aws_places *p = &it->around.places;
    p->own_subnet = y->p->own_subnet;
    p->subnets = needs[0].doc->items;
    p->n_subnets = needs[0].doc->n;
    if (n == 2) {
        p->tables = needs[1].doc->items;
        p->n_tables = needs[1].doc->n;
    }
    if (n < 2 || zones_are_plain(needs[0].doc, y->p->naming.region)) {
        return ERR_OK;
    }
    struct aws_need zones = {.kind = AWS_DOC_ZONES, .not_older_ms = aws_sync_facts_not_older(y)};
    if (aws_sync_read_all(y, &zones, 1, err) != ERR_OK) {
        return err->code;
    }
    p->zones = zones.doc->items;
    p->n_zones = zones.doc->n;
    return ERR_OK;
}

/* ---- instances ------------------------------------------------------------------------------- */

/* The sorted ids of all that are targets now. */
static struct str_set seen_targets(struct arena *a, const struct aws_observed *seen)
{
    size_t most = seen->classic != NULL ? seen->classic->instances.n : 0;
    for (size_t i = 0; i < seen->n_groups; i++) {
        most += seen->groups[i].targets.n;
    }
    const char **items = ARENA_ARRAY(a, const char *, most + 1);
    size_t n = 0;
    for (size_t i = 0; seen->classic != NULL && i < seen->classic->instances.n; i++) {
        items[n++] = seen->classic->instances.items[i];
    }
    for (size_t i = 0; i < seen->n_groups; i++) {
        for (size_t k = 0; k < seen->groups[i].targets.n; k++) {
            items[n++] = seen->groups[i].targets.items[k].id;
        }
    }
    return str_set_make(a, items, n);
}

/* The ids that are chosen, and those of nodes that are targets and take part at all: labels of
 * target-node-labels that no node has, or that were never carried out, take no node out. */
static struct aws_texts with_targets_of_now(struct aws_sync *y, const struct aws_item *it,
                                            const struct tt_node *const *nodes, size_t n,
                                            struct aws_texts chosen)
{
    const struct aws_tags any = {0};
    struct aws_texts all = aws_node_instances(y->s->a, nodes, n, &any, NULL);
    struct str_set targets = seen_targets(y->s->a, &it->seen);
    struct str_set fit = str_set_make(y->s->a, chosen.items, chosen.n);
    const char **kept = ARENA_ARRAY(y->s->a, const char *, all.n);
    size_t n_kept = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (str_set_has(&fit, all.items[i]) || str_set_has(&targets, all.items[i])) {
            kept[n_kept++] = all.items[i];
        }
    }
    return (struct aws_texts){.items = kept, .n = n_kept};
}

int aws_observe_instances(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    const struct tt_batch *batch = y->s->batch;
    struct aws_texts no_id = {0};
    size_t n_nodes = 0;
    if (!it->want) {
        return ERR_OK;
    }
    const struct tt_node **nodes = nodes_eligible(y->s->a, batch->nodes, batch->n_nodes, &n_nodes);
    struct aws_instances_need need = {.fresh = y->s->attempt > 0};
    need.ids = aws_node_instances(y->s->a, nodes, n_nodes, &it->service->node_labels, &no_id);
    it->around.no_node_fits = n_nodes > 0 && need.ids.n == 0 && no_id.n == 0;
    if (it->around.no_node_fits || lb_is_unproven(it->item->in)) {
        need.ids = with_targets_of_now(y, it, nodes, n_nodes, need.ids);
    }
    int rc = aws_cloud_instances(y->p->cloud, y->s->http, y->s->cancel, y->s->a, &need,
                                 &y->s->reads, err);
    if (rc != ERR_OK) {
        return rc;
    }
    it->around.instances = need.items;
    it->around.n_instances = need.n;
    for (size_t i = 0; i < need.n; i++) {
        y->scope->has_idle_instances =
            y->scope->has_idle_instances || !aws_instance_runs(&need.items[i]);
    }
    it->left_out_ids = need.left_out_ids;
    it->left_out = need.left_out;
    return ERR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int aws_observe_around(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    int rc = aws_observe_places(y, it, err);
    rc = rc == ERR_OK ? aws_observe_instances(y, it, err) : rc;
    rc = rc == ERR_OK ? aws_observe_groups(y, it, err) : rc;
    return rc == ERR_OK ? aws_observe_others(y, it, err) : rc;
}
