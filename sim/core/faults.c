/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c: what goes wrong on purpose: the faults of POST /sim/faults and --faults.
 *
 * A fault names calls (api, operation, method, path; each may be a glob) and what befalls the
 * `from`-th to `from + count - 1`-th of them.  Faults on watches act on what is open when they are
 * added, and on what opens later while they are in force.  This file decides; frame.c and the
 * modules do it.
 * Source: interfaces.md, POST /sim/faults. */
#include "sim/core/frame.h"

struct sim_faults {
    struct sim *sim;
    struct fault *first; /* in order of creation; the first that hits wins */
    int64_t next_id;
};

static const struct {
    const char *word;
    enum fault_action action;
} actions[] = {
    {"refuse", FAULT_REFUSE},
    {"lose", FAULT_LOSE},
    {"delay", FAULT_DELAY},
    {"hang", FAULT_HANG},
    {"close", FAULT_CLOSE},
    {"throttle", FAULT_THROTTLE},
    {"fail", FAULT_FAIL},
    {"watch-cut", FAULT_WATCH_CUT},
    {"watch-expire", FAULT_WATCH_EXPIRE},
    {"watch-silence", FAULT_WATCH_SILENCE},
};

struct sim_faults *sim_faults_new(struct sim *s)
{
    struct sim_faults *f = xcalloc(1, sizeof(*f));
    f->sim = s;
    f->next_id = 1;
    return f;
}

static void free_fault(struct fault *f)
{
    json_object_put(f->spec);
    free(f);
}

void sim_faults_free(struct sim_faults *f)
{
    if (f) {
        sim_faults_remove(f, 0);
        free(f);
    }
}

void sim_faults_remove(struct sim_faults *f, int64_t id)
{
    for (struct fault **at = &f->first; *at;) {
        struct fault *x = *at;
        if (id == 0 || x->id == id) {
            *at = x->next;
            free_fault(x);
        } else {
            at = &x->next;
        }
    }
}

bool sim_faults_has(const struct sim_faults *f, int64_t id)
{
    for (const struct fault *x = f->first; x; x = x->next) {
        if (x->id == id) {
            return true;
        }
    }
    return false;
}

static bool is_watch_fault(const struct fault *x)
{
    return x->action >= FAULT_WATCH_CUT;
}

static const char *action_word(enum fault_action action)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (actions[i].action == action) {
            return actions[i].word;
        }
    }
    return "";
}

static bool is_spent(const struct fault *x)
{
    return x->count > 0 && x->hits >= x->count;
}

/* Lets a watch fault act on the watches that are open now; one application counts as one hit. */
static void apply_to_watches(struct sim_faults *f, struct fault *x)
{
    int watches = 0;
    for (size_t i = 0; i < f->sim->n_slots && !is_spent(x); i++) {
        struct sim_slot *slot = &f->sim->slots[i];
        if (slot->module->watch_fault && (!x->api || str_glob(x->api, slot->module->name))) {
            watches += slot->module->watch_fault(slot->state, action_word(x->action), x->path);
        }
    }
    x->hits += watches > 0;
    x->seen += watches > 0;
}

static int refuse_unknown(struct json_object *o, const char *const *names, size_t n,
                          const char *where, struct err *err)
{
    json_object_object_foreach(o, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < n; i++) {
            known = known || str_eq(names[i], key);
        }
        if (!known) {
            const char *near = str_nearest(key, names, n);
            return err_set(err, ERR_INVALID, "%s has no member \"%s\"%s%s%s", where, key,
                           near ? "; did you mean \"" : "", str_nonnull(near), near ? "\"?" : "");
        }
        (void)value;
    }
    return ERR_OK;
}

static int check_members(struct json_object *spec, struct err *err)
{
    static const char *const top[] = {"match", "from",        "count", "do", "status",
                                      "body",  "retry_after", "ms",    "id", "hits"};
    static const char *const match[] = {"api", "op", "method", "path"};
    if (!json_object_is_type(spec, json_type_object)) {
        return err_set(err, ERR_INVALID, "a fault is an object");
    }
    int code = refuse_unknown(spec, top, ARRAY_LEN(top), "a fault", err);
    struct json_object *m = json_member(spec, "match");
    if (!code && m && !json_object_is_type(m, json_type_object)) {
        return err_set(err, ERR_INVALID, "match is an object");
    }
    return code || !m ? code : refuse_unknown(m, match, ARRAY_LEN(match), "match", err);
}

static enum fault_action parse_action(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (str_eq(actions[i].word, word)) {
            return actions[i].action;
        }
    }
    return FAULT_NONE;
}

int sim_faults_add(struct sim_faults *f, struct json_object *spec, int64_t *ret_id, struct err *err)
{
    int code = check_members(spec, err);
    if (code) {
        return code;
    }
    enum fault_action action = parse_action(json_str(spec, "do"));
    if (action == FAULT_NONE) {
        return err_set(err, ERR_INVALID,
                       "do is \"%s\"; it must be refuse, lose, delay, hang, close, "
                       "throttle, fail, watch-cut, watch-expire or watch-silence",
                       str_nonnull(json_str(spec, "do")));
    }
    struct fault *x = xcalloc(1, sizeof(*x));
    x->spec = json_copy(spec);
    x->id = f->next_id++;
    x->action = action;
    struct json_object *match = json_member(x->spec, "match");
    x->api = json_str(match, "api");
    x->op = json_str(match, "op");
    x->method = json_str(match, "method");
    x->path = json_str(match, "path");
    x->from = json_int(spec, "from", 1);
    x->count = json_int(spec, "count", 1);
    x->status = (int)json_int(spec, "status", action == FAULT_THROTTLE ? 429 : 503);
    x->retry_after_s = json_int(spec, "retry_after", action == FAULT_THROTTLE ? 1 : 0);
    x->ms = json_int(spec, "ms", 1000);
    if (x->from < 1 || x->count < 0 || x->ms < 0 || x->status < 100 || x->status > 599) {
        free_fault(x);
        return err_set(err, ERR_INVALID,
                       "from counts from 1, count and ms are not negative, status is 100 to 599");
    }
    struct fault **at = &f->first;
    while (*at) {
        at = &(*at)->next;
    }
    *at = x;
    if (ret_id) {
        *ret_id = x->id;
    }
    if (is_watch_fault(x)) {
        apply_to_watches(f, x);
    }
    return ERR_OK;
}

static bool matches(const struct fault *x, const struct sim_call *call)
{
    return (!x->api || str_glob(x->api, call->module->name)) &&
           (!x->op || str_glob(x->op, call->op)) &&
           (!x->method || str_glob(x->method, call->method)) &&
           (!x->path || str_glob(x->path, call->path) || str_glob(x->path, call->target));
}

struct fault *sim_faults_match(struct sim_faults *f, const struct sim_call *call)
{
    struct fault *hit = NULL;
    for (struct fault *x = f->first; x; x = x->next) {
        if (is_watch_fault(x) || !matches(x, call)) {
            continue;
        }
        x->seen++;
        bool acts = x->seen >= x->from && (x->count == 0 || x->seen < x->from + x->count);
        if (acts && !hit) {
            hit = x;
            x->hits++;
        }
    }
    return hit;
}

void sim_faults_after_watch(struct sim_faults *f)
{
    for (struct fault *x = f->first; x; x = x->next) {
        if (is_watch_fault(x)) {
            apply_to_watches(f, x);
        }
    }
}

struct json_object *sim_faults_json(const struct sim_faults *f)
{
    struct json_object *list = json_object_new_array();
    for (const struct fault *x = f->first; x; x = x->next) {
        struct json_object *o = json_copy(x->spec);
        json_add_int(o, "id", x->id);
        json_add_int(o, "seen", x->seen);
        json_add_int(o, "hits", x->hits);
        json_object_array_add(list, o);
    }
    return list;
}
