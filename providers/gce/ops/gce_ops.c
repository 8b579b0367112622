/* SPDX-License-Identifier: Apache-2.0 */
/* gce_ops.c: how one operation that the planner wrote is carried out (gce_ops.h).
 *
 *     late members put in ──▶ the call ──▶ its operation ──▶ (read_member: GET) ──▶ (then) ──▶ done
 *                               ▲   │ a member is gone, or there already
 *                               └───┘ the rest is sent again
 *
 * A refusal means here: another program wrote meanwhile (CONFLICT: look and plan again), the
 * Service asks for what cannot be (INVALID, in upstream's words: gce_ops_refusals.c), or the
 * cloud's own error.  Two things are never sent: a firewall without target tags, which would open
 * every machine of the network, and a PUT over a backend service of which only the members that the
 * snapshot keeps are known. */
#include "providers/gce/ops/gce_ops.h"

#include "common/base/str.h"
#include "common/lb/exec.h"
#include "providers/gce/api/gce_ops_refusals.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/model/gce_errors.h"
#include "providers/gce/model/gce_links.h"

#include <stdlib.h>
#include <string.h>

#define DROP_MAX 50 /* members that one operation leaves out before it gives up */

/* State of one operation; zeroed by the executor. */
struct op_state {
    bool begun;
    bool asking;  /* for the fingerprint, before the write */
    bool reading; /* the write is done, the resource is being read */
    struct gce_call call;
    const struct gce_op *op;  /* that is being sent: the operation's, or one that follows it */
    struct json_object *body; /* as it is sent; arena-owned */
    unsigned dropped;
};

struct doing {
    struct lb_op_run *run;
    const struct gce_op *op;
    struct op_state *st;
    const struct gce_cloud *cloud;
};

static enum http_next step(struct lb_op_run *run, const struct http_response *resp);

#define TYPE(id, name_)                                                                            \
    const struct lb_op_type gce_op_type_##id = {                                                   \
        .name = (name_), .state_size = sizeof(struct op_state), .step = step}
TYPE(insert, "insert");
TYPE(update, "update");
TYPE(patch, "patch");
TYPE(delete, "delete");
TYPE(members, "members");
TYPE(swap, "swap");

const struct lb_op_type *gce_op_type_of(enum gce_verb verb)
{
    switch (verb) {
    case GCE_INSERT:
        return &gce_op_type_insert;
    case GCE_UPDATE:
        return &gce_op_type_update;
    case GCE_PATCH:
        return &gce_op_type_patch;
    case GCE_DELETE:
        return &gce_op_type_delete;
    case GCE_ADD_CHECK:
    case GCE_REMOVE_CHECK:
        return &gce_op_type_swap;
    default:
        return &gce_op_type_members;
    }
}

const char *gce_collection_word(enum gce_collection c)
{
    static const char *const words[GCE_COLLECTION_MAX] = {
        [GCE_ADDRESSES] = "address",
        [GCE_RULES] = "forwarding rule",
        [GCE_POOLS] = "target pool",
        [GCE_FIREWALLS] = "firewall",
        [GCE_CHECKS] = "HTTP health check",
        [GCE_INSTANCES] = "instance",
        [GCE_PROJECTS] = "project",
        [GCE_BACKENDS] = "backend service",
        [GCE_HCS] = "health check",
        [GCE_REGION_HCS] = "health check",
        [GCE_NEGS] = "NEG",
        [GCE_GROUPS] = "instance group",
        [GCE_SUBNETWORKS] = "subnetwork",
        [GCE_ZONES] = "zone",
        [GCE_NETWORKS] = "network",
        [GCE_GLOBAL_RULES] = "forwarding rule",
        [GCE_GLOBAL_BACKENDS] = "backend service",
    };
    return words[c];
}

const char *gce_op_kind(enum gce_collection c)
{
    return gce_collection_word(c == GCE_CHECKS ? GCE_HCS : c); /* people know one kind */
}

const char *gce_op_api_kind(enum gce_collection c)
{
    return c == GCE_CHECKS ? "httpHealthChecks" : c == GCE_REGION_HCS ? "regionHealthChecks" : NULL;
}

unsigned gce_op_calls(const struct gce_op *op)
{
    unsigned own = 2u + (op->read_member != NULL) + op->fingerprint;
    return own + (op->then != NULL ? gce_op_calls(op->then) : 0);
}

/* ---- the body -------------------------------------------------------------------------------- */

static void give_back(void *arg)
{
    json_object_put(arg);
}

/* A copy that may be changed; it goes with the arena. */
static struct json_object *own_body(struct arena *a, struct json_object *body)
{
    struct json_object *own = json_copy(body);
    arena_defer(a, give_back, own);
    return own;
}

static bool put_late(const struct doing *d, const struct gce_op_late *late)
{
    const char *text = lb_run_value(d->run, late->value);
    if (text == NULL) {
        bool absent = late->value.op < 0;
        if (!absent) {
            (void)err_set(d->run->err, ERR_BUG, "%s of %s is not known", late->member, d->op->name);
        }
        return absent;
    }
    if (late->suffix != NULL && strchr(text, '/') == NULL) {
        text = arena_printf(d->run->a, "%s%s", text, late->suffix);
    }
    if (late->prefix != NULL) {
        text = arena_printf(d->run->a, "%s%s", late->prefix, text);
    }
    if (!str_has_suffix(late->member, "Ranges")) {
        json_add_str(d->st->body, late->member, text);
        return true;
    }
    struct gce_strs all = gce_strs_with(d->run->a, &late->beside, text);
    json_add(d->st->body, late->member, json_strs(all.items, all.n));
    return true;
}

static bool has_tags(struct json_object *body)
{
    return json_len(json_member(body, "targetTags")) > 0;
}

/* The bodies that must never be sent, whatever the planner thought. */
static bool may_be_sent(const struct doing *d)
{
    const struct gce_op *op = d->op;
    if (op->c == GCE_FIREWALLS && op->body != NULL && !has_tags(d->st->body)) {
        (void)err_set(d->run->err, ERR_BUG, "a firewall without target tags is never written");
        return false;
    }
    if (op->c == GCE_BACKENDS && op->verb == GCE_UPDATE && json_member(d->st->body, "id") == NULL) {
        (void)err_set(d->run->err, ERR_CONFLICT, "backend service %s must be read first", op->name);
        return false;
    }
    return true;
}

static bool make_body(const struct doing *d)
{
    if (d->op->body == NULL) {
        return true;
    }
    d->st->body = own_body(d->run->a, d->op->body);
    for (size_t i = 0; i < d->op->n_late; i++) {
        if (!put_late(d, &d->op->late[i])) {
            return false;
        }
    }
    return may_be_sent(d);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum http_next begin_write(const struct doing *d)
{
    const struct gce_op *op = d->op;
    const struct gce_call_spec spec = {
        .collection = op->c,
        .verb = op->verb,
        .zone = op->zone,
        .name = op->verb == GCE_INSERT ? NULL : op->name,
        .body = d->st->body,
    };
    gce_call_begin(&d->st->call, &d->cloud->api, op->call, d->run->a, &spec);
    return gce_call_step(&d->st->call, d->run->req, NULL, d->run->err);
}

static enum http_next begin_read(const struct doing *d)
{
    const struct gce_call_spec spec = {
        .collection = d->op->c, .verb = GCE_GET, .zone = d->op->zone, .name = d->op->name};
    gce_call_begin(&d->st->call, &d->cloud->api, d->op->call, d->run->a, &spec);
    return gce_call_step(&d->st->call, d->run->req, NULL, d->run->err);
}

/* ---- members --------------------------------------------------------------------------------- */

static struct json_object *members_of(struct json_object *body)
{
    struct json_object *list = json_member(body, "networkEndpoints");
    return list != NULL ? list : json_member(body, "instances");
}

/* The member that the cloud refused, by its place in the list or by its name; -1: none. */
static int refused_member(const struct doing *d, struct json_object *list)
{
    const char *message = d->run->err->message;
    size_t n = json_len(list);
    const char *at = strstr(message, "networkEndpoints[");
    at = at != NULL ? at : strstr(message, "instances[");
    if (at != NULL) {
        long i = strtol(strchr(at, '[') + 1, NULL, 10);
        return i >= 0 && (size_t)i < n ? (int)i : -1;
    }
    const char *name = gce_error_instance(d->run->a, message);
    for (size_t i = 0; name != NULL && i < n; i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        const char *is = json_object_is_type(one, json_type_string) ? json_object_get_string(one)
                                                                    : json_str(one, "instance");
        if (is != NULL && str_eq(gce_link_last(is), name)) {
            return (int)i;
        }
    }
    return -1;
}

/* Gone, there already, or not there: nothing is left to be done for this member. */
static bool is_about_a_member(const struct err *err)
{
    switch (err->code) {
    case ERR_NOT_FOUND:
    case ERR_EXISTS:
        return true;
    case ERR_INVALID:
        return !gce_refusal_is_one_group(err);
    default:
        return false;
    }
}

static bool drop_member(const struct doing *d)
{
    struct json_object *list = d->op->members ? members_of(d->st->body) : NULL;
    if (list == NULL || d->st->dropped >= DROP_MAX || !is_about_a_member(d->run->err)) {
        return false;
    }
    int i = refused_member(d, list);
    if (i < 0) {
        return false;
    }
    (void)json_object_array_del_idx(list, (size_t)i, 1);
    d->st->dropped++;
    return true;
}

/* ---- what came back -------------------------------------------------------------------------- */

/* An IPv6 address comes with the length of its prefix; who refers to it says whether
 * it wants one. */
static void output(const struct doing *d, const char *value)
{
    value = arena_strndup(d->run->plan_a, value, strcspn(value, "/"));
    lb_run_output(d->run, "value", value);
    if (d->op->ret_value != NULL) {
        *d->op->ret_value = value;
    }
}

/* The address is reserved already, under whatever name: it cannot be lost, which is all that was
 * wanted.  The name itself being taken is another matter: what an interrupted run left will be
 * used.  A refusal that does not say so is none of both: rules must not be taken away
 * on its word. */
static bool is_held_by_another(const struct doing *d)
{
    const struct err *err = d->run->err;
    const char *own = arena_printf(d->run->a, "/addresses/%s'", d->op->name);
    bool taken = err->code == ERR_EXISTS && strstr(err->message, own) != NULL &&
                 strstr(err->message, "already exists") != NULL;
    bool reserved =
        (err->code == ERR_EXISTS || err->code == ERR_IN_USE || err->code == ERR_INVALID) &&
        strstr(err->message, "already") != NULL;
    return !taken && reserved && !str_is_empty(json_str(d->st->body, "address"));
}

/* The command for a security admin, with what was known only now. */
static void tell_by_hand(const struct doing *d)
{
    const struct gce_op *op = d->op;
    const char *late = op->n_late > 0 ? lb_run_value(d->run, op->late[0].value) : NULL;
    if (op->command != NULL && op->ret_value != NULL) {
        *op->ret_value =
            late == NULL ? op->command : str_replace(d->run->plan_a, op->command, GCE_LATER, late);
    }
}

/* Whether the refusal is the owner's to fix, or another rule's: its code says so then. */
static bool explain(const struct doing *d)
{
    struct err *err = d->run->err;
    if (!d->op->plain) {
        return gce_refusal_explain(d->run->a, d->st->body, err);
    }
    if (err->code == ERR_INVALID && d->op->c == GCE_RULES && gce_refusal_is_taken(err)) {
        err->code = ERR_IN_USE;
    }
    return err->code == ERR_IN_USE;
}

static enum http_next refused(const struct doing *d)
{
    struct err *err = d->run->err;
    const struct gce_op *op = d->op;
    if (op->c == GCE_ADDRESSES && op->verb == GCE_INSERT && is_held_by_another(d)) {
        err->code = ERR_EXISTS;
        output(d, json_str(d->st->body, "address"));
        return HTTP_DONE;
    }
    if (err->code == ERR_FORBIDDEN) {
        tell_by_hand(d);
        return HTTP_DONE;
    }
    if (op->verb == GCE_DELETE) {
        return HTTP_DONE;
    }
    bool explained = explain(d);
    bool stale = !explained &&
                 (err->code == ERR_EXISTS || err->code == ERR_NOT_FOUND || err->code == ERR_IN_USE);
    err->code = stale ? ERR_CONFLICT : err->code;
    return HTTP_DONE;
}

static enum http_next begin(const struct doing *d)
{
    d->st->asking = d->op->fingerprint;
    return d->st->asking ? begin_read(d) : begin_write(d);
}

static enum http_next follow(const struct doing *d)
{
    struct doing next = *d;
    next.op = d->op->then;
    if (next.op == NULL) {
        return HTTP_DONE;
    }
    d->st->op = next.op;
    d->st->body = NULL;
    d->st->dropped = 0;
    return make_body(&next) ? begin(&next) : HTTP_DONE;
}

static enum http_next after_write(const struct doing *d)
{
    if (d->run->err->code != ERR_OK && drop_member(d)) {
        err_clear(d->run->err);
        if (json_len(members_of(d->st->body)) == 0 && d->op->verb != GCE_INSERT) {
            return follow(d); /* nothing is left to be done for them */
        }
        return begin_write(d);
    }
    if (d->run->err->code != ERR_OK) {
        return refused(d);
    }
    if (d->op->read_member == NULL) {
        return follow(d);
    }
    d->st->reading = true;
    return begin_read(d);
}

static enum http_next after_asking(const struct doing *d)
{
    struct json_object *o;
    struct op_state *st = d->st;
    st->asking = false;
    if (d->run->err->code != ERR_OK) {
        return HTTP_DONE;
    }
    if (json_parse_arena(d->run->a, st->call.answer, st->call.answer_len, NULL, &o, d->run->err) !=
        ERR_OK) {
        return HTTP_DONE;
    }
    json_add_str(st->body, "fingerprint", json_str(o, "fingerprint"));
    return begin_write(d);
}

static enum http_next after_read(const struct doing *d)
{
    struct json_object *o;
    struct op_state *st = d->st;
    if (d->run->err->code == ERR_NOT_FOUND) {
        d->run->err->code = ERR_TRANSIENT; /* it was made a moment ago */
    }
    if (d->run->err->code != ERR_OK) {
        return HTTP_DONE;
    }
    bool good = json_parse_arena(d->run->a, st->call.answer, st->call.answer_len, NULL, &o, NULL) ==
                    ERR_OK &&
                str_eq(json_str(o, "name"), d->op->name) &&
                !str_is_empty(json_str(o, d->op->read_member));
    if (good) {
        output(d, json_str(o, d->op->read_member));
    } else {
        (void)err_set(d->run->err, ERR_TRANSIENT, "%s of %s %s is not to be seen yet",
                      d->op->read_member, gce_collection_word(d->op->c), d->op->name);
    }
    return HTTP_DONE;
}

static enum http_next step(struct lb_op_run *run, const struct http_response *resp)
{
    struct op_state *st = run->state;
    st->op = st->op != NULL ? st->op : run->op->arg;
    const struct doing d = {.run = run, .op = st->op, .st = st, .cloud = run->provider};
    enum http_next next;
    if (!st->begun) {
        st->begun = true;
        if (!make_body(&d)) {
            return HTTP_DONE;
        }
        next = begin(&d);
    } else {
        next = gce_call_step(&d.st->call, run->req, resp, run->err);
    }
    if (next != HTTP_DONE) {
        if (d.st->call.operation != NULL) {
            lb_run_accepted(run);
        }
        return next;
    }
    if (d.st->asking) {
        return after_asking(&d);
    }
    return d.st->reading ? after_read(&d) : after_write(&d);
}
