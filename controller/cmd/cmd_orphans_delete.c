/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_orphans_delete.c: taking orphans away: who may, and how.
 *
 * Each Service that is gone is deleted by the provider's own ensure_load_balancer_deleted(), so the
 * order, the fingerprints and the care for what others use are the controller's.  It is refused
 * while a controller is running: that one may be making the very load balancer whose Service was
 * not there yet when the Services were listed.  For the same reason each Service is asked for once
 * more right before. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/lb/service_rules.h"
#include "controller/cmd/cmd_orphans.h"
#include "controller/kube/lease/lease_body.h"

#define LEASE_API  "coordination.k8s.io/v1"
#define ANSWER_MAX 64
#define ANSWER_MS  ((int64_t)24 * 60 * 60 * 1000) /* a person may think as long as that */

/* ---- is a controller running? ---------------------------------------------------------------- */

/* By its clock: who renewed it within its duration holds it. */
static bool is_held(const struct lease_record *r, int64_t now_us)
{
    return r->holder[0] != '\0' && r->renewed_us + (int64_t)r->duration_s * 1000000 > now_us;
}

static int check_lease(struct orphans *o, const char *ns, const char *name, struct err *err)
{
    struct cmd_session *s = &o->s;
    struct kube_response resp = {0};
    struct lease_record r = {0};
    char *path = NULL;
    struct json_object *lease = NULL;
    int rc = kube_path(s->a, LEASE_API, ns, "leases", name, NULL, &path, err);

    if (rc == ERR_OK) {
        const struct kube_request req = {.method = "GET", .path = path};
        rc = kube_client_do(s->client, s->a, &req, NULL, &resp, err);
    }
    if (rc == ERR_OK) {
        rc = json_parse_arena(s->a, resp.body, resp.body_len, NULL, &lease, err);
    }
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        return ERR_OK;
    }
    if (rc != ERR_OK) {
        struct err why = *err;
        return err_set(err, rc,
                       "cannot tell whether a controller is running: lease %s/%s: %.600s; with "
                       "--force it is not asked",
                       ns, name, why.message);
    }
    lease_body_read(lease, &r);
    if (is_held(&r, clock_wall_us(clock_real()))) {
        return err_set(err, ERR_IN_USE,
                       "a controller is running: \"%s\" holds the lease %s/%s, and a new resource "
                       "may look like an orphan; stop it first, or pass --force",
                       r.holder, ns, name);
    }
    return ERR_OK;
}

static int check_leases(struct orphans *o, struct err *err)
{
    static const char *const ours[] = {"cloud-controller-manager", "trimtab"};
    const struct tt_provider *d = &o->s.plugin->desc;
    int rc = ERR_OK;

    for (size_t i = 0; rc == ERR_OK && i < ARRAY_LEN(ours); i++) {
        rc = check_lease(o, "kube-system", ours[i], err);
    }
    for (uint32_t i = 0; rc == ERR_OK && i < d->n_leases; i++) {
        rc = check_lease(o, d->leases[i].ns, d->leases[i].name, err);
    }
    return rc;
}

/* ---- the question ---------------------------------------------------------------------------- */

static int ask(const struct orphans *o, struct err *err)
{
    char answer[ANSWER_MAX];
    char want[24];

    if (o->s.args.yes) {
        return ERR_OK;
    }
    if (!isatty(STDIN_FILENO)) {
        return err_set(
            err, ERR_INVALID,
            "--delete asks on a terminal, but there is none: pass --yes to skip the question");
    }
    snprintf(want, sizeof(want), "%zu", o->n_chosen);
    fprintf(
        stderr,
        "Type the number of resources to delete (%s), or nothing to leave all as it is: ", want);
    fflush(stdout);
    if (fgets(answer, sizeof(answer), stdin) == NULL) {
        answer[0] = '\0';
    }
    answer[strcspn(answer, "\r\n")] = '\0';
    if (!str_eq(answer, want)) {
        return err_set(err, ERR_CANCELLED, "\"%s\" is not %s: nothing has been deleted", answer,
                       want);
    }
    return ERR_OK;
}

int orphans_may_delete(struct orphans *o, struct err *err)
{
    if (o->s.client == NULL) {
        return err_set(err, ERR_INVALID,
                       "--delete needs a cluster and a cloud: a saved state cannot be changed");
    }
    cmd_wait_for(o->s.wait, "looking for a running controller");
    int rc = o->s.args.force ? ERR_OK : check_leases(o, err);
    cmd_wait_end(o->s.wait);
    int64_t asked_ms = clock_now_ms(clock_real());
    cmd_wait_extend(o->s.wait, ANSWER_MS);
    rc = rc == ERR_OK ? ask(o, err) : rc;
    cmd_wait_extend(o->s.wait, clock_now_ms(clock_real()) - asked_ms - ANSWER_MS);
    return rc;
}

/* ---- deleting -------------------------------------------------------------------------------- */

/* Has a Service of these very resources come, or come back? */
static int check_still_gone(struct orphans *o, const struct tt_service *svc, struct err *err)
{
    struct cmd_session *s = &o->s;
    struct kube_response resp = {0};
    struct json_object *found = NULL;
    char *path = NULL;
    int rc = kube_path(s->a, "v1", svc->ns, "services", svc->name, NULL, &path, err);

    if (rc == ERR_OK) {
        const struct kube_request req = {.method = "GET", .path = path};
        rc = kube_client_do(s->client, s->a, &req, NULL, &resp, err);
    }
    if (rc == ERR_NOT_FOUND) {
        err_clear(err);
        return ERR_OK;
    }
    if (rc == ERR_OK) {
        rc = json_parse_arena(s->a, resp.body, resp.body_len, NULL, &found, err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    const char *uid = str_nonnull(json_str(json_member(found, "metadata"), "uid"));
    const char *type = str_nonnull(json_str(json_member(found, "spec"), "type"));
    bool known = cmd_session_service(s, arena_printf(s->a, "%s/%s", svc->ns, svc->name)) != NULL;
    bool same = str_eq(svc_default_lb_name(s->a, uid), svc_default_lb_name(s->a, svc->uid));
    if (str_eq(type, "LoadBalancer") && (same || !known)) {
        return err_set(err, ERR_IN_USE, "it has come into being meanwhile: left alone");
    }
    return ERR_OK;
}

static int delete_one(struct orphans *o, const struct tt_service *svc, struct err *err)
{
    struct cmd_session *s = &o->s;
    const struct tt_provider *d = &s->plugin->desc;

    if (check_still_gone(o, svc, err) != ERR_OK) {
        return err->code;
    }
    struct host_call *c = host_call_begin(s->host, s->a, 1, cmd_wait_left_ms(s->wait), 0, NULL);
    struct tt_item item = {.size = sizeof(item),
                           .verb = TT_VERB_DELETE,
                           .reasons = TT_REASON_CLEANUP,
                           .service = svc,
                           .has_slices = 1};
    const struct tt_item *items[] = {&item};
    struct tt_batch batch = {.size = sizeof(batch), .key = "", .items = items, .n_items = 1};

    host_call_item(c, 0, &item);
    host_call_nodes(c, &batch.nodes, &batch.n_nodes);
    host_call_enter(c, "ensure_load_balancer_deleted");
    int32_t rc = d->ensure_load_balancer_deleted(s->provider, host_call_abi(c), &batch);
    int code = host_result_outcome(item.result, rc, false, err);
    host_call_end(c);
    return code;
}

/* Is it the first one of those that go together? */
static bool is_first(const struct orphan *items, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (items[i].chosen && orphans_go_together(items[i].remove_as, items[at].remove_as)) {
            return false;
        }
    }
    return true;
}

static size_t count_left(const struct orphans *o, const struct orphan *before, size_t n)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; before[i].chosen && k < o->n; k++) {
            left += str_eq(before[i].kind, o->items[k].kind) &&
                    str_eq(before[i].name, o->items[k].name) &&
                    str_eq(before[i].place, o->items[k].place);
        }
    }
    return left;
}

int orphans_delete(struct orphans *o, struct err *err)
{
    struct orphan *before = o->items;
    size_t n = o->n;
    size_t n_chosen = o->n_chosen;
    int rc = ERR_OK;

    cmd_wait_for(o->s.wait, "deleting");

    for (size_t i = 0; i < n; i++) {
        struct err one = ERR_INIT;
        if (!before[i].chosen || !is_first(before, i)) {
            continue;
        }
        cmd_wait_count(o->s.wait, i, n);
        if (delete_one(o, before[i].remove_as, &one) != ERR_OK) {
            if (*before[i].owner != '\0') {
                err_prefix(&one, "Service %s", before[i].owner);
            } else {
                err_prefix(&one, "%s %s", before[i].kind, before[i].name);
            }
            cmd_wait_end(o->s.wait);
            fprintf(stderr, "error: %s\n", one.message);
            cmd_wait_for(o->s.wait, "deleting");
            rc = rc == ERR_OK ? err_copy(err, &one) : rc;
        }
    }
    cmd_wait_end(o->s.wait);
    struct err again = ERR_INIT;
    o->items = NULL;
    o->n = o->cap = 0;
    if (orphans_list(o, &again) != ERR_OK) {
        return rc == ERR_OK ? err_copy(err, &again) : rc;
    }
    o->tried = true;
    o->n_chosen = n_chosen;
    o->n_deleted = n_chosen - count_left(o, before, n);
    if (rc != ERR_OK) {
        (void)err_set(err, rc, "%zu of %zu resources were deleted", o->n_deleted, n_chosen);
    }
    return rc;
}
