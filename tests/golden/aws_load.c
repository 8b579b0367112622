/* SPDX-License-Identifier: Apache-2.0 */
/* aws_load.c: see aws_load.h.
 *
 * The state goes through a cloud without a client, so that what a case says is decoded as an answer
 * of AWS would be; the documents are then copied into the world.  They are given back when the
 * arena goes, because the world borrows their text. */
#include "tests/golden/aws_load.h"

#include <string.h>

#include "common/base/clock.h"
#include "providers/aws/cloud/aws_cloud.h"
#include "providers/aws/cloud/aws_question.h"
#include "tests/support/clock_fake.h"

struct loader {
    struct aws_world *w;
    struct aws_cloud *cloud;
    struct err *err;
};

static void put_cloud(void *cloud)
{
    aws_cloud_free(cloud);
}

static void put_doc(void *doc)
{
    aws_doc_unref(doc);
}

static void put_clock(void *clock)
{
    clock_fake_free(clock);
}

/* The answer; an empty one when it failed (then *err is set). */
static const struct aws_doc *ask(struct loader *l, int kind, const char *key)
{
    static const struct aws_doc none = {.key = ""};
    struct aws_need need = {.kind = (enum aws_doc_kind)kind, .key = key};
    unsigned reads = 0;
    if (l->err->code != ERR_OK ||
        aws_cloud_read(l->cloud, NULL, NULL, &need, 1, &reads, l->err) != ERR_OK) {
        return &none;
    }
    arena_defer(l->w->a, put_doc, (void *)(uintptr_t)need.doc);
    return need.doc;
}

static size_t within(size_t n)
{
    return n < AWS_WORLD_MAX ? n : AWS_WORLD_MAX;
}

/* By ARN or name; none when it has none. */
static struct aws_tags tags_of(const struct aws_doc *all, const char *key)
{
    const struct aws_arn_tags *items = all->items;
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(items[i].arn, key)) {
            return items[i].tags;
        }
    }
    return (struct aws_tags){0};
}

static struct aws_tags attributes_of(struct loader *l, int kind, const char *key)
{
    const struct aws_doc *doc = ask(l, kind, key);
    return (struct aws_tags){doc->items, doc->n};
}

static void load_places(struct loader *l)
{
    const struct aws_doc *groups = ask(l, AWS_DOC_ALL_GROUPS, NULL);
    const struct aws_doc *subnets = ask(l, AWS_DOC_SUBNETS, NULL);
    const struct aws_group *g = groups->items;
    l->w->n_subnets = within(subnets->n);
    if (l->w->n_subnets > 0) {
        memcpy(l->w->subnets, subnets->items, l->w->n_subnets * sizeof l->w->subnets[0]);
    }
    for (size_t i = 0; i < within(groups->n); i++) {
        l->w->groups[l->w->n_groups++].group = g[i];
    }
    const struct aws_doc *tables = ask(l, AWS_DOC_ROUTE_TABLES, NULL);
    const struct aws_doc *zones = ask(l, AWS_DOC_ZONES, NULL);
    l->w->tables = tables->items;
    l->w->n_tables = tables->n;
    l->w->zones = zones->items;
    l->w->n_zones = zones->n;
}

static void load_nlbs(struct loader *l)
{
    struct aws_world *w = l->w;
    const struct aws_doc *nlbs = ask(l, AWS_DOC_NLBS, NULL);
    const struct aws_doc *tags = ask(l, AWS_DOC_ALL_TAGS, NULL);
    const struct aws_nlb *nlb = nlbs->items;
    for (size_t i = 0; i < within(nlbs->n); i++) {
        w->nlbs[w->n_nlbs++] = (struct aws_world_nlb){
            .nlb = nlb[i],
            .tags = tags_of(tags, nlb[i].arn),
            .attributes = attributes_of(l, AWS_DOC_NLB_ATTRIBUTES, nlb[i].arn),
        };
        const struct aws_doc *listeners = ask(l, AWS_DOC_LISTENERS, nlb[i].arn);
        const struct aws_listener *one = listeners->items;
        for (size_t k = 0; k < listeners->n && w->n_listeners < AWS_WORLD_MAX; k++) {
            w->listener_tags[w->n_listeners] = tags_of(tags, one[k].arn);
            w->listeners[w->n_listeners++] = one[k];
        }
    }
}

static void load_target_groups(struct loader *l)
{
    struct aws_world *w = l->w;
    const struct aws_doc *groups = ask(l, AWS_DOC_TARGET_GROUPS, NULL);
    const struct aws_doc *tags = ask(l, AWS_DOC_ALL_TAGS, NULL);
    const struct aws_target_group *g = groups->items;
    for (size_t i = 0; i < within(groups->n); i++) {
        const struct aws_doc *targets = ask(l, AWS_DOC_TARGETS, g[i].arn);
        w->target_groups[w->n_target_groups++] = (struct aws_world_target_group){
            .group = g[i],
            .tags = tags_of(tags, g[i].arn),
            .attributes = attributes_of(l, AWS_DOC_TARGET_GROUP_ATTRIBUTES, g[i].arn),
            .targets = {targets->items, targets->n},
        };
    }
}

static void load_classics(struct loader *l)
{
    struct aws_world *w = l->w;
    const struct aws_doc *all = ask(l, AWS_DOC_CLASSICS, NULL);
    const struct aws_doc *tags = ask(l, AWS_DOC_ALL_CLASSIC_TAGS, NULL);
    const struct aws_classic *c = all->items;
    for (size_t i = 0; i < within(all->n); i++) {
        const struct aws_doc *attributes = ask(l, AWS_DOC_CLASSIC_ATTRIBUTES, c[i].name);
        w->classics[w->n_classics] = c[i];
        w->classic_tags[w->n_classics] = tags_of(tags, c[i].name);
        if (attributes->n > 0) {
            const struct aws_classic_attributes *one = attributes->items;
            w->classic_attributes[w->n_classics] = *one;
        }
        w->n_classics++;
    }
}

static void load_instances(struct loader *l, struct aws_texts ids)
{
    struct aws_instances_need need = {.ids = ids};
    unsigned reads = 0;
    if (l->err->code != ERR_OK ||
        aws_cloud_instances(l->cloud, NULL, NULL, l->w->a, &need, &reads, l->err) != ERR_OK) {
        return;
    }
    for (size_t i = 0; i < need.n && i < ARRAY_LEN(l->w->instances); i++) {
        l->w->instances[l->w->n_instances++] = need.items[i];
    }
}

int aws_load_world(struct aws_world *w, const struct aws_naming *naming, const char *state,
                   struct aws_texts instances, struct err *err)
{
    struct clock *clock = clock_fake_new(1000, 1000000);
    const struct aws_cloud_config cfg = {.clock = clock, .naming = naming};
    struct loader l = {.w = w, .cloud = aws_cloud_new(&cfg), .err = err};
    arena_defer(w->a, put_clock, clock);
    arena_defer(w->a, put_cloud, l.cloud);
    if (aws_cloud_load(l.cloud, state, strlen(state), err) == ERR_OK) {
        load_places(&l);
        load_nlbs(&l);
        load_target_groups(&l);
        load_classics(&l);
        load_instances(&l, instances);
    }
    return err->code;
}
