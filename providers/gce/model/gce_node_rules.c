/* SPDX-License-Identifier: Apache-2.0 */
/* gce_node_rules.c: see gce_node_rules.h. */
#include "providers/gce/model/gce_node_rules.h"

#include "common/base/str.h"

#include <string.h>

#define ZONE_LABEL      "topology.kubernetes.io/zone"
#define ZONE_LABEL_BETA "failure-domain.beta.kubernetes.io/zone"

static const char *label(const struct tt_node *n, const char *key)
{
    for (uint32_t i = 0; i < n->n_labels; i++) {
        if (str_eq(n->labels[i].key, key)) {
            return str_nonnull(n->labels[i].value);
        }
    }
    return NULL;
}

const char *gce_node_zone(const struct tt_node *n)
{
    const char *zone = label(n, ZONE_LABEL);
    if (zone == NULL) {
        zone = label(n, ZONE_LABEL_BETA);
    }
    return str_nonnull(zone);
}

static bool is_number(const char *s)
{
    return *s != '\0' && strspn(s, "0123456789") == strlen(s);
}

/* As gce_region_of_zone() would say; without a copy, because this is asked for every node
 * at every sync. */
static bool zone_is_in(const char *zone, const char *region)
{
    const char *dash = strrchr(zone, '-');
    size_t n = dash == NULL ? 0 : (size_t)(dash - zone);
    return dash != NULL && strlen(region) == n && memcmp(zone, region, n) == 0;
}

/* Why this instance cannot be a member, or NULL. */
static const char *misfit(struct arena *a, const struct gce_instance_id *id, const char *project,
                          const char *region)
{
    if (!zone_is_in(id->zone, region)) {
        return arena_printf(a, "its instance is in %s, outside region %s", id->zone, region);
    }
    if (!is_number(project) && !str_eq(id->project, project)) {
        return arena_printf(a, "its instance is in project %s", id->project);
    }
    return NULL;
}

void gce_members_of(struct arena *a, const struct tt_node *const *nodes, size_t n,
                    const char *project, const char *region, struct gce_members *ret)
{
    struct gce_members m = {
        .ids = ARENA_ARRAY(a, struct gce_instance_id, n),
        .left_out = ARENA_ARRAY(a, struct gce_left_out, n),
    };
    const char **paths = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        struct gce_instance_id id;
        const char *because = NULL;
        if ((nodes[i]->flags & TT_NODE_ELIGIBLE) == 0) {
            continue;
        }
        m.n_eligible++;
        if (str_is_empty(nodes[i]->provider_id)) {
            because = "it has no providerID yet";
        } else if (gce_instance_from_provider_id(a, nodes[i]->provider_id, &id, NULL) != ERR_OK) {
            because = arena_printf(a, "its providerID %s names no instance", nodes[i]->provider_id);
        } else {
            because = misfit(a, &id, project, region);
        }
        if (because != NULL) {
            m.left_out[m.n_left_out++] =
                (struct gce_left_out){.node = nodes[i]->name, .because = because};
            continue;
        }
        const char *const parts[] = {"/zones", id.zone, "instances", id.name};
        paths[m.n_ids] = str_join(a, parts, ARRAY_LEN(parts), "/");
        m.ids[m.n_ids++] = id;
    }
    m.paths = str_set_make(a, paths, m.n_ids);
    *ret = m;
}

static const char *longest_prefix_tag(const struct gce_instance *in)
{
    const char *best = NULL;
    for (size_t i = 0; i < in->tags.n; i++) {
        const char *tag = in->tags.items[i];
        if (str_has_prefix(in->name, tag) && (best == NULL || strlen(tag) > strlen(best))) {
            best = tag;
        }
    }
    return str_is_empty(best) ? NULL : best;
}

static const char *place(struct arena *a, const char *zone, const char *name)
{
    return arena_printf(a, "%s/%s", str_nonnull(zone), str_nonnull(name));
}

static struct str_set places_of(struct arena *a, const struct gce_instance_id *hosts, size_t n)
{
    const char **places = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        places[i] = place(a, hosts[i].zone, hosts[i].name);
    }
    return str_set_make(a, places, n);
}

int gce_host_tags(struct arena *a, const struct gce_instance_id *hosts, size_t n_hosts,
                  const struct gce_instance *instances, size_t n_instances, struct str_set *ret,
                  struct err *err)
{
    const char **tags = ARENA_ARRAY(a, const char *, n_instances);
    const struct str_set wanted = places_of(a, hosts, n_hosts);
    size_t n = 0;
    for (size_t i = 0; i < n_instances; i++) {
        const struct gce_instance *in = &instances[i];
        if (!str_set_has(&wanted, place(a, gce_link_last(in->zone), in->name))) {
            continue;
        }
        const char *tag = longest_prefix_tag(in);
        if (tag == NULL) {
            return err_set(err, ERR_INVALID,
                           "could not find any tag that is a prefix of instance name for "
                           "instance %s",
                           in->name);
        }
        tags[n++] = tag;
    }
    if (n == 0) {
        return err_set(err, ERR_INVALID, "no instances found");
    }
    *ret = str_set_make(a, tags, n);
    return ERR_OK;
}

char *gce_instances_filter(struct arena *a, const char *prefix)
{
    return arena_printf(a, "name eq %s.*", str_nonnull(prefix));
}
