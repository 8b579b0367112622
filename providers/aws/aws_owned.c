/* SPDX-License-Identifier: Apache-2.0 */
/* aws_owned.c: everything in the cloud that has a name and tag of ours (list_owned, provider.h),
 * for `trimtab orphans`.
 *
 * Balancers, target groups and security groups are listed whole; tags are asked for, twenty at a
 * time, of those whose names could be ours.  Reads only. */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/aws/aws_owned_rules.h"
#include "providers/aws/aws_session.h"

#define TAGS_PER_CALL 20

static void count_service(void *arg, const struct tt_service *svc)
{
    aws_owned_count(arg, svc);
}

/* Tags of many things, in as few calls as AWS allows; put() gets each. */
struct ask {
    struct aws_session *x;
    enum aws_doc_kind kind;
    void (*put)(struct aws_owned_list *l, const struct aws_arn_tags *tags,
                const struct aws_doc *all);
    const struct aws_doc *all;
    const char *names[TAGS_PER_CALL];
    size_t n;
};

static int ask_now(struct ask *q, struct aws_owned_list *l, struct err *err)
{
    if (q->n == 0) {
        return ERR_OK;
    }
    struct str_set set = str_set_make(l->a, q->names, q->n);
    const struct aws_doc *doc = aws_sync_read(&q->x->y, q->kind, str_set_text(l->a, &set, ","),
                                              q->x->scope.started_ms, err);
    q->n = 0;
    const struct aws_arn_tags *items = doc != NULL ? doc->items : NULL;
    for (size_t i = 0; doc != NULL && i < doc->n; i++) {
        q->put(l, &items[i], q->all);
    }
    return doc != NULL ? ERR_OK : err->code;
}

static int ask_for(struct ask *q, struct aws_owned_list *l, const char *name, struct err *err)
{
    q->names[q->n++] = name;
    return q->n == TAGS_PER_CALL ? ask_now(q, l, err) : ERR_OK;
}

static void put_classic(struct aws_owned_list *l, const struct aws_arn_tags *tags,
                        const struct aws_doc *all)
{
    (void)all;
    aws_owned_classic(l, tags->arn, &tags->tags);
}

static void put_nlb(struct aws_owned_list *l, const struct aws_arn_tags *tags,
                    const struct aws_doc *all)
{
    const struct aws_nlb *items = all->items;
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(items[i].arn, tags->arn)) {
            aws_owned_nlb(l, &items[i], &tags->tags);
        }
    }
}

static void put_target_group(struct aws_owned_list *l, const struct aws_arn_tags *tags,
                             const struct aws_doc *all)
{
    const struct aws_target_group *items = all->items;
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(items[i].arn, tags->arn)) {
            aws_owned_target_group(l, &items[i], &tags->tags);
        }
    }
}

static int look_at_classics(struct aws_session *x, struct aws_owned_list *l,
                            const struct aws_doc *doc, struct err *err)
{
    struct ask q = {.x = x, .kind = AWS_DOC_CLASSIC_TAGS, .put = put_classic, .all = doc};
    const struct aws_classic *items = doc->items;
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < doc->n; i++) {
        if (aws_owned_is_balancer_name(items[i].name)) {
            rc = ask_for(&q, l, items[i].name, err);
        }
    }
    return rc == ERR_OK ? ask_now(&q, l, err) : rc;
}

static int look_at_nlbs(struct aws_session *x, struct aws_owned_list *l, const struct aws_doc *doc,
                        struct err *err)
{
    struct ask q = {.x = x, .kind = AWS_DOC_TAGS, .put = put_nlb, .all = doc};
    const struct aws_nlb *items = doc->items;
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < doc->n; i++) {
        if (aws_owned_is_balancer_name(items[i].name) && str_eq(items[i].type, "network")) {
            rc = ask_for(&q, l, items[i].arn, err);
        }
    }
    return rc == ERR_OK ? ask_now(&q, l, err) : rc;
}

static int look_at_target_groups(struct aws_session *x, struct aws_owned_list *l,
                                 const struct aws_doc *doc, struct err *err)
{
    struct ask q = {.x = x, .kind = AWS_DOC_TAGS, .put = put_target_group, .all = doc};
    const struct aws_target_group *items = doc->items;
    int rc = ERR_OK;
    for (size_t i = 0; rc == ERR_OK && i < doc->n; i++) {
        if (aws_owned_is_target_group_name(items[i].name)) {
            rc = ask_for(&q, l, items[i].arn, err);
        }
    }
    return rc == ERR_OK ? ask_now(&q, l, err) : rc;
}

static int look(struct aws_session *x, struct aws_owned_list *l, struct err *err)
{
    struct aws_need needs[] = {
        {.kind = AWS_DOC_CLASSICS},
        {.kind = AWS_DOC_NLBS},
        {.kind = AWS_DOC_TARGET_GROUPS},
        {.kind = AWS_DOC_TAGGED_GROUPS},
    };
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        needs[i].not_older_ms = x->scope.started_ms;
    }
    int rc = aws_session_ready(x, err);
    rc = rc == ERR_OK ? aws_sync_read_all(&x->y, needs, ARRAY_LEN(needs), err) : rc;
    rc = rc == ERR_OK ? look_at_classics(x, l, needs[0].doc, err) : rc;
    rc = rc == ERR_OK ? look_at_nlbs(x, l, needs[1].doc, err) : rc;
    rc = rc == ERR_OK ? look_at_target_groups(x, l, needs[2].doc, err) : rc;
    const struct aws_group *groups = rc == ERR_OK ? needs[3].doc->items : NULL;
    for (size_t i = 0; rc == ERR_OK && i < needs[3].doc->n; i++) {
        aws_owned_group(l, &groups[i]);
    }
    for (size_t i = 0; rc == ERR_OK && i < needs[3].doc->n; i++) {
        aws_owned_referring(l, &groups[i]);
    }
    return rc;
}

static const char *command_of(const void *arg, const struct inventory_item *item)
{
    const struct aws_owned_list *l = arg;
    return aws_owned_command(l->a, item);
}

static const struct tt_service *remover_of(const void *arg, const struct inventory_unit *unit)
{
    return aws_owned_service(arg, unit->items[0]);
}

static void tell(const struct aws_session *x, struct aws_owned_list *l)
{
    const struct inventory_report r = {
        .host = x->s.host,
        .call = x->s.call,
        .words = aws_owned_words,
        .command = command_of,
        .remover = remover_of,
        .arg = l,
    };
    aws_owned_settle(l);
    inventory_report(&l->inv, &r);
}

int32_t aws_list_owned(void *provider, const struct tt_call *call)
{
    struct aws_provider *p = provider;
    const struct tt_batch none = {.size = sizeof(none), .key = ""};
    struct aws_session x;
    struct aws_owned_list l;
    struct err err = ERR_INIT;
    aws_session_begin(&x, p, call, &none, true);
    aws_owned_init(&l, x.s.a, &p->naming);
    inventory_each_service(&tt_aws_provider, p->host, call, count_service, &l);
    int rc = look(&x, &l, &err);
    rc = rc == ERR_OK ? inventory_check(&l.inv, &err) : rc;
    if (rc != ERR_OK) {
        p->host->report_finding(p->host->ctx, TT_LOG_ERROR, "", err.message);
    } else {
        tell(&x, &l);
    }
    aws_owned_done(&l);
    aws_session_end(&x);
    return rc;
}
