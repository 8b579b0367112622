/* SPDX-License-Identifier: Apache-2.0 */
/* aws_node_rules.c: nodes as targets: instance ids, labels, the security group of an instance.
 *
 * A provider id is "aws://[ACCOUNT]/[ZONE/]i-…", or the bare id.  Upstream also takes other
 * schemes, escapes and ids without a hexadecimal digit; such nodes are left out here with a reason
 * (docs/spec/aws.md 15 row 4).  Fargate nodes have an id that EC2 does not know: it is passed on
 * and never found.  Source: 4.11 item 5, 6.1, 6.2; vectors 11.8.  Part of aws_rules.h.  Pure. */
#include "providers/aws/model/aws_rules.h"

#include <string.h>

#include "common/base/hash.h"
#include "common/base/str.h"

#define SCHEME "aws://"

/* ---- provider ids ---------------------------------------------------------------------------- */

static bool is_instance_id(const char *id)
{
    static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return str_has_prefix(id, "i-") && id[2 + strspn(id + 2, plain)] == '\0' &&
           strpbrk(id + 2, "0123456789abcdefABCDEF") != NULL;
}

static bool is_fargate_id(const char *id)
{
    return str_has_prefix(id, "fargate-");
}

/* The host part is an account, perhaps with a user before and a port behind: it is not used, but
 * must be one.  Without percent signs, which are refused anywhere. */
static bool is_host(struct arena *a, const char *from, size_t n)
{
    static const char alnum[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *text = n > 0 ? arena_strndup(a, from, n) : ""; /* as nodes have it */
    const char *at = strrchr(text, '@');
    const char *p = at != NULL ? at + 1 : text;
    while (at != NULL && text < at) {
        if (strchr(alnum, *text) == NULL && strchr("-._:~!$&'()*+,;=@", *text) == NULL) {
            return false;
        }
        text++;
    }
    if (*p == '[') {
        p += 1 + strspn(p + 1, "0123456789abcdefABCDEF:.");
        if (*p++ != ']') {
            return false;
        }
    }
    while (*p != '\0' && *p != ':') {
        if (strchr(alnum, *p) == NULL && strchr("-._~!$&'()*+,;=<>\"", *p) == NULL &&
            (unsigned char)*p < 0x80) {
            return false;
        }
        p++;
    }
    return *p == '\0' || p[1 + strspn(p + 1, "0123456789")] == '\0';
}

/* The last piece of the path, in place where that ends it; NULL when there is none. */
static const char *last_piece(struct arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/') {
        n--;
    }
    size_t start = n;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    if (n == start) {
        return NULL;
    }
    return path[n] == '\0' ? path + start : arena_strndup(a, path + start, n - start);
}

int aws_instance_id(struct arena *a, const char *provider_id, const char **ret, struct err *err)
{
    const char *text = str_nonnull(provider_id);
    const char *id = last_piece(a, text);
    if (text[0] == '\0') {
        return err_set(err, ERR_INVALID, "it has no spec.providerID yet");
    }
    if (str_has_prefix(text, SCHEME)) {
        const char *host = text + strlen(SCHEME);
        const char *path = strchr(host, '/');
        bool good = path != NULL && is_host(a, host, (size_t)(path - host));
        id = good ? last_piece(a, path) : NULL;
    } else if (id != NULL && id != text && !str_has_prefix(text, id)) {
        id = NULL; /* a bare id is one piece, whatever follows it */
    }
    if (id == NULL || strpbrk(text, "%?#") != NULL || !(is_instance_id(id) || is_fargate_id(id))) {
        return err_set(err, ERR_INVALID,
                       "spec.providerID: \"%s\": want aws:///ZONE/i-0123456789abcdef0", text);
    }
    *ret = id;
    return ERR_OK;
}

/* ---- which nodes ----------------------------------------------------------------------------- */

static const char *label(const struct tt_node *node, const char *key)
{
    for (uint32_t i = 0; i < node->n_labels; i++) {
        if (str_eq(node->labels[i].key, key)) {
            return str_nonnull(node->labels[i].value);
        }
    }
    return NULL;
}

/* An empty wanted value asks for the key alone. */
bool aws_node_has_labels(const struct tt_node *node, const struct aws_tags *labels)
{
    for (size_t i = 0; i < labels->n; i++) {
        const char *is = label(node, labels->items[i].key);
        if (is == NULL ||
            (!str_is_empty(labels->items[i].value) && !str_eq(is, labels->items[i].value))) {
            return false;
        }
    }
    return true;
}

static uint64_t add_text(uint64_t h, const char *text)
{
    text = str_nonnull(text);
    return hash_quick(h, text, strlen(text) + 1);
}

uint64_t aws_node_labels_digest(const struct tt_node *node)
{
    uint64_t h = 1;
    for (uint32_t i = 0; i < node->n_labels; i++) {
        h = add_text(add_text(h, node->labels[i].key), node->labels[i].value);
    }
    return h | 1;
}

uint64_t aws_nodes_digest(const struct aws_tags *labels, const struct tt_node *const *nodes,
                          size_t n)
{
    uint64_t sum = 0;
    uint64_t wish = 1;
    for (size_t i = 0; i < labels->n; i++) {
        wish = add_text(add_text(wish, labels->items[i].key), labels->items[i].value);
    }
    for (size_t i = 0; i < n; i++) {
        bool eligible = (nodes[i]->flags & TT_NODE_ELIGIBLE) != 0;
        sum += eligible && aws_node_has_labels(nodes[i], labels) ? add_text(1, nodes[i]->name) : 0;
    }
    return hash_quick(wish, &sum, sizeof(sum)) | 1;
}

struct aws_texts aws_node_instances(struct arena *a, const struct tt_node *const *nodes, size_t n,
                                    const struct aws_tags *labels, struct aws_texts *ret_left_out)
{
    const char **ids = ARENA_ARRAY(a, const char *, n);
    const char **left_out = ARENA_ARRAY(a, const char *, n);
    size_t n_ids = 0;
    size_t n_left_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        if (!aws_node_has_labels(nodes[i], labels)) {
            continue;
        }
        if (aws_instance_id(a, nodes[i]->provider_id, &ids[n_ids], &err) == ERR_OK) {
            n_ids++;
        } else {
            left_out[n_left_out++] =
                arena_printf(a, "node %s is left out: %s", nodes[i]->name, err.message);
        }
    }
    if (ret_left_out != NULL) {
        *ret_left_out = (struct aws_texts){.items = left_out, .n = n_left_out};
    }
    return (struct aws_texts){.items = ids, .n = n_ids};
}

bool aws_instance_runs(const struct aws_instance *instance)
{
    return str_is_empty(instance->state) || str_eq(instance->state, "running");
}

/* ---- the group of an instance ---------------------------------------------------------------- */

static int refuse_groups(struct arena *a, const struct aws_instance *instance,
                         const struct aws_group_ref *const *groups, size_t n, const char *what,
                         struct err *err)
{
    const char **texts = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        texts[i] = arena_printf(a, "%s(%s)", groups[i]->id, str_nonnull(groups[i]->name));
    }
    return err_set(err, ERR_INVALID,
                   "instance %s has several security groups %s the cluster's tag: %s; tag the one "
                   "whose rules are for load balancers, and only that",
                   instance->id, what, str_join(a, texts, n, " "));
}

int aws_node_group(struct arena *a, const struct aws_instance *instance,
                   const struct str_set *tagged, const char **ret, struct err *err)
{
    if (instance->n_groups == 1) { /* most have one, and thousands are checked */
        *ret = str_or(instance->groups[0].id, NULL);
        return ERR_OK;
    }
    const struct aws_group_ref **with =
        ARENA_ARRAY(a, const struct aws_group_ref *, instance->n_groups);
    const struct aws_group_ref **without =
        ARENA_ARRAY(a, const struct aws_group_ref *, instance->n_groups);
    size_t n_with = 0;
    size_t n_without = 0;
    for (size_t i = 0; i < instance->n_groups; i++) {
        const struct aws_group_ref *g = &instance->groups[i];
        if (str_is_empty(g->id)) {
            continue;
        }
        if (str_set_has(tagged, g->id)) {
            with[n_with++] = g;
        } else {
            without[n_without++] = g;
        }
    }
    if (n_with > 1) {
        return refuse_groups(a, instance, with, n_with, "with", err);
    }
    if (n_with == 0 && n_without > 1) {
        return refuse_groups(a, instance, without, n_without, "without", err);
    }
    if (n_with == 1) {
        *ret = with[0]->id;
    } else {
        *ret = n_without == 1 ? without[0]->id : NULL;
    }
    return ERR_OK;
}
