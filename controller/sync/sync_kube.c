/* SPDX-License-Identifier: Apache-2.0 */
/* sync_kube.c: what is written to a Service: finalizers, status, annotations, conditions.
 *
 * All of it goes to the status subresource, as upstream's does: RBAC needs no more.  Bodies come
 * from common/lb/status_rules.h, service_patch.h sends them: a Service of the same name that came
 * meanwhile is not written to.  A Service that is gone needs nothing written. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "common/lb/status_rules.h"
#include "controller/sync/sync_internal.h"

/* A failure to write is tried again with back-off, whatever the server said. */
static int as_retryable(int rc, struct err *err)
{
    if (rc != ERR_OK && rc != ERR_CANCELLED) {
        err->retry_after_ms = 0;
        if (rc == ERR_INVALID || rc == ERR_IN_PROGRESS) {
            err->code = ERR_TRANSIENT;
        }
    }
    return rc == ERR_OK ? ERR_OK : err->code;
}

/* The code is the server's. */
static int patch_once(struct sync_item *item, const char *body, struct err *err)
{
    const struct syncer *s = item->s;
    const struct service_patch patch = {.client = s->client,
                                        .services = s->services,
                                        .cancel = s->cancel,
                                        .metrics = s->metrics,
                                        .svc = item->svc,
                                        .version = item->version};
    int rc = service_patch_send(&patch, body, err);

    item->wrote = item->wrote || rc == ERR_OK;
    return rc;
}

/* The same, where a Service that is gone is fine. */
static int patch_if_there(struct sync_item *item, const char *body, struct err *err)
{
    int rc = patch_once(item, body, err);

    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        return ERR_OK;
    }
    return rc;
}

bool sync_says_gone(int code, const char *message)
{
    return code == ERR_NOT_FOUND || strstr(message, "object is being deleted") != NULL;
}

int sync_add_finalizer(struct sync_item *item, struct err *err)
{
    static const char *const wanted[] = {LB_CLEANUP_FINALIZER};
    size_t shown = item->view_lets_go ? 0 : item->svc->n_finalizers;
    const char *body =
        finalizer_patch_add(item->a, item->svc->finalizers, shown, wanted, ARRAY_LEN(wanted));

    const char *bodies[2] = {body};
    bool alone = false;
    const char *mark = sync_mark_due(item, &alone);
    size_t n = 1;
    if (body == NULL) {
        /* whether an edit leads to work is not known yet, and a mark of one alone
             * is a request */
        return ERR_OK;
    }
    if (mark != NULL) {
        bodies[n++] = mark;
    }
    log_info(2, "Adding finalizer", LOG_S("service", item->key));
    int rc = as_retryable(patch_once(item, patches_join(item->a, bodies, n), err), err);
    if (rc != ERR_OK) {
        item->vanishes = sync_says_gone(rc, err->message);
        err_prefix(err, "failed to add load balancer cleanup finalizer");
    } else if (mark != NULL) {
        sync_mark_note(item, false);
    }
    item->held = item->held || rc == ERR_OK;
    return rc;
}

/* The finalizers that a finished cleanup lets go of. */
static size_t finalizers_to_drop(const struct sync_item *item, const char **ret)
{
    size_t n = 0;

    if (!sync_owns(item, TT_OWN_FINALIZERS)) {
        ret[n++] = LB_CLEANUP_FINALIZER;
    }
    for (uint32_t i = 0; item->result != NULL && i < item->result->n_drop_finalizers; i++) {
        ret[n++] = item->result->drop_finalizers[i];
    }
    return n;
}

bool sync_object_is_gone(const struct sync_item *item)
{
    const char *drop[HOST_FINALIZERS_MAX + 1];
    size_t n = finalizers_to_drop(item, drop);
    struct str_set dropped = str_set_make(item->a, drop, n);

    if (item->svc->deleted_us == 0) {
        return false;
    }
    for (uint32_t i = 0; i < item->svc->n_finalizers; i++) {
        if (!str_set_has(&dropped, item->svc->finalizers[i])) {
            return false;
        }
    }
    return true;
}

static const char *status_body(const struct sync_item *item, const struct tt_ingress *ingress,
                               size_t n)
{
    struct tt_ingress *wanted = status_normalise(item->a, ingress, n);
    const struct sync_written *w = item->written;

    return status_patch(item->a, w != NULL ? w->ingress : item->svc->ingress,
                        w != NULL ? w->n_ingress : item->svc->n_ingress, wanted, n);
}

/* Another controller, whose class the Service has by now, has written its own addresses where ours
 * were.  Upstream empties the status all the same. */
static bool names_others(const struct sync_item *item)
{
    const struct tt_service *svc = item->svc;
    uint64_t ours = item->known.addresses;
    bool foreign = scope_is_foreign(&item->s->scope, svc) && !item->s->strict_events;

    if (!foreign || svc->n_ingress == 0) {
        return false;
    }
    if (ours != 0) {
        return ours != addresses_fingerprint(svc->ingress, svc->n_ingress);
    }
    const char *by = item->s->desc->name;
    return mark_is_by_another(svc, by) ||
           (mark_has_addresses(svc, by) && mark_of(item->a, svc, by) == MARK_NONE);
}

/* The patch that takes the addresses of what was deleted out of the status; NULL: none is there. */
static const char *no_status_body(const struct sync_item *item)
{
    return names_others(item) ? NULL : status_body(item, NULL, 0);
}

int sync_write_no_status(struct sync_item *item, struct err *err)
{
    const char *body = no_status_body(item);

    if (body == NULL || sync_owns(item, TT_OWN_STATUS)) {
        return ERR_OK;
    }
    log_info(2, "Patching status for service", LOG_S("service", item->key));
    int rc = as_retryable(patch_if_there(item, body, err), err);
    if (rc != ERR_OK) {
        err_prefix(err, "failed to update load balancer status");
    }
    return rc;
}

/* ---- what only some providers set ------------------------------------------------------------ */

static const struct tt_condition *condition_now(const struct tt_service *svc, const char *type)
{
    for (uint32_t i = 0; i < svc->n_conditions; i++) {
        if (str_eq(svc->conditions[i].type, type)) {
            return &svc->conditions[i];
        }
    }
    return NULL;
}

/* The patch that makes it so; NULL: it is so.  The moment of the last transition stays as long as
 * the status does. */
const char *sync_condition_body(const struct sync_item *item, const struct tt_condition *wanted)
{
    const struct tt_condition *now = condition_now(item->svc, wanted->type);

    if (wanted->status == NULL) {
        return now == NULL ? NULL : condition_patch_remove(item->a, wanted->type);
    }
    struct tt_condition c = *wanted;
    bool same_status = now != NULL && str_eq(now->status, c.status);
    if (same_status && str_eq(now->reason, c.reason) && str_eq(now->message, c.message) &&
        now->observed_generation == c.observed_generation) {
        return NULL;
    }
    c.last_transition_us = same_status ? now->last_transition_us : clock_wall_us(item->s->clock);
    return condition_patch(item->a, &c);
}

static const char *annotation_now(const struct sync_item *item, const char *key)
{
    const struct sync_written *w = item->written;

    for (size_t i = 0; w != NULL && i < w->n_annotations; i++) {
        if (str_eq(w->annotations[i].key, key)) {
            return w->annotations[i].value;
        }
    }
    return svc_annotation(item->svc, key);
}

/* Annotations that go with a finalizer (`lets_go`) are named in any case: the last sync may have
 * written them after this one's view of the Service, and nothing would take them back. */
static const char *annotations_body(const struct sync_item *item, bool lets_go)
{
    const struct tt_result *r = item->result;
    const char *now[HOST_ANNOTATIONS_MAX];
    for (uint32_t i = 0; i < r->n_annotations; i++) {
        now[i] = annotation_now(item, r->annotations[i].key);
    }
    return annotations_patch(item->a, r->annotations, now, r->n_annotations, lets_go);
}

/* ---- several writes as one ------------------------------------------------------------------- */

#define WRITES_MAX (HOST_CONDITIONS_MAX + 4 + SYNC_REPORTS_MAX)

/* The writes to one Service, in order. */
struct writes {
    bool none; /* TT_OWN_STATUS: only finalizers are the controller's */
    const char *bodies[WRITES_MAX];
    const char *what[WRITES_MAX]; /* "failed to …"; NULL: nothing hangs on it */
    bool written[WRITES_MAX];     /* by write_all() */
    size_t n;
    bool stop; /* one that fails keeps the others from being tried */
};

static struct writes writes_of(const struct sync_item *item)
{
    return (struct writes){.none = sync_owns(item, TT_OWN_STATUS)};
}

static void add_any(struct writes *w, const char *body, const char *what)
{
    if (body != NULL) {
        w->bodies[w->n] = body;
        w->what[w->n++] = what;
    }
}

static void add(struct writes *w, const char *body, const char *what)
{
    add_any(w, w->none ? NULL : body, what);
}

#define NEXT_MARK "failed to update the mark of what trimtab makes"

/* A mark that a policy does not allow (422, 403) keeps nothing else from being written. */
static void add_mark(struct writes *w, const char *body)
{
    add(w, body, NULL);
}

/* The same of a Service whose mark the server has taken before: then no policy forbids it, and it
 * is tried again. */
static void add_next_mark(struct writes *w, const struct sync_item *item, const char *body)
{
    add(w, body, sync_mark_was_taken(item) ? NEXT_MARK : NULL);
}

/* Even when it fails it may have been done. */
static void add_let_go(struct writes *w, struct sync_item *item, const char *body, const char *what)
{
    item->let_go = item->let_go || (body != NULL && !sync_object_is_gone(item));
    add_any(w, body, what);
}

static void add_conditions(struct writes *w, const struct sync_item *item)
{
    const struct tt_result *r = item->result;

    for (uint32_t i = 0; i < r->n_conditions; i++) {
        add(w, sync_condition_body(item, &r->conditions[i]),
            arena_printf(item->a, "failed to update condition %s", r->conditions[i].type));
    }
}

/* Written already, while the load balancer was tidied up. */
static bool was_reported(const struct sync_item *item, const char *body)
{
    const struct sync_written *w = item->written;

    for (size_t i = 0; w != NULL && i < w->n_reports; i++) {
        if (str_eq(w->reports[i], body)) {
            return true;
        }
    }
    return false;
}

/* Status of an existing Service, found in the store. */
static void add_report(struct writes *w, const struct sync_item *item, enum sync_report what,
                       int64_t delay_ms)
{
    const char *bodies[SYNC_REPORTS_MAX];
    size_t n = item->obj == NULL ? 0 : sync_report_bodies(item, what, delay_ms, bodies);

    for (size_t i = 0; i < n; i++) {
        if (!was_reported(item, bodies[i])) {
            add(w, bodies[i], "failed to report on the load balancer");
        }
    }
    if (what == SYNC_REPORT_GONE && item->obj != NULL && !sync_owns(item, TT_OWN_GOES)) {
        add_mark(w, sync_mark_gone(item));
    }
}

/* Of a sync that went well: nothing is left to report on a load balancer that went. */
static enum sync_report good_report(const struct sync_item *item)
{
    return sync_owns(item, TT_OWN_GOES) ? SYNC_REPORT_GONE : SYNC_REPORT_DONE;
}

/* Those that the view shows, and those that this call has put there. */
static const char *const *finalizers_present(const struct sync_item *item, size_t *ret_n)
{
    const struct tt_service *svc = item->svc;
    const struct tt_result *r = item->result;
    uint32_t n_held = r == NULL ? 0 : r->n_held_names;
    const char **all = ARENA_ARRAY(item->a, const char *, svc->n_finalizers + n_held + 2);
    size_t n = 0;

    for (uint32_t i = 0; i < svc->n_finalizers; i++) {
        all[n++] = svc->finalizers[i];
    }
    if (r != NULL && r->held && !sync_owns(item, TT_OWN_FINALIZERS) &&
        !svc_has_finalizer(svc, LB_CLEANUP_FINALIZER)) {
        all[n++] = LB_CLEANUP_FINALIZER;
    }
    for (uint32_t i = 0; i < n_held; i++) {
        if (!svc_has_finalizer(svc, r->held_names[i])) {
            all[n++] = r->held_names[i];
        }
    }
    *ret_n = n;
    return all;
}

static void add_extras(struct writes *w, struct sync_item *item, bool failed)
{
    const struct tt_result *r = item->result;

    if (r == NULL || r->broken) {
        return;
    }
    size_t n = 0;
    const char *const *present = finalizers_present(item, &n);
    const char *finalizers =
        finalizer_patch_remove(item->a, present, n, r->drop_finalizers, r->n_drop_finalizers);
    add_conditions(w, item);
    add_let_go(w, item, finalizers, "failed to remove finalizers");
    add(w, failed ? NULL : annotations_body(item, finalizers != NULL),
        "failed to update annotations");
    if (item->elsewhere &&
        finalizers != NULL) { /* its load balancer went, and another program's is to come */
        add_mark(w, sync_mark_gone(item));
    }
}

static int write_each(struct sync_item *item, struct writes *w, struct err *err)
{
    int first = ERR_OK;

    for (size_t i = 0; i < w->n && (first == ERR_OK || !w->stop); i++) {
        struct err one = ERR_INIT;
        int rc = patch_if_there(item, w->bodies[i], &one);
        bool policy = rc == ERR_INVALID || rc == ERR_FORBIDDEN;
        const char *what = w->what[i] == NULL ? NEXT_MARK : w->what[i];
        w->written[i] = as_retryable(rc, &one) == ERR_OK;
        if (w->written[i]) {
            continue;
        }
        if (str_eq(what, NEXT_MARK)) {
            sync_mark_owe(item);
        }
        if (w->what[i] == NULL && policy) {
            log_warning("The annotation of created load balancers was not written",
                        LOG_S("service", item->key), LOG_S("err", one.message));
            continue;
        }
        err_prefix(&one, "%s", what);
        item->unwritten = true;
        if (first == ERR_OK) {
            first = err_copy(err, &one);
        }
    }
    return first;
}

static const char *last_what(const struct writes *w)
{
    for (size_t i = w->n; i > 0; i--) {
        if (w->what[i - 1] != NULL) {
            return w->what[i - 1];
        }
    }
    return "failed to update annotations";
}

/* One request as a rule.  When the server does not like the whole, a part of it may be fine. */
static int write_all(struct sync_item *item, struct writes *w, struct err *err)
{
    if (w->n < 2) {
        return write_each(item, w, err);
    }
    int rc = patch_if_there(item, patches_join(item->a, w->bodies, w->n), err);
    if (rc == ERR_INVALID || rc == ERR_FORBIDDEN) {
        err_clear(err);
        return write_each(item, w, err);
    }
    for (size_t i = 0; rc == ERR_OK && i < w->n; i++) {
        w->written[i] = true;
    }
    if (rc != ERR_OK) {
        err_prefix(err, "%s", last_what(w));
        item->unwritten = true;
    }
    return as_retryable(rc, err);
}

int sync_remove_finalizers(struct sync_item *item, struct err *err)
{
    const char *drop[HOST_FINALIZERS_MAX + 1];
    size_t n = finalizers_to_drop(item, drop);
    size_t n_present = 0;
    const char *const *present = finalizers_present(item, &n_present);
    const char *body = finalizer_patch_remove(item->a, present, n_present, drop, n);
    struct writes w = writes_of(item);

    w.stop = true;
    /* Other values that the provider removes, before the finalizers are gone. */
    if (item->result != NULL && !item->result->broken && !sync_object_is_gone(item)) {
        add_conditions(&w, item);
        add(&w, annotations_body(item, body != NULL), "failed to update annotations");
    }
    if (!sync_object_is_gone(item)) {
        add_report(&w, item, SYNC_REPORT_GONE, 0);
    }
    if (body != NULL) {
        log_info(2, "Removing finalizer", LOG_S("service", item->key));
    }
    add_let_go(&w, item, body, "failed to remove load balancer cleanup finalizer");
    return write_all(item, &w, err);
}

int sync_write_extras(struct sync_item *item, bool elsewhere, struct err *err)
{
    struct writes w = writes_of(item);

    add_extras(&w, item, false);
    if (!elsewhere || sync_owns(item, TT_OWN_GOES)) {
        add_report(&w, item, good_report(item), 0);
    }
    return write_all(item, &w, err);
}

/* Finalizers that another program took off a Service whose ensure fails: its load balancer would
 * stay when it goes. */
static const char *lost_finalizers_body(const struct sync_item *item)
{
    uint32_t lost = service_cache_lost(item->s->cache, item->key);
    const char *names[HOST_FINALIZERS_MAX + 1];
    size_t n = 0;

    if (item->obj == NULL || item->svc->deleted_us != 0 || item->view_lets_go || item->let_go ||
        item->elsewhere || !sync_stands(item)) {
        return NULL;
    }
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        if ((lost & 1u << i) != 0) {
            names[n++] = scope_finalizer(&item->s->scope, i);
        }
    }
    return n == 0 ? NULL
                  : finalizer_patch_add(item->a, item->svc->finalizers, item->svc->n_finalizers,
                                        names, n);
}

void sync_write_failed(struct sync_item *item, bool report, int64_t delay_ms)
{
    struct err extras = ERR_INIT;
    struct writes w = writes_of(item);

    if (item->extras_due) {
        add_extras(&w, item, true);
    }
    add(&w, sync_refusal_body(item), "failed to keep that the replacement was refused");
    add(&w, lost_finalizers_body(item), "failed to add finalizers");
    if (sync_mark_is_owed(item)) {
        add_mark(&w, sync_mark_follows(item, item->svc->ingress, item->svc->n_ingress));
    }
    if (report) {
        add_report(&w, item, SYNC_REPORT_FAILED, delay_ms);
    }
    if (write_all(item, &w, &extras) != ERR_OK) { /* the other failure is what counts */
        log_warning("The status of a failed Service was not written", LOG_S("service", item->key),
                    LOG_S("err", extras.message));
    }
}

int sync_write_no_report(struct sync_item *item, struct err *err)
{
    struct writes w = writes_of(item);

    add_report(&w, item, SYNC_REPORT_GONE, 0);
    return write_all(item, &w, err);
}

int sync_write_ensured(struct sync_item *item, struct err *err)
{
    const struct tt_result *r = item->result;
    struct writes w = writes_of(item);

    add_extras(&w, item, false);
    add_report(&w, item, good_report(item), 0);
    service_cache_set_addresses(item->s->cache, item->key,
                                addresses_fingerprint(r->ingress, r->n_ingress), !w.none);
    const char *body = status_body(item, r->ingress, r->n_ingress);
    if (body != NULL && !w.none) {
        log_info(2, "Patching status for service", LOG_S("service", item->key));
        add_next_mark(&w, item, sync_mark_follows(item, r->ingress, r->n_ingress));
    } else if (sync_mark_is_owed(item)) {
        add_next_mark(&w, item, sync_mark_follows(item, r->ingress, r->n_ingress));
    }
    if (sync_mark_waits(item)) {
        sync_mark_owe(item);
    }
    add(&w, body, "failed to update load balancer status");
    int rc = write_all(item, &w, err);
    if (rc == ERR_OK && body != NULL && !w.none && r->n_ingress > 0) {
        item->addressed_ms = clock_now_ms(item->s->clock);
    }
    return rc;
}

static int not_published(struct sync_item *item, const struct err *err)
{
    log_info(2, "The address was not written while the load balancer was tidied up",
             LOG_S("service", item->key), LOG_S("err", err->message));
    item->unwritten = false;
    item->result->publish_failure = arena_strdup(item->a, err->message);
    item->result->publish_code = err->code;
    return err->code;
}

/* An update leaves the status alone, and the way back to former settings writes nothing else. */
static int publish_alone(struct sync_item *item)
{
    const struct tt_result *r = item->result;
    struct err err = ERR_INIT;

    if (item->todo == SYNC_UPDATE) {
        return err_set(&err, ERR_IN_USE, "the status names other addresses");
    }
    int rc = sync_write_moved(item, r->ingress, r->n_ingress, &err);
    return rc == ERR_OK ? ERR_OK : not_published(item, &err);
}

int sync_write_serving(struct sync_item *item)
{
    const struct tt_result *r = item->result;
    struct writes w = writes_of(item);
    struct err err = ERR_INIT;
    const char *body = status_body(item, r->ingress, r->n_ingress);
    const char *reports[SYNC_REPORTS_MAX];

    if (body == NULL || w.none || item->obj == NULL) {
        return ERR_OK;
    }
    if (item->todo != SYNC_ENSURE || item->leads_back) {
        return publish_alone(item);
    }
    size_t n_reports = sync_report_bodies(item, SYNC_REPORT_DONE, 0, reports);
    log_info(2, "Patching status for service", LOG_S("service", item->key));
    service_cache_set_addresses(item->s->cache, item->key,
                                addresses_fingerprint(r->ingress, r->n_ingress), true);
    add(&w, annotations_body(item, false), "failed to update annotations");
    add_report(&w, item, SYNC_REPORT_DONE, 0);
    add_mark(&w, sync_mark_follows(item, r->ingress, r->n_ingress));
    add(&w, body, "failed to update load balancer status");
    if (write_all(item, &w, &err) != ERR_OK) {
        int rc = not_published(item, &err);
        if (w.written[w.n - 1]) { /* the rest is written again at the end */
            item->result->publish_failure = NULL;
            rc = ERR_OK;
        }
        return rc;
    }
    struct sync_written *written = arena_alloc(item->a, sizeof(*written));
    *written = (struct sync_written){
        .ingress = status_normalise(item->a, r->ingress, r->n_ingress),
        .n_ingress = r->n_ingress,
        .annotations = r->n_annotations == 0
                           ? NULL
                           : arena_memdup(item->a, r->annotations,
                                          r->n_annotations * sizeof(r->annotations[0])),
        .n_annotations = r->n_annotations,
        .reports = arena_memdup(item->a, reports, n_reports * sizeof(reports[0])),
        .n_reports = n_reports,
    };
    item->written = written;
    item->result->publish_failure = NULL;
    item->addressed_ms = clock_now_ms(item->s->clock);
    return ERR_OK;
}

int sync_write_moved(struct sync_item *item, const struct tt_ingress *ingress, size_t n,
                     struct err *err)
{
    struct writes w = writes_of(item);
    const char *body = status_body(item, ingress, n);

    if (body != NULL && !w.none) {
        log_info(2, "Patching status for service", LOG_S("service", item->key));
        add_next_mark(&w, item, sync_mark_follows(item, ingress, n));
    }
    add(&w, body, "failed to update load balancer status");
    return w.n > 0 ? write_all(item, &w, err) : ERR_OK;
}

int sync_write_deleted(struct sync_item *item, struct err *err)
{
    const char *drop[HOST_FINALIZERS_MAX + 1];
    size_t n = finalizers_to_drop(item, drop);
    size_t n_present = 0;
    const char *const *present = finalizers_present(item, &n_present);
    const char *body = finalizer_patch_remove(item->a, present, n_present, drop, n);
    struct writes w = writes_of(item);

    w.stop = true;
    if (!sync_object_is_gone(item)) {
        add(&w, no_status_body(item), "failed to update load balancer status");
        add_conditions(&w, item);
        add(&w, annotations_body(item, body != NULL), "failed to update annotations");
        add_report(&w, item, SYNC_REPORT_GONE, 0);
    }
    add_let_go(&w, item, body, "failed to remove finalizers");
    return write_all(item, &w, err);
}
