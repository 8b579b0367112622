/* SPDX-License-Identifier: Apache-2.0 */
/* node_sets.c: see node_sets.h. */
#include "controller/sync/node_sets.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/lock.h"
#include "common/base/str.h"
#include "common/lb/node_rules.h"
#include "controller/base/guard.h"

struct node_sets {
    struct mutex lock;
    uint64_t version _guarded_by_(lock); /* of the list that `last` is of; 0: none yet */
    struct node_set last _guarded_by_(lock);
};

struct node_sets *node_sets_new(void)
{
    struct node_sets *c = xcalloc(1, sizeof(*c));

    mutex_init(&c->lock);
    return c;
}

void node_sets_free(struct node_sets *c)
{
    if (c != NULL) {
        mutex_done(&c->lock);
        free(c);
    }
}

static uint64_t digest_of(const struct tt_provider *desc, void *provider,
                          const struct tt_node *node)
{
    struct guard_mark mark = {.function = "node_digest"};

    if (desc->node_digest == NULL) {
        return 0;
    }
    guard_enter(&mark);
    uint64_t digest = desc->node_digest(provider, node);
    guard_leave(&mark);
    return digest;
}

/* A sum, as nodes_fingerprint() is: a node that concerns no Service adds nothing. */
static struct node_set look(const struct tt_provider *desc, void *provider,
                            const struct tt_node *const *nodes, size_t n)
{
    struct node_set set = {.digests.eligible = nodes_fingerprint(nodes, n)};

    for (size_t i = 0; i < n; i++) {
        set.n_eligible += (nodes[i]->flags & TT_NODE_ELIGIBLE) != 0;
        uint64_t digest = digest_of(desc, provider, nodes[i]);
        if (digest != 0) {
            uint64_t h = hash_bytes(0, nodes[i]->name, strlen(nodes[i]->name));
            set.digests.own += hash_bytes(h, &digest, sizeof(digest)) | 1;
        }
    }
    return set;
}

struct node_set node_sets_of(struct node_sets *c, const struct tt_provider *desc, void *provider,
                             const struct kube_snapshot *nodes)
{
    mutex_lock(&c->lock);
    struct node_set set = c->last;
    bool known = c->version != 0 && c->version == nodes->version;
    mutex_unlock(&c->lock);
    if (known) {
        return set;
    }
    set = look(desc, provider, (const struct tt_node *const *)nodes->views, nodes->n);
    mutex_lock(&c->lock);
    if (nodes->version > c->version) { /* a slower thread may come with an older list */
        c->version = nodes->version;
        c->last = set;
    }
    mutex_unlock(&c->lock);
    return set;
}

uint64_t node_sets_of_service(const struct tt_provider *desc, void *provider,
                              const struct tt_service *service, const struct kube_snapshot *nodes)
{
    char key[GUARD_KEY_MAX];

    if (desc->nodes_digest == NULL) {
        return 0;
    }
    struct guard_mark mark = {.function = "nodes_digest", .key = guard_key(key, service)};
    guard_enter(&mark);
    uint64_t digest = desc->nodes_digest(
        provider, service, (const struct tt_node *const *)nodes->views, (uint32_t)nodes->n);
    guard_leave(&mark);
    return digest;
}

bool node_sets_matters(const struct tt_provider *desc, void *provider, const struct tt_node *old,
                       const struct tt_node *cur)
{
    return node_should_sync(old, cur) || nodes_fingerprint(&old, 1) != nodes_fingerprint(&cur, 1) ||
           digest_of(desc, provider, old) != digest_of(desc, provider, cur);
}
