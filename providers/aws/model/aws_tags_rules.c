/* SPDX-License-Identifier: Apache-2.0 */
/* aws_tags_rules.c: tags: of the cluster, of the Service, and those that its owner adds.
 *
 * What carries "kubernetes.io/cluster/ID" with any value, or "KubernetesCluster" with our id, is
 * *in* the cluster; what carries the first with the value "owned", or the second, was made for it
 * and may be deleted.  Keys are compared byte for byte.  Source: docs/spec/aws.md 1.4, 4.5, 4.9
 * item 1, 4.10, 4.14; vectors 11.9.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/str.h"

static int compare_tags(const void *x, const void *y)
{
    return strcmp(((const struct aws_tag *)x)->key, ((const struct aws_tag *)y)->key);
}

/* Puts a tag into a list that has room for it; a later value wins. */
static void put(struct aws_tag *items, size_t *n, const char *key, const char *value)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq(items[i].key, key)) {
            items[i].value = value;
            return;
        }
    }
    items[(*n)++] = (struct aws_tag){.key = key, .value = value};
}

static struct aws_tags sorted(struct aws_tag *items, size_t n)
{
    if (n > 0) {
        qsort(items, n, sizeof(*items), compare_tags);
    }
    return (struct aws_tags){.items = items, .n = n};
}

const char *aws_tag(const struct aws_tags *tags, const char *key)
{
    for (size_t i = 0; i < tags->n; i++) {
        if (str_eq(tags->items[i].key, key)) {
            return str_nonnull(tags->items[i].value);
        }
    }
    return NULL;
}

/* A pair and where it stood. */
struct pair {
    struct aws_tag tag;
    size_t at;
};

static int compare_pairs(const void *x, const void *y)
{
    const struct pair *a = x;
    const struct pair *b = y;
    int order = strcmp(a->tag.key, b->tag.key);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* Sorted; of equal keys the last one stays. */
static struct aws_tags last_ones(struct arena *a, struct pair *pairs, size_t n)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, n);
    size_t kept = 0;
    if (n > 0) {
        qsort(pairs, n, sizeof(*pairs), compare_pairs);
    }
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == n || !str_eq(pairs[i].tag.key, pairs[i + 1].tag.key)) {
            items[kept++] = pairs[i].tag;
        }
    }
    return (struct aws_tags){.items = items, .n = kept};
}

/* Text after a second "=" is dropped, and so are pieces without a key; blanks around "=" stay. */
struct aws_tags aws_pairs_read(struct arena *a, const char *text)
{
    size_t n_pieces;
    size_t n = 0;
    char **pieces = str_split(a, str_trim_unicode(a, str_nonnull(text)), ',', &n_pieces);
    struct pair *pairs = ARENA_ARRAY(a, struct pair, n_pieces);
    for (size_t i = 0; i < n_pieces; i++) {
        size_t sides;
        char **parts = str_split(a, str_trim_unicode(a, pieces[i]), '=', &sides);
        if (parts[0][0] != '\0') {
            pairs[n++] = (struct pair){{parts[0], sides > 1 ? parts[1] : ""}, i};
        }
    }
    return last_ones(a, pairs, n);
}

static const char *cluster_key(struct arena *a, const struct aws_naming *n)
{
    return arena_printf(a, AWS_CLUSTER_TAG_PREFIX "%s", n->cluster_id);
}

static struct aws_tags with_cluster(struct arena *a, const struct aws_naming *n,
                                    const struct aws_service *s, bool with_service)
{
    struct aws_tag *items = ARENA_ARRAY(a, struct aws_tag, s->extra_tags.n + 3);
    size_t used = 0;
    for (size_t i = 0; i < s->extra_tags.n; i++) {
        items[used++] = s->extra_tags.items[i];
    }
    if (with_service) {
        put(items, &used, AWS_SERVICE_TAG, s->key);
    }
    put(items, &used, cluster_key(a, n), "owned");
    if (n->legacy_tags) {
        put(items, &used, AWS_LEGACY_CLUSTER_TAG, n->cluster_id);
    }
    return sorted(items, used);
}

struct aws_tags aws_balancer_tags(struct arena *a, const struct aws_naming *n,
                                  const struct aws_service *s)
{
    return with_cluster(a, n, s, true);
}

struct aws_tags aws_group_tags(struct arena *a, const struct aws_naming *n,
                               const struct aws_service *s)
{
    return with_cluster(a, n, s, false);
}

/* ---- whose is it ----------------------------------------------------------------------------- */

/* The value of the new key with our id; NULL absent. */
static const char *new_value(const struct aws_naming *n, const struct aws_tags *tags)
{
    size_t prefix = strlen(AWS_CLUSTER_TAG_PREFIX);
    for (size_t i = 0; i < tags->n; i++) {
        if (str_has_prefix(tags->items[i].key, AWS_CLUSTER_TAG_PREFIX) &&
            str_eq(tags->items[i].key + prefix, n->cluster_id)) {
            return str_nonnull(tags->items[i].value);
        }
    }
    return NULL;
}

static bool has_legacy(const struct aws_naming *n, const struct aws_tags *tags)
{
    return !str_is_empty(n->cluster_id) &&
           str_eq(aws_tag(tags, AWS_LEGACY_CLUSTER_TAG), n->cluster_id);
}

bool aws_tags_are_cluster(const struct aws_naming *n, const struct aws_tags *tags)
{
    return has_legacy(n, tags) || (!str_is_empty(n->cluster_id) && new_value(n, tags) != NULL);
}

bool aws_tags_are_owned(const struct aws_naming *n, const struct aws_tags *tags)
{
    return has_legacy(n, tags) ||
           (!str_is_empty(n->cluster_id) && str_eq(new_value(n, tags), "owned"));
}

/* No tag says which cluster it belongs to: not even that it belongs to none. */
static bool tell_no_cluster(const struct aws_tags *tags)
{
    for (size_t i = 0; i < tags->n; i++) {
        if (str_has_prefix(tags->items[i].key, AWS_CLUSTER_TAG_PREFIX) ||
            str_eq(tags->items[i].key, AWS_LEGACY_CLUSTER_TAG)) {
            return false;
        }
    }
    return true;
}

bool aws_group_is_own(const struct aws_naming *n, const struct aws_service *s,
                      const struct aws_group *g)
{
    bool classic = str_eq(g->name, s->classic_group);
    bool nlb = str_eq(g->name, s->nlb_group);
    if ((!classic && !nlb) || !str_eq(g->vpc, n->vpc)) {
        return false;
    }
    bool described = classic ? str_has_prefix(g->description, AWS_CLASSIC_GROUP_TEXT " ")
                             : str_eq(g->description, AWS_NLB_GROUP_TEXT);
    return aws_tags_are_owned(n, &g->tags) || (described && tell_no_cluster(&g->tags));
}

bool aws_tags_are_foreign(const struct aws_naming *n, const struct aws_tags *tags)
{
    bool has_key = false;
    for (size_t i = 0; i < tags->n; i++) {
        has_key = has_key || str_has_prefix(tags->items[i].key, AWS_CLUSTER_TAG_PREFIX);
    }
    return has_key && !aws_tags_are_cluster(n, tags);
}

/* ---- repair, own id -------------------------------------------------------------------------- */

/* Absent and empty ones are to be fixed; another value is another program's. */
static int check_tag(const struct aws_tags *tags, const struct aws_tag *want, bool *ret_missing,
                     struct err *err)
{
    const char *is = aws_tag(tags, want->key);
    if (str_is_empty(is)) {
        *ret_missing = true;
        return ERR_OK;
    }
    if (str_eq(is, want->value)) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID,
                   "it belongs to another cluster: its tag %s is \"%s\", not \"%s\"; delete it, or "
                   "correct the tag",
                   want->key, is, want->value);
}

/* All of the cluster's tags are written when one is missing: writing one that is
 * there changes nothing. */
int aws_tags_repair(struct arena *a, const struct aws_naming *n, const struct aws_tags *tags,
                    struct aws_tags *ret, struct err *err)
{
    const struct aws_service none = {0};
    struct aws_tags want = with_cluster(a, n, &none, false);
    bool missing = false;
    int rc = ERR_OK;
    for (size_t i = 0; i < want.n && rc == ERR_OK; i++) {
        rc = check_tag(tags, &want.items[i], &missing, err);
    }
    if (rc == ERR_OK) {
        *ret = missing ? want : (struct aws_tags){0};
    }
    return rc;
}
