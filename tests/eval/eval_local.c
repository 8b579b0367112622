/* SPDX-License-Identifier: Apache-2.0 */
/* eval_local.c: the functions local_* of trimtab-eval: slots, buckets and targets of the
 * provider `local`. */
#include "tests/eval/eval.h"

#include "common/base/str.h"
#include "providers/local/targets/slots.h"
#include "tests/support/bucket_owner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RUN(name)                                                                                  \
    static int name(struct arena *a, struct json_object *in, struct json_object **ret,             \
                    struct err *err)

static int read_addr(struct json_object *o, const char *name, struct ip_addr *ret, struct err *err)
{
    if (!ip_parse(str_nonnull(json_str(o, name)), ret)) {
        return err_set(err, ERR_INVALID, "%s: want an address", name);
    }
    return ERR_OK;
}

static int read_number(struct json_object *o, const char *name, int64_t max, uint16_t *ret,
                       struct err *err)
{
    int64_t number = json_int(o, name, -1);
    if (number < 0 || number > max) {
        return err_set(err, ERR_INVALID, "%s: want a whole number from 0 to %d", name, (int)max);
    }
    *ret = (uint16_t)number;
    return ERR_OK;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int read_set(struct arena *a, struct json_object *in, struct local_target_set *ret,
                    struct err *err)
{
    struct json_object *array = json_member(in, "targets");
    size_t n = json_len(array);
    if (n >= LOCAL_SLOT_NONE) {
        return err_set(err, ERR_INVALID, "targets: too many");
    }
    struct local_target *items = ARENA_ARRAY(a, struct local_target, n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(array, i);
        int rc = read_addr(o, "address", &items[i].addr, err);
        rc = rc != ERR_OK ? rc : read_number(o, "port", UINT16_MAX, &items[i].port, err);
        rc = rc != ERR_OK ? rc : read_number(o, "weight", UINT16_MAX, &items[i].weight, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    *ret = (struct local_target_set){.items = items, .n = n};
    return ERR_OK;
}

/* *ret_old stays false without the member. */
static int read_old(struct json_object *in, size_t n_targets, unsigned m, uint16_t *ret,
                    bool *ret_old, struct err *err)
{
    struct json_object *array = json_member(in, "old");
    if (array == NULL) {
        return ERR_OK;
    }
    if (json_len(array) != m) {
        return err_set(err, ERR_INVALID, "old: want a list of %u items", m);
    }
    for (unsigned k = 0; k < m; k++) {
        struct json_object *v = json_object_array_get_idx(array, k);
        int64_t index = v == NULL ? LOCAL_SLOT_NONE : json_object_get_int64(v);
        if (v != NULL && (index < 0 || (size_t)index >= n_targets)) {
            return err_set(err, ERR_INVALID, "old: want indices of targets, or null");
        }
        ret[k] = (uint16_t)index;
    }
    *ret_old = true;
    return ERR_OK;
}

/* {"targets": [{"address", "port", "weight"}], "size"?, "old"?: [index or null], "hash"?} →
 * {"size", "slots": [index or null]} */
RUN(slots)
{
    struct local_target_set t;
    uint16_t old[LOCAL_SLOTS_MAX];
    uint16_t items[LOCAL_SLOTS_MAX];
    bool has_old = false;
    int rc = read_set(a, in, &t, err);
    if (rc != ERR_OK) {
        return rc;
    }
    int64_t size = json_int(in, "size", local_slots_size(&t));
    if (size != 4 && size != 16 && size != 64 && size != 256) {
        return err_set(err, ERR_INVALID, "size: want 4, 16, 64 or 256");
    }
    unsigned m = (unsigned)size;
    rc = read_old(in, t.n, m, old, &has_old, err);
    if (rc != ERR_OK) {
        return rc;
    }
    if (json_bool(in, "hash", false)) {
        local_slots_maglev(&t, m, items);
    } else {
        local_slots_fill(&t, m, has_old ? old : NULL, items);
    }
    struct json_object *array = json_object_new_array();
    for (unsigned k = 0; k < m; k++) {
        json_object_array_add(array,
                              items[k] == LOCAL_SLOT_NONE ? NULL : json_object_new_int64(items[k]));
    }
    *ret = json_object_new_object();
    json_add_int(*ret, "size", m);
    json_add(*ret, "slots", array);
    return ERR_OK;
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* {"address", "directors"?: [name]} → {"bucket", "owner"?} */
RUN(bucket)
{
    struct ip_addr addr;
    size_t n;
    int rc = read_addr(in, "address", &addr, err);
    if (rc != ERR_OK) {
        return rc;
    }
    const char **names = eval_strs(a, in, "directors", &n);
    uint8_t number = local_bucket(&addr);
    int owner = local_bucket_owner(names, n, number);
    *ret = json_object_new_object();
    json_add_int(*ret, "bucket", number);
    json_add_str(*ret, "owner", owner < 0 ? NULL : names[owner]);
    return ERR_OK;
}

/* ---- targets --------------------------------------------------------------------------------- */

static int read_config(struct arena *a, struct json_object *in, const struct local_config **ret,
                       struct err *err)
{
    struct local_config_findings findings;
    const char *text = json_str(in, "config");
    if (text == NULL) {
        return err_set(err, ERR_INVALID, "config: want a text");
    }
    return local_config_read(a, "config", text, strlen(text), NULL, ret, &findings, err);
}

static const struct local_pool *find_pool(const struct local_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_pools; i++) {
        if (str_eq(config->pools[i].name, name)) {
            return &config->pools[i];
        }
    }
    return NULL;
}

static struct json_object *target_object(const struct local_target *t)
{
    char addr[IP_TEXT_MAX];
    struct json_object *o = json_object_new_object();
    ip_format(&t->addr, addr);
    json_add_str(o, "address", addr);
    json_add_int(o, "port", t->port);
    json_add_int(o, "weight", t->weight);
    return o;
}

static struct json_object *answer_of(const struct local_serve *serve,
                                     const struct local_target_set *t)
{
    struct json_object *o = json_object_new_object();
    struct json_object *targets = json_object_new_array();
    struct json_object *left_out = json_object_new_object();
    for (size_t i = 0; i < t->n; i++) {
        json_object_array_add(targets, target_object(&t->items[i]));
    }
    for (size_t i = 0; i < t->n_left_out; i++) {
        json_object_object_del(left_out, t->left_out[i].who);
        json_add_str(left_out, t->left_out[i].who, t->left_out[i].why);
    }
    json_add_str(o, "mode", local_mode_word(serve->mode));
    json_add_str(o, "scheduler", local_scheduler_word(local_scheduler_of(serve, t)));
    json_add_str(o, "check", local_check_word(serve->check));
    json_add_bool(o, "snat", serve->snat);
    json_add(o, "targets", targets);
    json_add(o, "left_out", left_out);
    return o;
}

static int read_objects(struct arena *a, struct json_object *in, struct local_target_args *args,
                        struct err *err)
{
    int rc = eval_service(a, json_member(in, "service"), &args->service, err);
    rc = rc != ERR_OK ? rc
                      : eval_nodes(a, json_member(in, "nodes"), &args->nodes, &args->n_nodes, err);
    rc = rc != ERR_OK
             ? rc
             : eval_slices(a, json_member(in, "slices"), &args->slices, &args->n_slices, err);
    if (rc == ERR_OK && args->service->n_ports == 0) {
        rc = err_set(err, ERR_INVALID, "service: no ports");
    }
    return rc;
}

/* {"config": YAML, "pool"?, "service", "nodes", "slices"?, "family"?, "zone"?} → of the
 * Service's first port: {"mode", "scheduler", "check", "snat", "targets": [{"address", "port",
 * "weight"}], "left_out": {name: why}} */
RUN(targets)
{
    struct local_target_args args = {.zone = json_str(in, "zone"),
                                     .has_slices = json_member(in, "slices") != NULL};
    struct local_wish wish;
    struct local_serve serve;
    struct local_target_set t;
    int rc = read_config(a, in, &args.config, err);
    rc = rc != ERR_OK ? rc : read_objects(a, in, &args, err);
    rc = rc != ERR_OK ? rc : local_wish_read(a, args.config, args.service, &wish, err);
    if (rc != ERR_OK) {
        return rc;
    }
    rc = local_serve_of(args.config, find_pool(args.config, json_str(in, "pool")), args.service,
                        &wish, &serve, err);
    if (rc != ERR_OK) {
        return rc;
    }
    args.serve = &serve;
    args.port = &args.service->ports[0];
    args.family = str_eq(json_str(in, "family"), "IPv6") ? AF_INET6 : AF_INET;
    rc = local_targets_of(a, &args, &t, err);
    if (rc == ERR_OK) {
        *ret = answer_of(&serve, &t);
    }
    return rc;
}

const struct eval_fn eval_local[] = {
    {"local_slots", slots},
    {"local_bucket", bucket},
    {"local_targets", targets},
    {NULL, NULL},
};
