/* SPDX-License-Identifier: Apache-2.0 */
/* sync_internal.h: one Service on its way through a sync.  Private to sync*.c.
 *
 * The parts: sync.c the order of things; sync_call.c calls into the provider; sync_report.c what a
 * Service says of its load balancer; sync_drift.c looks whether another program changed something;
 * sync_left.c Services that went while no controller ran; sync_findings.c wishes without effect,
 * and that no client is served; sync_unreadable.c Services and endpoints that cannot be read;
 * sync_upkeep.c the nodes of those that are refused; sync_former.c leads back what was taken down
 * in vain, and sync_spare.c does not let it be taken down again at once; sync_kube.c patches;
 * sync_mark.c the mark of what was made here; sync_after.c what an outcome means; sync_events.c the
 * words of events; sync_board.c what /status shows. */
#ifndef TRIMTAB_CONTROLLER_SYNC_INTERNAL_H
#define TRIMTAB_CONTROLLER_SYNC_INTERNAL_H

#include "controller/host/service_patch.h"
#include "controller/sync/sync.h"

#define SYNC_BATCH_KEY_MAX 512

/* Addresses and annotations of a result, as they were written to the Service. */
struct sync_written {
    const struct tt_ingress *ingress;
    size_t n_ingress;
    const struct tt_kv *annotations;
    size_t n_annotations;
    const char *const *reports; /* bodies of sync_report_bodies() */
    size_t n_reports;
};

struct sync_item {
    const struct syncer *s;
    struct arena *a; /* of the batch */
    const char *key;
    uint32_t reasons;
    int64_t changed_ms; /* as in struct queue_item */
    /* as it is now; of a vanished one as last known; NULL: nothing is known */
    const struct tt_service *svc;
    struct kube_object *obj;           /* holds svc, when it is in the store */
    struct service_known known;        /* before this sync; owns a reference */
    char version[SERVICE_VERSION_MAX]; /* of the Service, as seen or written last */
    bool view_lets_go; /* svc may bear fewer finalizers than it shows (service_cache.h) */
    enum sync_do todo;
    size_t n_eligible;            /* nodes that take part */
    struct kube_snapshot *slices; /* NULL: not watched */
    /* on the way */
    bool joins;       /* takes part in the provider's call */
    bool quarantined; /* the provider is not called for it: err says why */
    bool refused;     /* validate() refused it: err says why, and no call is made */
    bool began;       /* the event that says "something happens" was sent */
    bool leads_back;  /* `svc` is as it was carried out last (TT_ITEM_FORMER) */
    bool led_back;    /* its backends are those of now, too */
    bool put_back;    /* leading back made something that was missing */
    bool goes_alone;  /* more than its nodes is due: it left the batch, and is queued by itself */
    bool unproven;    /* an update by a Service that no ensure has carried out (TT_ITEM_UNPROVEN) */
    struct tt_item in;
    struct tt_result *result; /* of the last call; NULL before */
    int64_t answered_ms;      /* when the last call came back; 0: none did */
    int64_t addressed_ms;     /* when a new address stood in the status; 0: it did not change */
    /* The part of the result that was written before the call came back (sync_write_serving); NULL:
     * nothing. `svc` does not show it. */
    const struct sync_written *written;
    unsigned requests; /* to the cloud, that its call (or its batch's) made */
    bool looks;        /* a look was due: alone, or beside what else is to be done */
    bool drifted;      /* SYNC_LOOK found something */
    bool wrote;        /* something was written to the API server */
    bool let_go;       /* finalizers among it, that were taken off */
    bool held;         /* or put there */
    enum mark marked;  /* this process wrote its mark, or owes it: `svc` may not show it yet */
    /* the condition's message once a replacement was refused in this sync; NULL: none was */
    const char *refusal_text;
    /* outcome */
    struct err err;
    /* why what stands serves no client, of a failed ensure and of what led back from it; "": it
     * does; NULL: unknown */
    const char *stands_nobody;
    bool told;       /* the user knows already, or needs not know */
    bool elsewhere;  /* another program serves it; err is clear then */
    bool serves;     /* the provider has said so in this ensure: the rest only tidies up */
    bool extras_due; /* the provider may have set what is to be written after a failure, too */
    bool unwritten;  /* err is that something could not be written to the Service */
    bool vanishes;   /* err is that it is gone, or going, and so gets no finalizer */
};

/* Data common to the items of a batch. */
struct sync_batch {
    const struct syncer *s;
    struct arena *a;
    const char *batch_key; /* "" for a Service without one, and for those that follow the nodes */
    bool follows_nodes;    /* the backends of its items are updated in one call */
    struct sync_item *items;
    size_t n;
    struct kube_snapshot *nodes;
    size_t n_eligible;
    struct node_digests nodes_digests;
    int64_t started_ms;
};

/* The provider reports plans, so events follow from what is really done. */
static inline bool sync_reports_plans(const struct syncer *s)
{
    return (s->desc->capabilities & TT_CAP_REPORTS_PLANS) != 0 && !s->strict_events;
}
/* Each Service is called for by itself, because processes died in calls for several. */
static inline bool sync_calls_alone(const struct syncer *s)
{
    return s->quarantine != NULL &&
           quarantine_wants_alone(s->quarantine, s->desc, clock_wall_us(s->clock));
}
/* The provider's own ensure does not make the check of its validate(). */
static inline bool sync_validates(const struct syncer *s)
{
    return s->desc->validate != NULL && (s->desc->capabilities & TT_CAP_CHECKS_ITSELF) == 0;
}
static inline bool sync_holds_finalizers(const struct syncer *s)
{
    return (s->desc->capabilities & TT_CAP_HOLDS_FINALIZERS) != 0;
}

/* The cloud has been at work for it since an earlier sync (TT_IN_PROGRESS): that it begins
 * was said then. */
static inline bool sync_goes_on(const struct sync_item *item)
{
    return item->known.waits_ms != 0 && !item->s->strict_events;
}

/* The cloud has refused nothing; its status names what served before, and is to be written again
 * before that goes (tt_host.result_publish). */
static inline bool sync_is_unpublished(const struct sync_item *item)
{
    const struct tt_result *r = item->result;
    return item->err.code != ERR_OK && r != NULL && r->publish_failure != NULL &&
           item->err.code == r->publish_code;
}

/* The parts of the Service that the provider manages itself (TT_OWN_…), by its last call. */
static inline bool sync_owns(const struct sync_item *item, uint32_t bit)
{
    return item->result != NULL && (item->result->own & bit) != 0;
}

/* --- sync_call.c ------------------------------------------------------------------------------ */
/* Asks the provider whether a load balancer exists.  The err is the provider's. */
int sync_call_get(struct sync_item *item, const struct tt_service *svc, bool *ret_exists,
                  struct err *err);
/* Asks the provider's validate() whether the Service asks for something possible; the outcome
 * is in item->err. */
int sync_call_validate(struct sync_item *item);
/* Deletes what belonged to item->svc, an object that was replaced.  The outcome is in item->err. */
void sync_call_delete_old(struct sync_batch *b, struct sync_item *item);
/* Calls the provider for all items that join; fills each one's result and err. */
void sync_call_joined(struct sync_batch *b);

/* The provider's view of an item. */
struct tt_item sync_item_in(const struct sync_item *item, const struct tt_service *svc,
                            uint32_t verb);
/* The provider's view of a batch; borrows `items`. */
struct tt_batch sync_batch_in(const struct sync_batch *b, const struct tt_item **items, uint32_t n);
/* How many keys wait in the queue for work, or for a look: each hints what the next calls of its
 * like will need. */
uint32_t sync_waiting(const struct syncer *s, bool looks);

/* --- sync_drift.c ----------------------------------------------------------------------------- */
/* Is it as the last good sync left it, as far as this process knows?  `same_backends`
 * as in sync_facts. */
bool sync_may_look(const struct sync_batch *b, const struct sync_item *item, bool same_backends);
/* Looks at all items that are SYNC_LOOK, and settles them. */
void sync_look(struct sync_batch *b);
/* The next look at it: in its round, or soon. */
void sync_drift_schedule(const struct sync_item *item, bool soon);

/* --- sync_left.c ------------------------------------------------------------------------------ */
/* Is this the key of syncer_ask_left()?  Then it is dealt with. */
bool sync_left(const struct syncer *s, const struct queue_batch *batch);

/* --- sync_upkeep.c ---------------------------------------------------------------------------- */
/* Does its load balancer stand, as far as the controller knows?  An empty status alone does not say
 * no: another program may have written it.  What this process has carried out counts, and the
 * addresses in the mark on the Service. */
bool sync_stands(const struct sync_item *item);
/* May its ensure have carried out something, or is it not known?  False: what
 * stood before stands. */
bool sync_has_touched(const struct sync_batch *b, const struct sync_item *item);
/* By which Service its backends are updated: as it was accepted last if its last ensure was
 * refused, else as it is. */
const struct tt_service *sync_backends_service(const struct sync_item *item);
/* Is it known that something was carried out for it since an ensure ended well, in this sync or
 * before?  False for a provider that does not report its plans. */
bool sync_has_done(const struct sync_batch *b, const struct sync_item *item);
/* Returns whether the last ensure of `svc`, by which backends are to be updated, failed. */
bool sync_is_unproven(const struct sync_item *item, const struct tt_service *svc);
/* Updates the backends of what stands and could not be ensured in this batch. */
void sync_upkeep(struct sync_batch *b);
/* Nodes and endpoints are those that were handed over before this sync. */
bool sync_backends_are_known(const struct sync_batch *b, const struct sync_item *item);

/* --- sync_unreadable.c ------------------------------------------------------------------------ */
/* For SYNC_UNREADABLE: item->err says what cannot be read. */
void sync_unreadable_before(struct sync_item *item);
/* Tells user, board and log; once for each reason.  It is not tried again: its fixing
 * is a change. */
void sync_unreadable_settle(const struct sync_batch *b, struct sync_item *item);
/* False: one of its EndpointSlices cannot be read and was not known before, so the nodes with
 * endpoints are unknown; item->err says so. */
bool sync_slices_are_known(struct sync_item *item);

/* --- sync_kube.c ------------------------------------------------------------------------------ */
int sync_add_finalizer(struct sync_item *item, struct err *err);
/* Does the failure to add one mean that the Service is gone, or being deleted, which the watch is
 * about to report?  Nothing was made for it. */
bool sync_says_gone(int code, const char *message);
/* Lets go of the cleanup finalizer, unless that is none of ours, and those that the
 * provider named, in one patch. */
int sync_remove_finalizers(struct sync_item *item, struct err *err);
/* Takes the addresses out of the status after a deletion; those of another controller stay. */
int sync_write_no_status(struct sync_item *item, struct err *err);
/* Annotations, conditions, finalizers that the provider lets go of after an ENSURE, and the
 * reports; `elsewhere`: the load balancer is another controller's, and what is said of it, too. */
int sync_write_extras(struct sync_item *item, bool elsewhere, struct err *err);
/* All that an ENSURE that went well leads to, in one request as a rule: these, and the status. */
int sync_write_ensured(struct sync_item *item, struct err *err);
/* Writes the result so far, while the provider tidies up: the addresses, the mark for them, and
 * annotations.  All of it is written again at the end.  Nothing if the addresses are there; in an
 * update nothing in any case.  Not ERR_OK: the status names other addresses, and
 * result->publish_failure says why (of an ensure). */
int sync_write_serving(struct sync_item *item);
/* The addresses of a load balancer that stands although its Service failed, and the mark for them;
 * nothing if they are there. */
int sync_write_moved(struct sync_item *item, const struct tt_ingress *ingress, size_t n,
                     struct err *err);
/* The same after the deletion of what is the provider's own affair: nothing on a Service that stays
 * speaks of the load balancer when the finalizers go. */
int sync_write_deleted(struct sync_item *item, struct err *err);
/* After the finalizers are gone the object is gone too: no other finalizer holds it. */
bool sync_object_is_gone(const struct sync_item *item);

/* A failed sync: what the provider takes back or sets then (item->extras_due), and, when `report`
 * says so, that it will be tried again after `delay_ms`. */
void sync_write_failed(struct sync_item *item, bool report, int64_t delay_ms);
/* The Service has no load balancer of ours any more, or never had one: what it says of it goes. */
int sync_write_no_report(struct sync_item *item, struct err *err);
/* The patch that makes the condition so; NULL: it is so. */
const char *sync_condition_body(const struct sync_item *item, const struct tt_condition *wanted);

/* --- sync_mark.c ------------------------------------------------------------------------------ */
/* Once `svc` is known: whether this process marked it already. */
void sync_mark_load(struct sync_item *item);
/* TT_ITEM_PUT_RIGHT, TT_ITEM_MADE: for an ensure by `svc`, the item's Service or an older
 * state of it. */
uint32_t sync_mark_flags(const struct sync_item *item, const struct tt_service *svc);
/* The patch that writes the mark before the first mutation of this ensure, or adds the provider to
 * one that names none; NULL: none is to come, or it is there.  One of a load balancer that is being
 * made goes with a finalizer (or with the status), one of an edit also alone: *ret_alone. */
const char *sync_mark_due(const struct sync_item *item, bool *ret_alone);
/* The patch that writes it, with mark_by_text() of it as `by`; both NULL: that takes it off. */
const char *sync_mark_body(struct arena *a, const char *text, const char *by);
/* The patch that goes with that of the status: the mark of what was made or edited names these
 * addresses; NULL: it has none. */
const char *sync_mark_follows(const struct sync_item *item, const struct tt_ingress *ingress,
                              size_t n);
/* Has the server taken a mark of the Service, as far as this process knows?  Then no policy
 * forbids it. */
bool sync_mark_was_taken(const struct sync_item *item);
/* Another provider's mark is on it, by which that one finds what it has to delete: ours, of what is
 * made, is owed until that one has taken it off.  An edit does not wait. */
bool sync_mark_waits(const struct sync_item *item);
/* The server has refused the mark that names the addresses: it goes by itself next time. */
void sync_mark_owe(struct sync_item *item);
bool sync_mark_is_owed(const struct sync_item *item);
/* The patch that takes it off, whatever UID it names; NULL if there is none, or it is another
 * provider's, who has something to clean up himself. */
const char *sync_mark_gone(const struct sync_item *item);
/* It was written; with `owed` it was refused, and what came with it was taken: it follows later. */
void sync_mark_note(struct sync_item *item, bool owed);

/* --- sync_former.c ---------------------------------------------------------------------------- */
/* The patch that keeps what the Service asked for when it was carried out last; NULL: it
 * is there, or not known. */
const char *sync_former_body(const struct sync_item *item);
/* The text that keeps it, as it is there or is written in this sync; NULL: it is not known. */
const char *sync_former_kept(const struct sync_item *item);
/* Did only something fail without which clients are served as asked: what goes, above all?  Then
 * the replacement did not fail. */
bool sync_is_replaced(const struct sync_item *item);
/* The patch that takes it off; NULL if there is none. */
const char *sync_former_gone_body(const struct sync_item *item);
/* Keeps in mind what a call, which is over, has done to what the Service asked for before. */
void sync_former_note(const struct sync_item *item);
/* Ensures once more what failed in this batch, as it was before something that worked
 * was taken down for it. */
void sync_lead_back(struct sync_batch *b);

/* --- sync_spare.c ----------------------------------------------------------------------------- */
/* The same, but the cloud is asked whether a right that was missing is back: TT_ITEM_ASKS. */
bool sync_asks_again(const struct sync_item *item);
/* Is nothing that works to be taken down for it in this sync?  (TT_ITEM_SPARE) */
bool sync_spares(const struct sync_item *item);
/* After the calls of a batch: remembers that a replacement was refused, and says in item->err until
 * when nothing is taken down for it again. */
void sync_spare_note(struct sync_item *item);
/* The patch that writes what was remembered; NULL: nothing was in this sync. */
const char *sync_refusal_body(const struct sync_item *item);
/* Does a refusal with this code come again when nothing is changed? */
bool sync_refusal_stays(const struct err *err);
/* Digest of what the Service asks for, not 0. */
uint64_t sync_wish(const struct sync_item *item);
/* How long the next try waits after `tries` refusals before this one. */
int64_t sync_spare_pause_us(unsigned tries);

/* --- sync_report.c ---------------------------------------------------------------------------- */
#define SYNC_REPORTS_MAX 4
/* Patches that bring condition and annotations up to date; returns how many `ret` got.  `delay_ms`,
 * after which it is tried again, counts with SYNC_REPORT_FAILED. */
enum sync_report {
    SYNC_REPORT_DONE = 0, /* the sync went well */
    SYNC_REPORT_FAILED,
    SYNC_REPORT_GONE, /* there is no load balancer of ours */
};
size_t sync_report_bodies(const struct sync_item *item, enum sync_report what, int64_t delay_ms,
                          const char **ret);
/* Whether a failed Service says something else of its load balancer than its condition,
 * as this sync sees it. */
bool sync_report_is_news(const struct sync_item *item);

/* --- sync_findings.c -------------------------------------------------------------------------- */
/* Sends the events of what this sync's plans found; once, before the outcome is reported. */
void sync_findings_tell(const struct sync_item *item);
/* After an ensure: why no client is served by what stands; "": clients are; NULL: not known. */
const char *sync_stands_nobody(const struct sync_item *item);
/* The patch of the condition LoadBalancerServesNobody; NULL: it is right, or not known. */
const char *sync_nobody_body(const struct sync_item *item);
/* The same when there is no load balancer any more. */
const char *sync_nobody_gone_body(const struct sync_item *item);

/* --- sync_after.c ----------------------------------------------------------------------------- */
void sync_after(struct sync_batch *b, struct sync_item *item);
/* Tells user, log, metrics and queue how it ended. */
void sync_settle(struct sync_batch *b, struct sync_item *item);

/* --- sync_board.c ----------------------------------------------------------------------------- */
void sync_board_begin(const struct sync_item *item);
/* `delay_ms` as in struct board_end; `outcome` of item->err. */
void sync_board_end(const struct sync_batch *b, const struct sync_item *item,
                    const struct sync_outcome *outcome, int64_t delay_ms);
/* A row that says so until the Service comes back. */
void sync_board_kept(const struct sync_item *item, const char *message);
/* "ensure", "update", "delete" or "none". */
const char *sync_todo_word(enum sync_do todo);

/* --- sync_events.c ---------------------------------------------------------------------------- */
void sync_event_kept(const struct sync_item *item, const char *message); /* SYNC_KEEP */
void sync_event_begin(struct sync_item *item); /* Ensuring…, Deleting…; once */
void sync_event_no_nodes(const struct sync_item *item);
void sync_event_normal(const struct sync_item *item, const char *reason, const char *message);
void sync_event_warning(const struct sync_item *item, const char *reason, const char *prefix,
                        const char *text);
/* Of the provider's component, whatever the Service's other events come from. */
void sync_event_finding(const struct sync_item *item, const char *reason, const char *message);
void sync_event_update_failed(const struct sync_batch *b, const struct sync_item *item);

#endif
