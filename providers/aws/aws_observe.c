/* SPDX-License-Identifier: Apache-2.0 */
/* aws_observe.c: reads what a Service has: its balancer, and the one of the other kind that must
 * not be there.
 *
 * In rounds, each side by side: balancers by name; then what hangs on them (listeners, attributes,
 * target groups); then targets and security groups.  Both APIs are asked until it is known that the
 * other one has nothing (aws_memory.h): a Service whose type annotation was changed must not get a
 * second balancer, nor leave the first behind (docs/spec/aws.md 4.2, 7.1, 7.3).
 * Rules in node groups are shared by all Services: a look that may be followed by a change of rules
 * takes note of what others change (aws_stakes.h, 7.5). */
#include "common/base/str.h"
#include "common/lb/service_rules.h"
#include "providers/aws/aws_sync.h"
#include "providers/aws/cloud/aws_memory.h"

/* ---- balancers ------------------------------------------------------------------------------- */

static struct aws_need need_balancer(const struct aws_sync *y, const struct aws_item *it, bool nlb)
{
    bool lists = aws_sync_asks_lists(y, it);
    struct aws_need n = {.not_older_ms = aws_sync_not_older(y)};
    n.kind =
        nlb ? (lists ? AWS_DOC_NLBS : AWS_DOC_NLB) : (lists ? AWS_DOC_CLASSICS : AWS_DOC_CLASSIC);
    n.key = lists ? NULL : it->service->lb_name;
    return n;
}

static const struct aws_nlb *find_nlb(const struct aws_doc *doc, const char *name)
{
    const struct aws_nlb *items = doc->items;
    for (size_t i = 0; i < doc->n; i++) {
        if (str_eq(items[i].name, name)) {
            return &items[i];
        }
    }
    return NULL;
}

static const struct aws_classic *find_classic(const struct aws_doc *doc, const char *name)
{
    const struct aws_classic *items = doc->items;
    for (size_t i = 0; i < doc->n; i++) {
        if (str_eq(items[i].name, name)) {
            return &items[i];
        }
    }
    return NULL;
}

static int take_nlb(struct aws_item *it, const struct aws_doc *doc, struct err *err)
{
    const struct aws_nlb *nlb = find_nlb(doc, it->service->lb_name);
    if (nlb != NULL && !str_eq(nlb->type, "network")) {
        return !it->want || it->service->kind != AWS_NLB
                   ? ERR_OK
                   : err_set(err, ERR_INVALID,
                             "the name %s of the network load balancer is taken by one of type "
                             "%s (%s): delete that one",
                             nlb->name, nlb->type, nlb->arn);
    }
    it->seen.nlb = nlb;
    return ERR_OK;
}

/* That the API of the other kind has none.  Who only looks, or deletes, leaves nothing behind. */
static void remember(struct aws_sync *y, const struct aws_item *it, bool asked_nlb,
                     bool asked_classic)
{
    unsigned none = it->service->kind == AWS_NLB ? AWS_KNOWS_NO_CLASSIC : AWS_KNOWS_NO_NLB;
    bool asked = it->service->kind == AWS_NLB ? asked_classic : asked_nlb;
    bool there = it->service->kind == AWS_NLB ? it->seen.classic != NULL : it->seen.nlb != NULL;
    if (it->want && asked) {
        aws_memory_set(y->p->memory, it->service->in->uid, AWS_KNOWS_NO_NLB | AWS_KNOWS_NO_CLASSIC,
                       there ? 0 : none);
    }
}

static bool has_balancer(const struct aws_item *it)
{
    return it->seen.nlb != NULL || it->seen.classic != NULL;
}

/* Resources that AWS does not show yet can be neither deleted nor dropped: a Service that goes
 * comes back, when its balancer or, while that could not be made, something else was made a moment
 * ago, and when AWS did not answer whether it has made something. */
static int check_shown(const struct aws_sync *y, const struct aws_item *it, struct err *err)
{
    int64_t now_ms = y->scope->started_ms;
    int64_t made_ms = aws_memory_balancer_made_ms(y->p->memory, it->service->in->uid);
    bool made = made_ms > 0 && made_ms >= now_ms - AWS_SHOWN_AFTER_MS;
    bool changed = it->wrote_ms > 0 && it->wrote_ms > now_ms - AWS_SETTLES_MS;
    int64_t unsure_ms = aws_memory_unsure_ms(y->p->memory, it->service->in->uid);
    bool unsure = unsure_ms > 0 && unsure_ms > now_ms - AWS_SETTLES_MS;
    if (it->want || (has_balancer(it) ? !unsure : !made && !changed)) {
        return ERR_OK;
    }
    (void)err_set(err, ERR_IN_PROGRESS,
                  "AWS does not list yet what was just created for load balancer %s",
                  it->service->lb_name);
    err->retry_after_ms = AWS_SHOWN_POLL_MS;
    return err->code;
}

/* A process that has just begun does not know what the one before made a moment ago: a Service that
 * goes is let go of when AWS shows that.  A Service whose balancer this process has made had
 * nothing that it does not know; one without our finalizer has nothing, or it is one that
 * `trimtab orphans --delete` stands in for. */
int aws_check_young(const struct aws_sync *y, const struct aws_item *it, struct err *err)
{
    const struct tt_service *in = it->service->in;
    int64_t left_ms = y->scope->young_until_ms - y->scope->started_ms;
    if (it->want || left_ms <= 0 || !svc_has_finalizer(in, LB_CLEANUP_FINALIZER) ||
        (aws_memory_get(y->p->memory, in->uid) & AWS_KNOWS_ALL) != 0) {
        return ERR_OK;
    }
    (void)err_set(err, ERR_IN_PROGRESS,
                  "AWS may not list yet what was created for load balancer %s before this process "
                  "began",
                  it->service->lb_name);
    err->retry_after_ms = left_ms;
    return err->code;
}

/* A Service that most likely has no balancer yet, since its status names none: all that a new one
 * needs is read with the question for it, in one round. */
static bool comes(const struct aws_sync *y, const struct aws_item *it)
{
    const struct tt_item *in = it->item->in;
    return it->want && in->verb == TT_VERB_ENSURE && it->claim == AWS_CLAIM_NONE &&
           it->service->kind != AWS_ELSEWHERE && in->service->n_ingress == 0 &&
           in->previous == NULL && !y->s->planning && y->s->attempt == 0 &&
           !aws_sync_asks_lists(y, it);
}

static int observe_balancers(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    unsigned known = y->s->attempt > 0 ? 0 : aws_memory_get(y->p->memory, it->service->in->uid);
    bool wants_nlb = it->want && it->service->kind == AWS_NLB;
    bool wants_classic = it->want && it->service->kind == AWS_CLASSIC;
    bool ask_nlb = wants_nlb || (known & AWS_KNOWS_NO_NLB) == 0;
    bool ask_classic = wants_classic || (known & AWS_KNOWS_NO_CLASSIC) == 0;
    struct aws_need needs[2 + 1 + 2];
    size_t n = 0;
    if (ask_nlb) {
        needs[n++] = need_balancer(y, it, true);
    }
    if (ask_classic) {
        needs[n++] = need_balancer(y, it, false);
    }
    size_t n_balancers = n;
    if (comes(y, it)) {
        needs[n++] = aws_need_tagged_groups(y);
        n += aws_need_places(y, it, &needs[n]);
    }
    int rc = aws_sync_read_all(y, needs, n, err);
    if (rc == ERR_OK && ask_nlb) {
        rc = take_nlb(it, needs[0].doc, err);
    }
    if (rc == ERR_OK && ask_classic) {
        it->seen.classic = find_classic(needs[n_balancers - 1].doc, it->service->lb_name);
    }
    if (rc == ERR_OK && n > n_balancers) {
        it->tagged_groups = needs[n_balancers].doc;
    }
    if (rc == ERR_OK) {
        remember(y, it, ask_nlb, ask_classic);
    }
    return rc;
}

/* The Service is another controller's, and no status names a load balancer: ours stays if it is
 * there. */
static void settle_claim(struct aws_item *it)
{
    if (it->want && it->unnamed && !has_balancer(it)) {
        it->claim = AWS_CLAIM_GOES;
        it->want = false;
    }
}

/* Only the backends of one that is there are updated (provider.h): the controller
 * ensures it then. */
static int check_update(const struct aws_item *it, struct err *err)
{
    bool there = it->service->kind == AWS_NLB ? it->seen.nlb != NULL : it->seen.classic != NULL;
    there = there || (aws_item_is_about_nodes(it) && has_balancer(it));
    return it->item->in->verb != TT_VERB_UPDATE || there
               ? ERR_OK
               : err_set(err, ERR_NOT_FOUND, "load balancer %s not found", it->service->lb_name);
}

/* ---- what hangs on them ---------------------------------------------------------------------- */

static int observe_classic(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    bool compared = it->want && it->service->kind == AWS_CLASSIC && it->seen.classic != NULL &&
                    !aws_item_is_about_nodes(it);
    if (!compared) {
        return ERR_OK;
    }
    const char *name = it->seen.classic->name;
    struct aws_need needs[] = {
        {.kind = AWS_DOC_CLASSIC_ATTRIBUTES, .key = name, .not_older_ms = aws_sync_not_older(y)},
        {.kind = AWS_DOC_CLASSIC_TAGS, .key = name, .not_older_ms = aws_sync_not_older(y)},
    };
    size_t n = it->service->extra_tags.n > 0 ? 2 : 1;
    if (aws_sync_read_all(y, needs, n, err) != ERR_OK) {
        return err->code;
    }
    it->seen.classic_attributes = needs[0].doc->n > 0 ? needs[0].doc->items : NULL;
    const struct aws_arn_tags *tags = n > 1 && needs[1].doc->n > 0 ? needs[1].doc->items : NULL;
    it->seen.has_classic_tags = tags != NULL;
    it->seen.classic_tags = tags != NULL ? tags->tags : (struct aws_tags){0};
    return ERR_OK;
}

static int observe_nlb(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    const struct aws_nlb *nlb = it->seen.nlb;
    if (nlb == NULL || !it->want) {
        return ERR_OK;
    }
    int64_t not_older = aws_sync_not_older(y);
    struct aws_need needs[] = {
        {.kind = AWS_DOC_LISTENERS, .key = nlb->arn, .not_older_ms = not_older},
        {.kind = AWS_DOC_TARGET_GROUPS_OF, .key = nlb->arn, .not_older_ms = not_older},
        {.kind = AWS_DOC_NLB_ATTRIBUTES, .key = nlb->arn, .not_older_ms = not_older},
    };
    if (aws_sync_asks_lists(y, it)) {
        needs[1] = (struct aws_need){.kind = AWS_DOC_TARGET_GROUPS, .not_older_ms = not_older};
    }
    size_t n = aws_item_is_about_nodes(it) ? 2 : ARRAY_LEN(needs);
    if (aws_sync_read_all(y, needs, n, err) != ERR_OK) {
        return err->code;
    }
    it->seen.listeners = needs[0].doc->items;
    it->seen.n_listeners = needs[0].doc->n;
    it->nlb_groups = needs[1].doc;
    if (n > 2) {
        it->seen.has_nlb_attributes = true;
        it->seen.nlb_attributes =
            (struct aws_tags){.items = needs[2].doc->items, .n = needs[2].doc->n};
    }
    return ERR_OK;
}

/* ---- what is not shown yet ------------------------------------------------------------------- */

/* A Service that goes soon after it came must not leave target groups that no list shows
 * yet: it comes back. */
static int wait_for_groups(struct aws_sync *y, const struct aws_item *it, struct err *err)
{
    struct arena *a = y->s->a;
    const char **arns = ARENA_ARRAY(a, const char *, it->seen.n_groups + 1);
    for (size_t i = 0; i < it->seen.n_groups; i++) {
        arns[i] = it->seen.groups[i].group->arn;
    }
    struct str_set shown = str_set_make(a, arns, it->seen.n_groups);
    const char *arn = aws_memory_unshown_group(y->p->memory, a, it->service->in->uid,
                                               y->scope->started_ms - AWS_SHOWN_AFTER_MS, &shown);
    if (arn == NULL) {
        return ERR_OK;
    }
    (void)err_set(err, ERR_IN_PROGRESS,
                  "target group %s was made a moment ago and is not shown by AWS yet", arn);
    err->retry_after_ms = AWS_SHOWN_POLL_MS;
    return err->code;
}

/* ---- rules that others share ----------------------------------------------------------------- */

/* Not for a first look at a healthy Service: only what may be followed by a change is guarded. */
static int guard(struct aws_sync *y, const struct aws_item *it, struct err *err)
{
    y->scope->guards =
        !y->s->planning && !aws_sync_asks_lists(y, it) && !y->p->naming.no_node_rules;
    return y->scope->guards ? aws_scope_look(y->scope, y->s->cancel, err) : ERR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int observe_item(struct aws_sync *y, struct aws_item *it, struct err *err)
{
    it->seen = (struct aws_observed){0};
    it->looked = it->touched = false;
    it->around = (struct aws_surroundings){0};
    it->nlb_groups = NULL;
    it->tagged_groups = NULL;
    if (aws_sync_asks_lists(y, it)) {
        /* However young the lists are: no Service is held off, and what other Services need
         * was not asked. */
        y->s->observed_fresh = false;
    }
    y->scope->has_idle_instances = false;
    y->scope->lacks_rights = false;
    y->scope->n_refused = 0;
    int rc = guard(y, it, err);
    rc = rc == ERR_OK ? observe_balancers(y, it, err) : rc;
    if (rc == ERR_OK) {
        settle_claim(it);
    }
    /* Listed resources go at once, the rest with a second look (complete()). */
    rc = rc == ERR_OK && !has_balancer(it) ? aws_check_young(y, it, err) : rc;
    rc = rc == ERR_OK ? check_shown(y, it, err) : rc;
    rc = rc == ERR_OK ? check_update(it, err) : rc;
    rc = rc == ERR_OK ? observe_classic(y, it, err) : rc;
    rc = rc == ERR_OK ? observe_nlb(y, it, err) : rc;
    rc = rc == ERR_OK ? aws_observe_target_groups(y, it, err) : rc;
    it->looked = rc == ERR_OK;
    rc = rc == ERR_OK ? aws_observe_tags(y, it, err) : rc;
    rc = rc == ERR_OK && !it->want && !y->s->planning ? wait_for_groups(y, it, err) : rc;
    return rc == ERR_OK ? aws_observe_around(y, it, err) : rc;
}

int aws_observe(struct lb_sync *s, struct err *err)
{
    struct aws_sync *y = aws_sync_of(s);
    s->observed_fresh = true;
    for (size_t i = 0; i < s->n_items; i++) {
        struct aws_item *it = &y->items[i];
        if (it->service == NULL || !lb_item_is_active(it->item)) {
            continue;
        }
        struct err failed = ERR_INIT;
        int rc = observe_item(y, it, &failed);
        if (rc == ERR_CANCELLED) {
            return err_copy(err, &failed);
        }
        if (rc != ERR_OK) {
            (void)err_copy(&it->item->err, &failed);
        }
    }
    return ERR_OK;
}
