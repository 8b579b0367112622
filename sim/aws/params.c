/* SPDX-License-Identifier: Apache-2.0 */
/* params.c: the parameters of an AWS Query request as JSON of the action's type.
 *
 * Parameters are sorted by the parts of their names ("Filter", "2", "Value", "1"; numbers by
 * value), so that what belongs to one member stands together, and the type tables walk over that.
 * EC2 numbers its lists directly (Filter.1), the others below "member"; a bare name without value
 * is an empty list there.  Numbers run from 1 without gaps.  Stops at the first flaw, in that
 * order.  Pure.  Source: docs/spec/aws.md §3.1. */
#include "sim/aws/schema.h"

#include "common/base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX  16
#define PARAMS_MAX 100000

struct param {
    const char *name, *value;
    const char *parts[DEPTH_MAX]; /* arena */
    size_t n_parts;
};

struct decoding {
    struct arena *a;
    const struct amz_dialect *dialect;
    struct amz_flaw *flaw;
};

/* A run of parameters that share their first `depth` parts. */
struct run {
    const struct param *p;
    size_t n;
    size_t depth;
};

static struct json_object *decode_value(struct decoding *d, int type, struct run r);

const struct amz_op *amz_op_find(enum amz_service service, const char *name)
{
    for (const struct amz_op *op = amz_ops; op->name; op++) {
        if (op->service == service && str_eq(op->name, name)) {
            return op;
        }
    }
    return NULL;
}

const struct amz_field *amz_field_find(int type, const char *name)
{
    const struct amz_field *f = type >= 0 ? amz_types[type].fields : NULL;
    for (; f && f->name; f++) {
        if (str_eq(f->name, name)) {
            return f;
        }
    }
    return NULL;
}

/* --- flaws ------------------------------------------------------------------------------------ */

static struct json_object *flaw(struct decoding *d, enum amz_flaw_kind kind, const char *parameter,
                                const char *message)
{
    *d->flaw = (struct amz_flaw){.kind = kind, .parameter = parameter, .message = message};
    return NULL;
}

/* The name of the run, as it was sent: its first `depth` parts. */
static const char *name_of(struct decoding *d, const struct run *r, size_t depth)
{
    return str_join(d->a, r->p[0].parts, depth, ".");
}

static struct json_object *wrong_value(struct decoding *d, const struct run *r, const char *why)
{
    const char *name = name_of(d, r, r->depth);
    return flaw(d, AMZ_FLAW_VALUE, name,
                arena_printf(d->a, "Value (%.80s) for parameter %s is invalid. %s",
                             r->n == 1 && r->p[0].n_parts == r->depth ? r->p[0].value : "", name,
                             why));
}

static struct json_object *unknown(struct decoding *d, const struct run *r, size_t depth)
{
    const char *name = name_of(d, r, depth);
    return flaw(d, AMZ_FLAW_UNKNOWN, name,
                arena_printf(d->a, "The parameter %s is not recognized", name));
}

/* --- runs ------------------------------------------------------------------------------------- */

static bool is_number(const char *s)
{
    return *s >= '1' && *s <= '9' && strspn(s, "0123456789") == strlen(s) && strlen(s) < 8;
}

static int compare_parts(const char *x, const char *y)
{
    if (is_number(x) && is_number(y) && strlen(x) != strlen(y)) {
        return strlen(x) < strlen(y) ? -1 : 1;
    }
    return strcmp(x, y);
}

static int compare_params(const void *x, const void *y)
{
    const struct param *p = x, *q = y;
    for (size_t i = 0; i < p->n_parts && i < q->n_parts; i++) {
        int c = compare_parts(p->parts[i], q->parts[i]);
        if (c != 0) {
            return c;
        }
    }
    return p->n_parts < q->n_parts ? -1 : p->n_parts > q->n_parts;
}

/* Cuts the parameters that share the next part off the front of `r`. */
static struct run next_run(struct run *r)
{
    const char *part = r->p[0].parts[r->depth];
    struct run cut = {.p = r->p, .depth = r->depth + 1};
    while (cut.n < r->n && r->p[cut.n].n_parts > r->depth &&
           str_eq(r->p[cut.n].parts[r->depth], part)) {
        cut.n++;
    }
    r->p += cut.n;
    r->n -= cut.n;
    return cut;
}

/* The run is one parameter whose name ends here. */
static bool is_leaf(const struct run *r)
{
    return r->p[0].n_parts == r->depth;
}

/* --- values ----------------------------------------------------------------------------------- */

/* One character is of the set: "w" are letters and digits of any language (and '_'), "s"
 * after it any blank. */
static bool is_in(const char *chars, uint32_t rune)
{
    bool ascii = rune < 0x80;
    bool word = ascii ? isalnum((int)rune) || rune == '_'
                      : unicode_is_letter(rune) || unicode_is_digit(rune);
    bool listed = ascii && strchr(chars, (int)rune) != NULL;
    return word                     ? chars[0] == 'w' || listed
           : unicode_is_space(rune) ? str_has_prefix(chars, "ws")
                                    : listed;
}

static bool is_of(const char *chars, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t rune;
        size_t n = utf8_decode(text, left, &rune);
        if (n == 0 || !is_in(chars, rune)) {
            return false;
        }
        text += n;
        left -= n;
    }
    return true;
}

/* AWS counts characters, not bytes. */
static int64_t count_characters(const char *text)
{
    int64_t n = 0;
    for (; *text; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80; /* not the rest of one */
    }
    return n;
}

static struct json_object *decode_string(struct decoding *d, const struct amz_type *t, struct run r)
{
    const char *value = r.p[0].value;
    int64_t len = count_characters(value);
    bool among = !t->one_of;
    for (const char *const *v = t->one_of; v && *v; v++) {
        among = among || str_eq(*v, value);
    }
    if (!among) {
        return wrong_value(d, &r, "It is not one of the values that are allowed.");
    }
    if (t->has_range && (len < t->min || (t->max > 0 && len > t->max))) {
        return wrong_value(d, &r,
                           t->max > 0 ? arena_printf(d->a, "It must have %lld to %lld characters.",
                                                     (long long)t->min, (long long)t->max)
                                      : arena_printf(d->a, "It must have at least %lld characters.",
                                                     (long long)t->min));
    }
    if (t->chars && !is_of(t->chars, value)) {
        return wrong_value(d, &r, "It has characters that are not allowed.");
    }
    return json_object_new_string(value);
}

static struct json_object *decode_integer(struct decoding *d, const struct amz_type *t,
                                          struct run r)
{
    int64_t n;
    if (!str_to_i64(r.p[0].value, &n)) {
        return wrong_value(d, &r, "It must be a whole number.");
    }
    if (t->has_range && (n < t->min || n > t->max)) {
        return wrong_value(d, &r,
                           arena_printf(d->a, "It must be a number from %lld to %lld.",
                                        (long long)t->min, (long long)t->max));
    }
    return json_object_new_int64(n);
}

static struct json_object *decode_boolean(struct decoding *d, struct run r)
{
    bool yes = str_eq(r.p[0].value, "true");
    if (!yes && !str_eq(r.p[0].value, "false")) {
        return wrong_value(d, &r, "It must be true or false.");
    }
    return json_object_new_boolean(yes);
}

static struct json_object *check_length(struct decoding *d, const struct amz_type *t,
                                        const struct run *r, struct json_object *list)
{
    int64_t n = (int64_t)json_len(list);
    if (t->has_range && (n < t->min || (t->max > 0 && n > t->max))) {
        json_object_put(list);
        return wrong_value(d, r, "It has too few or too many items.");
    }
    return list;
}

static struct json_object *decode_list(struct decoding *d, const struct amz_type *t, struct run r)
{
    struct run whole = r;
    if (is_leaf(&r)) {
        bool empty = !d->dialect->ec2 && r.n == 1 && !*r.p[0].value;
        return empty ? check_length(d, t, &whole, json_object_new_array())
                     : wrong_value(d, &r, "It is a list.");
    }
    if (!d->dialect->ec2) {
        struct run member = next_run(&r);
        if (!str_eq(member.p[0].parts[member.depth - 1], "member") || r.n > 0 || is_leaf(&member)) {
            return unknown(d, &whole, whole.p[0].n_parts);
        }
        r = member;
    }
    struct json_object *list = json_object_new_array();
    for (int64_t expected = 1; r.n > 0; expected++) {
        struct run item = next_run(&r);
        const char *number = item.p[0].parts[item.depth - 1];
        int64_t got;
        if (!is_number(number) || !str_to_i64(number, &got)) {
            json_object_put(list);
            return unknown(d, &item, item.depth);
        }
        struct json_object *value = got == expected ? decode_value(d, t->item, item) : NULL;
        if (!value) {
            json_object_put(list);
            return got == expected
                       ? NULL
                       : wrong_value(d, &item, "The numbers of a list run from 1 without gaps.");
        }
        json_object_array_add(list, value);
    }
    return check_length(d, t, &whole, list);
}

/* A member that must be there is not; the flaw names it as it would be sent. */
static struct json_object *check_required(struct decoding *d, int type, struct run r,
                                          struct json_object *o)
{
    for (const char *const *m = amz_types[type].required; m && *m; m++) {
        if (!json_member(o, *m)) {
            const struct amz_field *f = amz_field_find(type, *m);
            const char *at = r.n > 0 && r.depth > 0 ? name_of(d, &r, r.depth) : NULL;
            const char *name = at ? arena_printf(d->a, "%s.%s", at, f->query) : f->query;
            json_object_put(o);
            return flaw(d, AMZ_FLAW_MISSING, name,
                        arena_printf(d->a, "The request must contain the parameter %s", name));
        }
    }
    return o;
}

static struct json_object *decode_object(struct decoding *d, int type, struct run r)
{
    struct run whole = r;
    if (r.n > 0 && is_leaf(&r)) {
        return wrong_value(d, &r, "It is a structure.");
    }
    struct json_object *o = json_object_new_object();
    while (r.n > 0) {
        struct run member = next_run(&r);
        const char *part = member.p[0].parts[member.depth - 1];
        const struct amz_field *f = type >= 0 ? amz_types[type].fields : NULL;
        while (f && f->name && !str_eq(f->query, part)) {
            f++;
        }
        bool known = f && f->name;
        struct json_object *value = known ? decode_value(d, f->type, member) : NULL;
        if (!value) {
            json_object_put(o);
            return known ? NULL : unknown(d, &member, member.depth);
        }
        json_add(o, f->name, value);
    }
    return type >= 0 ? check_required(d, type, whole, o) : o;
}

static struct json_object *decode_value(struct decoding *d, int type, struct run r)
{
    const struct amz_type *t = &amz_types[type];
    if (t->kind == AMZ_OBJECT) {
        return decode_object(d, type, r);
    }
    if (t->kind == AMZ_ARRAY) {
        return decode_list(d, t, r);
    }
    if (!is_leaf(&r) || r.n > 1) { /* Name.more, or Name twice */
        return is_leaf(&r) ? wrong_value(d, &r, "It was sent more than once.")
                           : unknown(d, &r, r.p[0].n_parts);
    }
    if (t->kind == AMZ_INTEGER) {
        return decode_integer(d, t, r);
    }
    return t->kind == AMZ_BOOLEAN ? decode_boolean(d, r) : decode_string(d, t, r);
}

/* --- the whole request ------------------------------------------------------------------------ */

static bool split_name(struct decoding *d, struct param *p)
{
    size_t n = 0;
    char **parts = str_split(d->a, p->name, '.', &n);
    if (n > DEPTH_MAX) {
        flaw(d, AMZ_FLAW_UNKNOWN, p->name, "The parameter is not recognized");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        p->parts[i] = parts[i];
    }
    p->n_parts = n;
    return true;
}

bool amz_params_decode(struct arena *a, const struct amz_op *op, const struct url_param *params,
                       size_t n, struct json_object **ret, struct amz_flaw *ret_flaw)
{
    *ret_flaw = (struct amz_flaw){.kind = AMZ_FLAW_NONE};
    struct decoding d = {.a = a, .dialect = &amz_dialects[op->service], .flaw = ret_flaw};
    if (n > PARAMS_MAX) {
        flaw(&d, AMZ_FLAW_VALUE, "", "The request has too many parameters.");
        return false;
    }
    struct param *list = ARENA_ARRAY(a, struct param, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct param){.name = params[i].name, .value = params[i].value};
        if (!split_name(&d, &list[i])) {
            return false;
        }
    }
    qsort(list, n, sizeof(*list), compare_params);
    struct json_object *o = decode_object(&d, op->request, (struct run){.p = list, .n = n});
    if (!o) {
        return false;
    }
    *ret = o;
    return true;
}
