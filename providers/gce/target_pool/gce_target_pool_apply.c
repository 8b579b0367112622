/* SPDX-License-Identifier: Apache-2.0 */
/* gce_target_pool_apply.c: how one operation of a target-pool plan is carried out (lb_op_type).
 *
 * One step function serves all: it builds the body when the address is known, makes the call,
 * and looks at what failed:
 *   - holding an address is three requests: insert, wait, read what was given;
 *   - an instance that is gone is left out and the rest is sent again (§7.2, the trap of
 *     providerIDs);
 *   - exchanging the pool's check is one call to take away and one to add;
 *   - something that should be there and is not (a check deleted meanwhile) is a CONFLICT: look
 *     and plan again. */
#include "common/base/str.h"
#include "common/lb/exec.h"
#include "providers/gce/api/gce_ops_refusals.h"
#include "providers/gce/cache/gce_cloud.h"
#include "providers/gce/model/gce_errors.h"
#include "providers/gce/model/gce_gcloud.h"
#include "providers/gce/model/gce_links.h"
#include "providers/gce/model/gce_service_rules.h"

#include <string.h>

#define DROP_MAX 20 /* instances that one operation leaves out before it gives up */

/* State of one operation; zeroed by the executor. */
struct op_state {
    bool begun;
    struct gce_call call;
    size_t part;             /* SWAP_CHECK: old checks done; HOLD_ADDRESS: 1 = reading */
    struct gce_strs members; /* those that are still to be sent */
    bool members_set;
    unsigned dropped;
};

static enum http_next step(struct lb_op_run *run, const struct http_response *resp);

#define TYPE(id, name_)                                                                            \
    const struct lb_op_type gce_tp_type_##id = {                                                   \
        .name = (name_), .state_size = sizeof(struct op_state), .step = step}
TYPE(insert, "insert");
TYPE(patch, "patch");
TYPE(update, "update");
TYPE(delete, "delete");
TYPE(members, "members");
TYPE(swap, "swap");

/* ---- what to send ---------------------------------------------------------------------------- */

struct send {
    struct lb_op_run *run;
    const struct gce_tp_op *op;
    struct op_state *st;
    const struct gce_cloud *cloud;
    const char *ip; /* "" when the operation needs none or it is to be chosen */
};

static struct gce_call_spec spec_of(enum gce_collection c, enum gce_verb v, const char *name)
{
    return (struct gce_call_spec){.collection = c, .verb = v, .name = name};
}

static void tell_by_hand(const struct send *s, enum gce_gcloud_verb verb,
                         const struct gce_firewall *f)
{
    if (s->op->ret_command != NULL) {
        *s->op->ret_command =
            gce_gcloud_firewall(s->run->a, verb, f, s->cloud->api.network_project);
    }
}

static struct json_object *pool_body(const struct send *s)
{
    struct gce_pool pool = gce_tp_pool_insert(s->op->d);
    if (!s->st->members_set) {
        s->st->members = pool.instances;
        s->st->members_set = true;
    }
    pool.instances = s->st->members;
    return gce_pool_body(&pool);
}

static struct json_object *rule_body(const struct send *s)
{
    struct gce_rule rule = s->op->d->rule;
    rule.ip = s->ip;
    rule.tier = gce_tier_wire(s->op->tier);
    return gce_rule_body(&rule);
}

static struct json_object *address_body(const struct send *s)
{
    const struct gce_address address = {
        .name = s->op->name,
        .description = s->op->d->names.description,
        .ip = s->ip,
        .tier = gce_tier_wire(s->op->tier),
    };
    return gce_address_body(&address);
}

static struct json_object *firewall_body(const struct send *s, enum gce_gcloud_verb verb)
{
    struct gce_firewall f = gce_tp_firewall_for(s->run->a, s->op->d, s->op->firewall, s->ip);
    tell_by_hand(s, verb, &f);
    return gce_firewall_body(&f, s->op->clear_destinations);
}

static struct json_object *members_body(const struct send *s)
{
    if (!s->st->members_set) {
        s->st->members = s->op->members;
        s->st->members_set = true;
    }
    return gce_pool_members_body(s->st->members.items, s->st->members.n);
}

/* The members of the former pool that are sent in one request: first those that an insert takes,
 * then the rest. */
static struct gce_strs restored_chunk(const struct send *s)
{
    const struct gce_strs *all = &s->op->former_pool->instances;
    size_t part = s->st->part;
    size_t from = part == 0 ? 0 : GCE_POOL_CREATE_MAX + (part - 1) * GCE_POOL_CHANGE_MAX;
    size_t most = part == 0 ? GCE_POOL_CREATE_MAX : GCE_POOL_CHANGE_MAX;
    size_t left = from < all->n ? all->n - from : 0;
    return (struct gce_strs){.items = all->items + (left > 0 ? from : 0),
                             .n = left < most ? left : most};
}

static struct gce_call_spec restore_pool_spec(const struct send *s)
{
    struct op_state *st = s->st;
    struct gce_pool pool = *s->op->former_pool;
    if (!st->members_set) {
        st->members = restored_chunk(s);
        st->members_set = true;
    }
    pool.instances = st->members;
    bool insert = st->part == 0;
    struct gce_call_spec spec =
        spec_of(GCE_POOLS, insert ? GCE_INSERT : GCE_ADD_INSTANCE, insert ? NULL : s->op->name);
    spec.body =
        insert ? gce_pool_body(&pool) : gce_pool_members_body(st->members.items, st->members.n);
    return spec;
}

static struct gce_call_spec swap_spec(const struct send *s)
{
    bool add = s->st->part == s->op->old_checks.n;
    struct gce_call_spec spec =
        spec_of(GCE_POOLS, add ? GCE_ADD_CHECK : GCE_REMOVE_CHECK, s->op->pool);
    spec.body = gce_pool_check_body(add ? s->op->new_check : s->op->old_checks.items[s->st->part]);
    return spec;
}

static struct gce_call_spec delete_spec(const struct send *s, enum gce_collection c)
{
    const struct gce_firewall f = {.name = s->op->name};
    if (c == GCE_FIREWALLS) {
        tell_by_hand(s, GCE_GCLOUD_DELETE, &f);
    }
    return spec_of(c, GCE_DELETE, s->op->name);
}

/* The call, with a body that the caller gives back. */
static struct gce_call_spec make_spec(const struct send *s)
{
    const struct gce_tp_op *op = s->op;
    struct gce_call_spec spec;
    switch (op->action) {
    case GCE_TP_HOLD_ADDRESS:
        spec = spec_of(GCE_ADDRESSES, GCE_INSERT, NULL);
        spec.body = address_body(s);
        return spec;
    case GCE_TP_INSERT_RULE:
        spec = spec_of(GCE_RULES, GCE_INSERT, NULL);
        spec.body = rule_body(s);
        return spec;
    case GCE_TP_INSERT_POOL:
        spec = spec_of(GCE_POOLS, GCE_INSERT, NULL);
        spec.body = pool_body(s);
        return spec;
    case GCE_TP_INSERT_FIREWALL:
        spec = spec_of(GCE_FIREWALLS, GCE_INSERT, NULL);
        spec.body = firewall_body(s, GCE_GCLOUD_CREATE);
        return spec;
    case GCE_TP_PATCH_FIREWALL:
        spec = spec_of(GCE_FIREWALLS, GCE_PATCH, op->name);
        spec.body = firewall_body(s, GCE_GCLOUD_UPDATE);
        return spec;
    case GCE_TP_INSERT_CHECK:
        spec = spec_of(GCE_CHECKS, GCE_INSERT, NULL);
        spec.body = gce_check_body(&op->check);
        return spec;
    case GCE_TP_UPDATE_CHECK:
        spec = spec_of(GCE_CHECKS, GCE_UPDATE, op->name);
        spec.body = gce_check_body(&op->check);
        return spec;
    case GCE_TP_ADD_MEMBERS:
    case GCE_TP_REMOVE_MEMBERS:
        spec = spec_of(GCE_POOLS,
                       op->action == GCE_TP_ADD_MEMBERS ? GCE_ADD_INSTANCE : GCE_REMOVE_INSTANCE,
                       op->pool);
        spec.body = members_body(s);
        return spec;
    case GCE_TP_SWAP_CHECK:
        return swap_spec(s);
    case GCE_TP_RESTORE_RULE:
        spec = spec_of(GCE_RULES, GCE_INSERT, NULL);
        spec.body = gce_rule_body(op->former_rule);
        return spec;
    case GCE_TP_RESTORE_POOL:
        return restore_pool_spec(s);
    case GCE_TP_RESTORE_FIREWALL:
        spec = spec_of(GCE_FIREWALLS, GCE_PATCH, op->name);
        spec.body = gce_firewall_body(op->former_firewall, false);
        return spec;
    case GCE_TP_DELETE_RULE:
        return delete_spec(s, GCE_RULES);
    case GCE_TP_DELETE_POOL:
        return delete_spec(s, GCE_POOLS);
    case GCE_TP_DELETE_FIREWALL:
        return delete_spec(s, GCE_FIREWALLS);
    case GCE_TP_DELETE_CHECK:
        return delete_spec(s, GCE_CHECKS);
    case GCE_TP_DELETE_ADDRESS:
        break;
    }
    return delete_spec(s, GCE_ADDRESSES);
}

static enum http_next begin(const struct send *s, const struct gce_call_spec *spec)
{
    struct gce_call_spec borrowed = *spec;
    gce_call_begin(&s->st->call, &s->cloud->api, s->op->outcome->call, s->run->a, &borrowed);
    json_object_put(borrowed.body);
    return gce_call_step(&s->st->call, s->run->req, NULL, s->run->err);
}

static enum http_next begin_op(const struct send *s)
{
    struct gce_call_spec spec = make_spec(s);
    return begin(s, &spec);
}

/* ---- what came back -------------------------------------------------------------------------- */

/* The instance that the error names is dropped; true when the rest is to be sent again. */
static bool drop_instance(const struct send *s)
{
    struct op_state *st = s->st;
    const struct err *err = s->run->err;
    if ((err->code != ERR_NOT_FOUND && err->code != ERR_INVALID) || !st->members_set ||
        st->dropped >= DROP_MAX) {
        return false;
    }
    const char *name = gce_error_instance(s->run->a, err->message);
    const char **rest = ARENA_ARRAY(s->run->a, const char *, st->members.n);
    size_t n = 0;
    for (size_t i = 0; i < st->members.n; i++) {
        if (name == NULL || !str_eq(gce_link_last(st->members.items[i]), name)) {
            rest[n++] = st->members.items[i];
        }
    }
    if (n == st->members.n) {
        return false;
    }
    st->members = (struct gce_strs){.items = rest, .n = n};
    st->dropped++;
    return true;
}

static enum http_next after_members(const struct send *s)
{
    if (s->run->err->code == ERR_OK || !drop_instance(s)) {
        return HTTP_DONE;
    }
    err_clear(s->run->err);
    if (s->st->members.n == 0 && s->op->action != GCE_TP_INSERT_POOL) {
        return HTTP_DONE; /* every instance of this chunk is gone: nothing is left to do */
    }
    return begin_op(s);
}

/* The rest of the members follows. */
static enum http_next after_restored_pool(const struct send *s)
{
    struct op_state *st = s->st;
    if (s->run->err->code != ERR_OK && !drop_instance(s)) {
        return HTTP_DONE;
    }
    if (s->run->err->code == ERR_OK) {
        st->part++;
        st->members_set = false;
        if (restored_chunk(s).n == 0) {
            return HTTP_DONE;
        }
    }
    err_clear(s->run->err);
    return begin_op(s);
}

static enum http_next after_swap(const struct send *s)
{
    bool add = s->st->part == s->op->old_checks.n;
    if (s->run->err->code != ERR_OK || add) {
        return HTTP_DONE;
    }
    s->st->part++;
    return begin_op(s);
}

/* §4.4 step 2.  409: the name is taken, by an interrupted run: look again, it will be used.
 * 400: the address is reserved under another name (the user's): it cannot be lost, which is all
 * that was wanted. */
static enum http_next after_hold(const struct send *s)
{
    struct err *err = s->run->err;
    if (s->st->part == 0 && err->code == ERR_OK) {
        struct gce_call_spec spec = spec_of(GCE_ADDRESSES, GCE_GET, s->op->name);
        s->st->part = 1;
        return begin(s, &spec);
    }
    if (s->st->part == 0) {
        bool reserved = err->code == ERR_IN_USE ||
                        (err->code == ERR_INVALID && strstr(err->message, "already") != NULL);
        if (err->code == ERR_EXISTS) {
            err->code = ERR_CONFLICT;
        } else if (reserved && *s->ip != '\0') {
            err->code = ERR_EXISTS;
            lb_run_output(s->run, "address", s->ip);
        }
        return HTTP_DONE;
    }
    struct json_object *o;
    if (err->code == ERR_OK) {
        if (json_parse_arena(s->run->a, s->st->call.answer, s->st->call.answer_len, NULL, &o,
                             NULL) != ERR_OK ||
            !str_eq(json_str(o, "name"), s->op->name) || str_is_empty(json_str(o, "address"))) {
            (void)err_set(err, ERR_TRANSIENT, "the held address is not to be seen yet");
        } else {
            lb_run_output(s->run, "address", json_str(o, "address"));
        }
    }
    return HTTP_DONE;
}

static enum http_next after(const struct send *s)
{
    struct err *err = s->run->err;
    switch (s->op->action) {
    case GCE_TP_HOLD_ADDRESS:
        return after_hold(s);
    case GCE_TP_ADD_MEMBERS:
    case GCE_TP_REMOVE_MEMBERS:
        return after_members(s);
    case GCE_TP_INSERT_POOL:
        if (after_members(s) == HTTP_SEND) {
            return HTTP_SEND;
        }
        break;
    case GCE_TP_SWAP_CHECK:
        return after_swap(s);
    case GCE_TP_RESTORE_POOL:
        return after_restored_pool(s);
    case GCE_TP_INSERT_RULE:
        s->op->outcome->ip = s->ip;
        if (err->code == ERR_INVALID && gce_refusal_is_taken(err)) {
            err->code = ERR_IN_USE; /* another rule has it: no fault of the Service's text */
        }
        break;
    default:
        return HTTP_DONE;
    }
    /* A resource referenced by the pool or the rule was deleted since the read. */
    if (err->code == ERR_NOT_FOUND) {
        err->code = ERR_CONFLICT;
    }
    return HTTP_DONE;
}

static enum http_next step(struct lb_op_run *run, const struct http_response *resp)
{
    const char *ip;
    struct send s = {
        .run = run, .op = run->op->arg, .st = run->state, .cloud = run->provider, .ip = ""};
    ip = lb_run_value(run, s.op->ip);
    s.ip = str_nonnull(ip);
    enum http_next next;
    if (!s.st->begun) {
        s.st->begun = true;
        bool needs_ip = s.op->ip.text == NULL && s.op->ip.op >= 0 && s.op->ip.output != NULL;
        if (needs_ip && ip == NULL) {
            (void)err_set(run->err, ERR_BUG, "the address is not known");
            return HTTP_DONE;
        }
        if (s.op->firewall != NULL && s.op->firewall->tags.n == 0) {
            /* It would open every machine of the network; the planner refuses this, too. */
            (void)err_set(run->err, ERR_BUG, "a firewall without target tags is never written");
            return HTTP_DONE;
        }
        next = begin_op(&s);
    } else {
        next = gce_call_step(&s.st->call, run->req, resp, run->err);
    }
    return next == HTTP_DONE ? after(&s) : next;
}
