/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe_groups.c: the security groups that a sync looks at.
 *
 * Groups of the cluster come in one list, with their rules; a group of a node that has no tag of
 * the cluster is asked for by id.  Whose group names the own one as a source is asked only when the
 * own one could not be deleted (7.4): that is seen by a Service that goes, has no balancer any
 * more, and still has its group. */
#include "common/base/str.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- security groups ------------------------------------------------------------------------- */

static int compare_groups(const void *x, const void *y)
{
    const struct aws_group *const *a = x;
    const struct aws_group *const *b = y;
    return strcmp((*a)->id, (*b)->id);
}

/* The groups of several documents, each once, by id. */
static const struct aws_group **list_groups(struct arena *a, const struct aws_doc *const *docs,
                                            size_t n_docs, size_t *ret_n)
{
    size_t most = 1;
    for (size_t i = 0; i < n_docs; i++) {
        most += docs[i]->n;
    }
    const struct aws_group **all = ARENA_ARRAY(a, const struct aws_group *, most);
    size_t n = 0;
    for (size_t i = 0; i < n_docs; i++) {
        const struct aws_group *items = docs[i]->items;
        for (size_t k = 0; k < docs[i]->n; k++) {
            all[n++] = &items[k];
        }
    }
    if (n_docs > 1) { /* one is in order */
        qsort(all, n, sizeof(*all), compare_groups);
    }
    size_t unique = 0;
    for (size_t i = 0; i < n; i++) {
        if (unique == 0 || !str_eq(all[unique - 1]->id, all[i]->id)) {
            all[unique++] = all[i];
        }
    }
    *ret_n = unique;
    return all;
}

/* A look that is guarded sees what others had changed when it began, whenever the sync did. */
static int64_t groups_not_older(const struct aws_sync *y)
{
    return y->scope->guards ? INT64_MAX : aws_sync_not_older(y);
}

struct aws_need aws_need_tagged_groups(const struct aws_sync *y)
{
    return (struct aws_need){.kind = AWS_DOC_TAGGED_GROUPS, .not_older_ms = groups_not_older(y)};
}

/* Groups that the balancers of a Service that goes have, and one that was made for it a moment ago:
 * EC2 may not have shown them, or their tags, in its list yet.  Returns how many. */
static size_t named_ids(const struct aws_sync *y, const struct aws_item *it, const char **ret,
                        const char **ret_made)
{
    const struct aws_texts none = {0};
    const struct aws_texts *texts[] = {
        it->seen.classic != NULL ? &it->seen.classic->groups : &none,
        it->seen.nlb != NULL ? &it->seen.nlb->groups : &none,
    };
    size_t n = 0;
    *ret_made = aws_memory_group(y->p->memory, y->s->a, it->service->in->uid,
                                 y->scope->started_ms - AWS_SHOWN_AFTER_MS);
    for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
        for (size_t i = 0; i < texts[k]->n; i++) {
            ret[n++] = texts[k]->items[i];
        }
    }
    if (*ret_made != NULL) {
        ret[n++] = *ret_made;
    }
    return n;
}

/* The same as a key, without those that the list has; NULL: none. */
static const char *unlisted_ids(const struct aws_sync *y, const struct aws_item *it,
                                const char **ret_made)
{
    size_t most = 1 + (it->seen.classic != NULL ? it->seen.classic->groups.n : 0) +
                  (it->seen.nlb != NULL ? it->seen.nlb->groups.n : 0);
    const char **ids = ARENA_ARRAY(y->s->a, const char *, most);
    struct str_set set = str_set_make(y->s->a, ids, named_ids(y, it, ids, ret_made));
    set = str_set_minus(y->s->a, &set, &it->around.tagged);
    return set.n > 0 ? str_set_text(y->s->a, &set, ",") : NULL;
}

static bool doc_has_group(const struct aws_doc *doc, const char *id)
{
    const struct aws_group *items = doc->items;
    for (size_t i = 0; i < doc->n; i++) {
        if (str_eq(items[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* A group that EC2 does not show can be neither deleted nor forgotten: the Service comes back. */
static int read_named(struct aws_sync *y, struct aws_item *it, const struct aws_doc **ret,
                      struct err *err)
{
    const char *made = NULL;
    const char *ids = unlisted_ids(y, it, &made);
    if (ids == NULL) {
        return ERR_OK;
    }
    *ret = aws_sync_read(y, AWS_DOC_GROUPS, ids, groups_not_older(y), err);
    bool listed = made == NULL || str_set_has(&it->around.tagged, made);
    if (*ret != NULL && !listed && !doc_has_group(*ret, made)) {
        (void)err_set(err, ERR_IN_PROGRESS,
                      "security group %s was made a moment ago and is not shown by EC2 yet", made);
        err->retry_after_ms = AWS_SHOWN_POLL_MS;
        return err->code;
    }
    return *ret != NULL ? ERR_OK : err->code;
}

/* A Service that goes may have left a group, whose tags may have been taken off: once its
 * balancers have gone, its names alone find it. */
static int read_left(struct aws_sync *y, struct aws_item *it, const struct aws_doc **ret,
                     struct err *err)
{
    const char *names[] = {it->service->classic_group, it->service->nlb_group};
    struct str_set set = str_set_make(y->s->a, names, ARRAY_LEN(names));
    if (it->seen.classic != NULL || it->seen.nlb != NULL || aws_has_own_group(y, it)) {
        return ERR_OK;
    }
    *ret = aws_sync_read(y, AWS_DOC_GROUPS_NAMED, str_set_text(y->s->a, &set, ","),
                         groups_not_older(y), err);
    return *ret != NULL ? ERR_OK : err->code;
}

/* A group of the name that is to be made is there, but not in the list: it has lost its tags. */
static int read_own(struct aws_sync *y, struct aws_item *it, const struct aws_doc **ret,
                    struct err *err)
{
    const char *names =
        it->service->kind == AWS_NLB ? it->service->nlb_group : it->service->classic_group;
    *ret = aws_sync_read(y, AWS_DOC_GROUPS_NAMED, names, groups_not_older(y), err);
    return *ret != NULL ? ERR_OK : err->code;
}

/* The groups of the balancer that the Service has of its kind; NULL: it has none. */
static const struct aws_texts *groups_of_balancer(const struct aws_item *it)
{
    const struct aws_observed *seen = &it->seen;
    if (it->service->kind == AWS_NLB) {
        return seen->nlb != NULL ? &seen->nlb->groups : NULL;
    }
    bool classic = it->service->kind == AWS_CLASSIC && seen->classic != NULL;
    return classic ? &seen->classic->groups : NULL;
}

/* An NLB takes named groups in mode Managed alone, and only if it was made with groups; its owner
 * reads that the annotation has no effect. */
static bool takes_named(const struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_nlb *nlb = it->seen.nlb;
    return it->service->kind != AWS_NLB ||
           (str_eq(y->p->naming.nlb_group_mode, "Managed") && (nlb == NULL || nlb->groups.n > 0));
}

/* Groups that a Service names and the list lacks: sorted ids. */
static struct str_set named_by_service(const struct aws_sync *y, const struct aws_item *it)
{
    const struct aws_service *s = it->service;
    if (!takes_named(y, it)) {
        return (struct str_set){0};
    }
    const char **ids = ARENA_ARRAY(y->s->a, const char *, s->groups.n + s->extra_groups.n);
    size_t n = 0;
    for (size_t i = 0; i < s->groups.n; i++) {
        ids[n++] = s->groups.items[i];
    }
    for (size_t i = 0; i < s->extra_groups.n; i++) {
        ids[n++] = s->extra_groups.items[i];
    }
    struct str_set wanted = str_set_make(y->s->a, ids, n);
    return str_set_minus(y->s->a, &wanted, &it->around.tagged);
}

/* Of these groups those that were made for the Service: the list lacks them because they
 * have lost their tags. */
static const struct aws_doc *own_ones(const struct aws_sync *y, const struct aws_item *it,
                                      const struct aws_doc *doc)
{
    const struct aws_group *items = doc->items;
    struct aws_group *own = ARENA_ARRAY(y->s->a, struct aws_group, doc->n);
    struct aws_doc *ret = ARENA_NEW(y->s->a, struct aws_doc);
    ret->items = own;
    for (size_t i = 0; i < doc->n; i++) {
        if (aws_is_own_group(y, it, &items[i])) {
            own[ret->n++] = items[i];
        }
    }
    return ret->n > 0 ? ret : NULL;
}

/* Reads them and those of the balancer, so that it is known which clients they let in.  One that
 * is not there is found before anything is opened for it or taken away; what the balancer has
 * already, or a new one will have, needs no such look, and nodes follow whatever is named. */
static int observe_named(struct aws_sync *y, struct aws_item *it, const struct aws_doc **ret,
                         struct err *err)
{
    struct str_set named = named_by_service(y, it);
    const struct aws_texts *has = groups_of_balancer(it);
    struct str_set there = {0};
    if (has != NULL) {
        there = str_set_make(y->s->a, has->items, has->n);
    }
    struct str_set unlisted = str_set_minus(y->s->a, &there, &it->around.tagged);
    struct str_set all = str_set_union(y->s->a, &named, &unlisted);
    if (all.n == 0) {
        return ERR_OK;
    }
    bool checked = has != NULL && !aws_item_is_about_nodes(it);
    struct str_set anew = str_set_minus(y->s->a, &named, &there);
    struct err unread = ERR_INIT;
    const struct aws_doc *doc = aws_sync_read(y, AWS_DOC_GROUPS, str_set_text(y->s->a, &all, ","),
                                              groups_not_older(y), &unread);
    if (doc == NULL) {
        return checked && anew.n > 0 ? err_copy(err, &unread) : ERR_OK;
    }
    it->around.named = doc->items;
    it->around.n_named = doc->n;
    *ret = own_ones(y, it, doc);
    const char *id;
    STR_SET_EACH (id, &anew) {
        if (checked && !doc_has_group(doc, id)) {
            return err_set(err, ERR_TRANSIENT,
                           "security group %s, which the Service names, does not exist; its load "
                           "balancer stays as it is",
                           id);
        }
    }
    return ERR_OK;
}

/* Groups of instances that are not in the list: ids, sorted, comma separated; NULL: none. */
static const char *untagged_ids(struct arena *a, const struct aws_item *it,
                                const struct str_set *tagged)
{
    size_t most = 1;
    for (size_t i = 0; i < it->around.n_instances; i++) {
        most += it->around.instances[i].n_groups;
    }
    const char **ids = ARENA_ARRAY(a, const char *, most);
    size_t n = 0;
    for (size_t i = 0; i < it->around.n_instances; i++) {
        const struct aws_instance *in = &it->around.instances[i];
        bool has_tagged = false;
        for (size_t k = 0; k < in->n_groups; k++) {
            has_tagged = has_tagged || str_set_has(tagged, in->groups[k].id);
        }
        for (size_t k = 0; !has_tagged && k < in->n_groups; k++) {
            ids[n++] = in->groups[k].id;
        }
    }
    struct str_set set = str_set_make(a, ids, n);
    return set.n > 0 ? str_set_text(a, &set, ",") : NULL;
}

bool aws_is_own_group(const struct aws_sync *y, const struct aws_item *it,
                      const struct aws_group *g)
{
    return aws_group_is_own(&y->p->naming, it->service, g);
}

bool aws_has_own_group(const struct aws_sync *y, const struct aws_item *it)
{
    for (size_t i = 0; i < it->around.n_groups; i++) {
        if (aws_is_own_group(y, it, it->around.groups[i])) {
            return true;
        }
    }
    return false;
}

static int observe_referring(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    bool stuck = !it->want && it->seen.classic == NULL && it->seen.nlb == NULL;
    if (!stuck || !aws_has_own_group(y, it)) {
        return ERR_OK;
    }
    struct aws_need *needs = ARENA_ARRAY(y->s->a, struct aws_need, it->around.n_groups);
    const struct aws_doc **docs = ARENA_ARRAY(y->s->a, const struct aws_doc *, it->around.n_groups);
    size_t n = 0;
    for (size_t i = 0; i < it->around.n_groups; i++) {
        if (aws_is_own_group(y, it, it->around.groups[i])) {
            needs[n++] = (struct aws_need){.kind = AWS_DOC_GROUPS_REFERRING,
                                           .key = it->around.groups[i]->id,
                                           .not_older_ms = aws_sync_not_older(y)};
        }
    }
    if (aws_sync_read_all(y, needs, n, err) != ERR_OK) {
        return err->code;
    }
    for (size_t i = 0; i < n; i++) {
        docs[i] = needs[i].doc;
    }
    it->around.referring = list_groups(y->s->a, docs, n, &it->around.n_referring);
    return ERR_OK;
}

/* Ids of those that bear the cluster's tag: EC2's list may not have all of them yet. */
static struct str_set tagged_ids(const struct aws_sync *y, const struct aws_group *const *groups,
                                 size_t n)
{
    const char **ids = ARENA_ARRAY(y->s->a, const char *, n + 1);
    size_t n_ids = 0;
    for (size_t i = 0; i < n; i++) {
        if (aws_tags_are_cluster(&y->p->naming, &groups[i]->tags)) {
            ids[n_ids++] = groups[i]->id;
        }
    }
    return str_set_make(y->s->a, ids, n_ids);
}

/* Rules that lists do not show yet count; those that they still show do not (aws_written.h). */
static void correct_rules(const struct aws_sync *y, const struct aws_group **groups, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct aws_group *shown = groups[i];
        struct aws_rules rules = aws_written_correct(y->p->written, y->s->a, shown->id,
                                                     &shown->rules, clock_now_ms(y->s->clock));
        if (rules.items != shown->rules.items) {
            struct aws_group *is = ARENA_NEW(y->s->a, struct aws_group);
            *is = *shown;
            is->rules = rules;
            groups[i] = is;
        }
    }
}

static void take_groups(struct aws_sync *y, struct aws_item *it, const struct aws_doc *const *docs,
                        size_t n)
{
    const struct aws_group **groups = list_groups(y->s->a, docs, n, &it->around.n_groups);
    correct_rules(y, groups, it->around.n_groups);
    it->around.groups = groups;
    it->around.tagged = tagged_ids(y, it->around.groups, it->around.n_groups);
}

/* The list, what is looked for by id or name beside it, and groups of nodes that are in neither. */
int aws_observe_groups(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    const struct aws_doc *docs[3] = {it->tagged_groups};
    if (docs[0] == NULL) {
        docs[0] = aws_sync_read(y, AWS_DOC_TAGGED_GROUPS, NULL, groups_not_older(y), err);
    }
    size_t n = 1;
    int rc = docs[0] != NULL ? ERR_OK : err->code;
    if (rc != ERR_OK) {
        return rc;
    }
    take_groups(y, it, docs, n);
    if (!it->want) {
        rc = read_named(y, it, &docs[n], err);
        rc = rc == ERR_OK && docs[n] == NULL ? read_left(y, it, &docs[n], err) : rc;
    } else {
        rc = observe_named(y, it, &docs[n], err);
        if (rc == ERR_OK && docs[n] == NULL && y->s->attempt > 0) {
            rc = read_own(y, it, &docs[n], err);
        }
    }
    if (rc != ERR_OK) {
        return rc;
    }
    n += docs[n] != NULL;
    const char *untagged =
        y->p->naming.no_node_rules ? NULL : untagged_ids(y->s->a, it, &it->around.tagged);
    if (untagged != NULL) {
        docs[n] = aws_sync_read(y, AWS_DOC_GROUPS, untagged, groups_not_older(y), err);
        rc = docs[n] != NULL ? ERR_OK : err->code;
        n += docs[n] != NULL;
    }
    if (rc != ERR_OK) {
        return rc;
    }
    if (n > 1) {
        take_groups(y, it, docs, n);
    }
    return observe_referring(y, it, err);
}
