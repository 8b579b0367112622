/* SPDX-License-Identifier: Apache-2.0 */
/* azure_first.c: see azure_first.h.
 *
 * What is taken back goes as if the Service were deleted, by the stages of a deletion and in their
 * order; but of public IPs only those that this process has made for it. */
#include "providers/azure/azure_first.h"

#include "common/base/map.h"
#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_digest.h"
#include "providers/azure/azure_sides.h"
#include "providers/azure/azure_stages.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_errors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WISH_SEED     1
#define FIRST_MS      (30 * INT64_C(60000))
#define LONGEST_MS    (24 * 60 * INT64_C(60000))
#define DOUBLINGS_MAX 6
#define LOOK_AGAIN_MS 300000 /* as after a Service that cannot be carried out */
#define UNKNOWN_TRIES 5      /* by the usual back-off: a minute or two */

const struct lb_stage azure_first_stages[] = {
    {"withdraw", NULL, azure_observe_withdraw, azure_plan_withdraw},
    {"unlink", NULL, azure_observe_unlink, azure_plan_unlink},
    {"balancers", NULL, azure_observe_balancers, azure_plan_balancers},
    {"tidy", NULL, azure_observe_tidy, azure_plan_tidy},
    {"release", NULL, azure_observe_release, azure_plan_release},
};
static_assert(ARRAY_LEN(azure_first_stages) == AZURE_FIRST_STAGES, "the flow needs their number");

/* ---- the memory ------------------------------------------------------------------------------ */

void azure_first_free(void *first)
{
    struct azure_first *f = first;
    free(f->uid);
    free(f->pips);
    free(f);
}

static struct azure_first *first_of(const struct azure_sync *y, const struct azure_item *it)
{
    struct azure_first *f = map_get(y->p->firsts, it->item->key);
    return f != NULL && str_eq(f->uid, it->service->in->uid) ? f : NULL;
}

void azure_first_served(struct azure_sync *y, const struct azure_item *it)
{
    if (it->item->in->verb != TT_VERB_UPDATE) {
        (void)map_remove(y->p->firsts, it->item->key);
    }
}

static bool was_served(struct azure_sync *y, const struct azure_item *it)
{
    const struct tt_service *in = it->service->in;
    return in->n_ingress > 0 || mark_has_addresses(in, AZURE_PROVIDER);
}

uint64_t azure_first_wish(const struct azure_item *it)
{
    return svc_digest(WISH_SEED, it->service->in, NULL, 0);
}

/* The same at each try, until something is carried out. */
static void put_error(const struct azure_first *f, struct err *err)
{
    char until[32];
    bool invalid = f->err.code == ERR_INVALID;
    time_format_rfc3339(f->until_us, until);
    (void)err_set(err, f->err.code, "%s; it is tried again %s%s, or when the Service is edited%s",
                  f->err.message, invalid ? "once a day" : "at ", invalid ? "" : until,
                  f->unclean ? "" : "; what was made for it is gone again");
    err->http_status = f->err.http_status;
    memcpy(err->reason, f->err.reason, sizeof(err->reason));
    err->retry_after_ms =
        f->err.retry_after_ms < LOOK_AGAIN_MS ? LOOK_AGAIN_MS : f->err.retry_after_ms;
}

int azure_first_check(struct azure_sync *y, const struct azure_item *it, struct err *err)
{
    struct azure_first *f = first_of(y, it);
    if (it->item->in->verb != TT_VERB_ENSURE || y->s->planning) {
        return ERR_OK;
    }
    if (f == NULL || was_served(y, it)) {
        (void)map_remove(y->p->firsts, it->item->key);
        return ERR_OK;
    }
    if (f->wish != azure_first_wish(it) || clock_now_ms(y->s->clock) >= f->until_ms) {
        return ERR_OK;
    }
    put_error(f, err);
    return err->code;
}

void azure_first_note(struct azure_sync *y)
{
    for (size_t i = 0; !y->s->planning && y->s->observed_fresh && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        if (!azure_item_is_carried_out(it) || !it->want || it->item->in->verb != TT_VERB_ENSURE ||
            first_of(y, it) != NULL || was_served(y, it) || azure_sides_stands(y, it->service) ||
            azure_sides_stands(y, it->flip)) {
            continue;
        }
        struct azure_first *f = xcalloc(1, sizeof(*f));
        f->uid = xstrdup(str_nonnull(it->service->in->uid));
        f->pips = xstrdup("");
        map_set(y->p->firsts, it->item->key, f);
    }
}

/* ---- what was made --------------------------------------------------------------------------- */

/* Azure has done it, or may have: it answered no refusal, and an operation that failed later has
 * begun. */
static bool has_begun(unsigned outcome, const struct err *err)
{
    return outcome == LB_DONE || (outcome == LB_FAILED && err->http_status / 100 != 4);
}

void azure_first_wrote(struct azure_sync *y, const struct lb_op *op, unsigned outcome,
                       const struct err *err)
{
    const struct azure_write *w = op->arg;
    for (size_t i = 0; op->verb != LB_DELETE && i < y->s->n_items; i++) {
        const struct azure_item *it = &y->items[i];
        struct azure_first *f = it->service != NULL && it->want &&
                                        str_set_has(&op->owners, it->item->key) &&
                                        has_begun(outcome, err)
                                    ? first_of(y, it)
                                    : NULL;
        if (f == NULL) {
            continue;
        }
        f->unclean = true;
        if (w->spec.kind == AZURE_PIPS && op->verb == LB_CREATE &&
            !azure_first_made(y, it, w->spec.id)) {
            char *before = f->pips;
            f->pips = xstrdup(
                arena_printf(y->s->a, "%s%s%s", before, *before != '\0' ? " " : "", w->spec.id));
            free(before);
        }
    }
}

bool azure_first_made(const struct azure_sync *y, const struct azure_item *it, const char *id)
{
    const struct azure_first *f = first_of(y, it);
    size_t n = 0;
    char **ids = f != NULL ? str_split(y->s->a, f->pips, ' ', &n) : NULL;
    bool made = false;
    for (size_t i = 0; i < n; i++) {
        made = made || azure_id_eq(ids[i], id);
    }
    return made;
}

/* ---- a refusal ------------------------------------------------------------------------------- */

/* Only an edit helps.  A bad request for an unknown reason counts as one of that kind when it comes
 * again and again: Azure's own trouble has that status, too. */
static bool is_of_text(const struct azure_item *it, struct azure_first *f, const struct err *err)
{
    bool bad = err->http_status == 400 || err->http_status == 422;
    if (err->code != ERR_TRANSIENT || !bad || !azure_error_is_refusal(err)) {
        f->unknown = 0;
        return err->code == ERR_INVALID;
    }
    f->unknown = f->unknown > 0 && f->unknown_wish == azure_first_wish(it) ? f->unknown + 1 : 1;
    f->unknown_wish = azure_first_wish(it);
    return f->unknown >= UNKNOWN_TRIES;
}

static void remember(struct azure_sync *y, const struct azure_item *it, struct azure_first *f,
                     const struct err *err)
{
    unsigned tries = f->wish == azure_first_wish(it) ? f->tries : 0;
    int64_t wait_ms = FIRST_MS << (tries < DOUBLINGS_MAX ? tries : DOUBLINGS_MAX);
    /* Waiting mends nothing that Azure calls invalid; a reason that is not known may pass. */
    wait_ms = wait_ms < LONGEST_MS && err->code != ERR_INVALID ? wait_ms : LONGEST_MS;
    f->wish = azure_first_wish(it);
    f->tries = tries + 1;
    f->until_ms = clock_now_ms(y->s->clock) + wait_ms;
    f->until_us = clock_wall_us(y->s->clock) + wait_ms * 1000;
    f->err = *err;
}

/* The Service counts as one that is deleted, so the others keep no place for it. */
static void leave_cluster(struct azure_sync *y, struct azure_item *it)
{
    const struct azure_service **left =
        ARENA_ARRAY(y->s->life, const struct azure_service *, y->n_services + 1);
    size_t n = 0;
    for (size_t i = 0; i < y->n_services; i++) {
        if (!azure_service_is(y->services[i], it->service)) {
            left[n++] = y->services[i];
        }
    }
    y->services = left;
    y->n_services = n;
    it->want = false;
    it->taken_back = true;
    (void)map_remove(y->p->assigned, it->item->key);
    (void)map_remove(y->p->redirected, it->item->key);
}

bool azure_first_retreats(struct lb_sync *s, struct lb_item *item)
{
    struct azure_sync *y = s->data;
    if (y == NULL || y->items == NULL || item->in->verb != TT_VERB_ENSURE) {
        return false;
    }
    struct azure_item *it = &y->items[item - s->items];
    struct azure_first *f = it->service != NULL ? first_of(y, it) : NULL;
    if (f == NULL || !f->unclean || !is_of_text(it, f, &item->err)) {
        return false;
    }
    if (!it->too_early) {
        remember(y, it, f, &item->err);
        put_error(f, &item->err);
    }
    leave_cluster(y, it);
    return true;
}

void azure_first_ended(struct lb_sync *s, struct lb_item *item, bool done)
{
    struct azure_sync *y = azure_sync_of(s);
    struct azure_first *f = first_of(y, &y->items[item - s->items]);
    if (f != NULL && done) {
        f->unclean = false;
        f->pips[0] = '\0';
        put_error(f, &item->err);
    }
}

void azure_first_say(struct azure_sync *y, const struct azure_item *it, struct err *err)
{
    const struct azure_first *f = it->service != NULL ? first_of(y, it) : NULL;
    bool waits = err->code == ERR_FORBIDDEN || err->code == ERR_QUOTA || err->code == ERR_IN_USE ||
                 err->code == ERR_NOT_FOUND ||
                 str_eq(err->reason, "InvalidResourceReference"); /* what it names is not there */
    if (f == NULL || !waits || *f->pips == '\0') {
        return;
    }
    const struct err was = *err;
    size_t n = 0;
    char **ids = str_split(y->s->a, f->pips, ' ', &n);
    const char **names = ARENA_ARRAY(y->s->a, const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = azure_id_last(ids[i]);
    }
    (void)err_set(err, was.code, "%s; public IP %s, which was made for it, stays for the next try",
                  was.message, str_join(y->s->a, names, n, ", "));
    err->http_status = was.http_status;
    err->retry_after_ms = was.retry_after_ms;
    memcpy(err->reason, was.reason, sizeof(err->reason));
}
