/* SPDX-License-Identifier: Apache-2.0 */
/* sync_spare.c: what works is not taken down again and again for a replacement that is refused.
 *
 * Some edits can only be tried by taking down what works.  When the replacement is refused for good
 * and the former is back, the Service is remembered as it is, with a time: until then, or until the
 * Service is edited, the provider is asked to take nothing down for it (TT_ITEM_SPARE).  It tries
 * what it can without that, so room that has come is found, and a plan that needs no such step any
 * more is carried out.  The time is longer after each try.  The memory is text: of this process,
 * and as part of the condition LoadBalancerReplacing also of the next one (former_rules.h).
 *
 * A right that was missing may be back any time.  Where the provider can ask for it while all
 * stands (TT_CAP_ASKS_AGAIN), such a Service is tried as after any missing right, and each try
 * asks.  docs/adr/0050, 0094. */
#include "common/base/str.h"
#include "common/lb/former_rules.h"
#include "controller/rules/quarantine_rules.h"
#include "controller/sync/sync_internal.h"

#define MINUTE_US     (60 * INT64_C(1000000))
#define FIRST_US      (30 * MINUTE_US)
#define LONGEST_US    (24 * 60 * MINUTE_US)
#define LOOK_AGAIN_MS 300000 /* as after a Service that cannot be carried out */
#define DOUBLINGS_MAX 6
#define NOT_BEFORE_TEXT                                                                            \
    "what works is not taken down for it again before %s, unless the Service is edited"

#define ASKED_TEXT                                                                                 \
    "what works is not taken down for it again before %s, unless the cloud allows it sooner, or "  \
    "the Service is edited"

/* ---- what is remembered ---------------------------------------------------------------------- */

uint64_t sync_wish(const struct sync_item *item)
{
    return quarantine_digest(item->svc, item->s->desc, false);
}

static const char *message_of(const struct sync_item *item)
{
    for (uint32_t i = 0; i < item->svc->n_conditions; i++) {
        if (str_eq(item->svc->conditions[i].type, LB_REPLACING_CONDITION)) {
            return item->svc->conditions[i].message;
        }
    }
    return NULL;
}

/* The last refusal of this very wish; false: there was none. */
static bool refusal_of(const struct sync_item *item, struct former_refusal *ret)
{
    const char *own = service_cache_refusal(item->s->cache, item->a, item->key);

    return former_refusal_read(item->a, own != NULL ? own : message_of(item), ret) &&
           ret->wish == sync_wish(item);
}

static bool is_spared(const struct sync_item *item, struct former_refusal *ret)
{
    if (item->todo != SYNC_ENSURE || item->leads_back || item->obj == NULL ||
        !refusal_of(item, ret)) {
        return false;
    }
    int64_t left_us = ret->until_us - clock_wall_us(item->s->clock);
    return left_us > 0 && left_us <= LONGEST_US; /* else the clock was set */
}

bool sync_spares(const struct sync_item *item)
{
    struct former_refusal r;

    return is_spared(item, &r);
}

/* Once: what is refused again, although the cloud allowed it when asked, has another reason. */
static bool can_ask(const struct sync_item *item, const struct former_refusal *r)
{
    return r->code == ERR_FORBIDDEN && r->tries == 1 &&
           (item->s->desc->capabilities & TT_CAP_ASKS_AGAIN) != 0;
}

bool sync_asks_again(const struct sync_item *item)
{
    struct former_refusal r;

    return is_spared(item, &r) && can_ask(item, &r);
}

/* ---- reports --------------------------------------------------------------------------------- */

static void say_when(struct sync_item *item, const struct former_refusal *r)
{
    struct err was = item->err;
    bool asks = can_ask(item, r); /* as after any missing right: from 5 seconds on */
    int64_t least_ms = asks ? 0 : LOOK_AGAIN_MS;
    char until[32];

    time_format_rfc3339(r->until_us, until);
    (void)err_set(&item->err, r->code, asks ? "%s; " ASKED_TEXT : "%s; " NOT_BEFORE_TEXT, r->why,
                  until);
    item->err.http_status = was.http_status;
    item->err.retry_after_ms =
        asks || was.retry_after_ms < least_ms ? least_ms : was.retry_after_ms;
}

/* ---- a refusal ------------------------------------------------------------------------------- */

bool sync_refusal_stays(const struct err *err)
{
    return err->code != ERR_TRANSIENT && err->code != ERR_THROTTLED && err->code != ERR_AUTH &&
           err->code != ERR_BUG;
}

/* A provider asks for a long wait after an answer of which only it knows that it stays. */
static bool is_for_good(const struct sync_item *item)
{
    return item->err.code != ERR_CANCELLED && item->err.code != ERR_IN_PROGRESS &&
           item->err.code != ERR_IMPLEMENTED_ELSEWHERE && !item->quarantined &&
           (sync_refusal_stays(&item->err) || item->err.retry_after_ms >= LOOK_AGAIN_MS);
}

int64_t sync_spare_pause_us(unsigned tries)
{
    int64_t wait_us = FIRST_US << (tries < DOUBLINGS_MAX ? tries : DOUBLINGS_MAX);

    return wait_us < LONGEST_US ? wait_us : LONGEST_US;
}

static void note(struct sync_item *item)
{
    struct former_refusal r;
    const char *former = sync_former_kept(item);
    unsigned tries = refusal_of(item, &r) ? r.tries : 0;

    r = (struct former_refusal){
        .wish = sync_wish(item),
        .until_us = clock_wall_us(item->s->clock) + sync_spare_pause_us(tries),
        .tries = tries + 1,
        .code = item->err.code,
        .why = arena_strdup(item->a, item->err.message),
    };
    const char *text = former == NULL ? NULL : former_text_refused(item->a, former, &r);
    item->refusal_text = sync_owns(item, TT_OWN_STATUS) ? NULL : text;
    service_cache_note_refusal(item->s->cache, item->key,
                               text != NULL ? text : former_text_refused(item->a, NULL, &r));
    say_when(item, &r);
}

/* Returns whether that which was taken down is back.  False: the next try is soon, whatever the
 * replacement is refused for. */
static bool is_restored(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    return item->led_back || (!r->not_back && (r->is_back || !r->gave_way));
}

void sync_spare_note(struct sync_item *item)
{
    struct former_refusal r;

    if (item->todo != SYNC_ENSURE || !item->joins || item->obj == NULL ||
        item->err.code == ERR_OK || item->result == NULL || sync_is_unpublished(item)) {
        return;
    }
    if (lb_is_spared(&item->err) && refusal_of(item, &r)) {
        say_when(item, &r);
    } else if ((item->result->took_down || item->put_back) && is_for_good(item) &&
               is_restored(item) && !sync_is_replaced(item)) {
        note(item);
    }
}

const char *sync_refusal_body(const struct sync_item *item)
{
    const struct tt_condition c = {
        .type = LB_REPLACING_CONDITION,
        .status = "True",
        .reason = "Refused",
        .message = item->refusal_text,
    };

    return item->refusal_text == NULL ? NULL : sync_condition_body(item, &c);
}
