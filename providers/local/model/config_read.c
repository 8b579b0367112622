/* SPDX-License-Identifier: Apache-2.0 */
/* config_read.c: findings with lines, and reading of sections by tables of fields
 * (config_internal.h).
 *
 * The lines are looked up by yaml_find_line() for values with a finding only, since the trees of
 * common/data/yaml.h have none. Pure. */
#include "providers/local/model/config_internal.h"

#include "common/data/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 8
#define TEXT_MAX  253 /* bytes of a name, a word, a key of a label */

/* ---- findings -------------------------------------------------------------------------------- */

static size_t line_of(struct local_cfg *c, const struct local_cfg_at *at)
{
    const char *path[DEPTH_MAX];
    size_t n = 0;
    for (const struct local_cfg_at *p = at; p != NULL; p = p->up) {
        n++;
    }
    size_t i = n;
    for (const struct local_cfg_at *p = at; p != NULL; p = p->up) {
        i--;
        if (i < DEPTH_MAX) {
            path[i] = p->key != NULL ? p->key : arena_printf(c->a, "%zu", p->index);
        }
    }
    size_t line = yaml_find_line(c->text, c->text_len, 0, path, n < DEPTH_MAX ? n : DEPTH_MAX);
    return line == 0 ? 1 : line;
}

static void add(struct local_cfg *c, bool is_error, size_t line, const char *text)
{
    c->items[c->n++] = (struct local_config_finding){is_error, line, str_clean(c->a, text)};
}

/* Counts a finding that has no room. */
static bool has_room(struct local_cfg *c, bool is_error)
{
    if (c->n < LOCAL_FINDINGS_MAX) {
        return true;
    }
    c->n_more++;
    c->more_errors = c->more_errors || is_error;
    return false;
}

void local_cfg_error(struct local_cfg *c, const struct local_cfg_at *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (has_room(c, true)) {
        add(c, true, line_of(c, at), arena_vprintf(c->a, fmt, ap));
    }
    va_end(ap);
}

void local_cfg_warn(struct local_cfg *c, const struct local_cfg_at *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (has_room(c, false)) {
        add(c, false, line_of(c, at), arena_vprintf(c->a, fmt, ap));
    }
    va_end(ap);
}

void local_cfg_error_line(struct local_cfg *c, size_t line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (has_room(c, true)) {
        add(c, true, line, arena_vprintf(c->a, fmt, ap));
    }
    va_end(ap);
}

const char *local_cfg_name(struct local_cfg *c, const struct local_cfg_at *at)
{
    while (at != NULL && at->key == NULL) { /* an item is called as its list */
        at = at->up;
    }
    if (at == NULL) {
        return "";
    }
    const char *name = at->key;
    for (at = at->up; at != NULL && at->key != NULL; at = at->up) {
        if (at->up != NULL || !str_eq(at->key, "director")) {
            name = arena_printf(c->a, "%s.%s", at->key, name);
        }
    }
    return name;
}

const char *local_cfg_shown(struct local_cfg *c, struct json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_object:
        return "a mapping";
    case json_type_array:
        return "a list";
    case json_type_string:
        return json_object_get_string(v);
    default:
        return arena_strdup(c->a, json_object_to_json_string(v));
    }
}

/* "KEY: want WANT, got X". */
static void refuse(struct local_cfg *c, const struct local_cfg_at *at, const char *want,
                   struct json_object *v)
{
    const char *quote = json_object_is_type(v, json_type_string) ? "\"" : "";
    local_cfg_error(c, at, "%s: want %s, got %s%.100s%s", local_cfg_name(c, at), want, quote,
                    local_cfg_shown(c, v), quote);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void unknown_key(struct local_cfg *c, const struct local_cfg_at *at, const char *key,
                        const struct local_cfg_field *fields)
{
    const struct local_cfg_at here = {at, key, 0};
    size_t n = 0;
    while (fields[n].key != NULL) {
        n++;
    }
    const char **names = ARENA_ARRAY(c->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        names[i] = fields[i].key;
    }
    const char *near = str_nearest(key, names, n);
    if (near != NULL) {
        local_cfg_error(c, &here, "unknown key \"%.100s\" (%s?)", key, near);
    } else {
        local_cfg_error(c, &here, "unknown key \"%.100s\"", key);
    }
}

void local_cfg_object(struct local_cfg *c, const struct local_cfg_at *at, struct json_object *o,
                      const struct local_cfg_field *fields, void *out)
{
    if (!json_object_is_type(o, json_type_object)) {
        if (at != NULL) {
            refuse(c, at, "a mapping", o);
        } else {
            local_cfg_error(c, NULL, "want a mapping, got %s", local_cfg_shown(c, o));
        }
        return;
    }
    json_object_object_foreach(o, key, v)
    {
        const struct local_cfg_field *f = fields;
        while (f->key != NULL && !str_eq(f->key, key)) {
            f++;
        }
        const struct local_cfg_at here = {at, key, 0};
        if (f->key == NULL) {
            unknown_key(c, at, key, fields);
        } else if (v != NULL && f->read != NULL) {
            f->read(c, &here, f, v, out);
        }
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static void *member(const struct local_cfg_field *f, void *out)
{
    return (char *)out + f->offset;
}

void local_cfg_bool(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out)
{
    if (!json_object_is_type(v, json_type_boolean)) {
        refuse(c, at, "true or false", v);
        return;
    }
    bool value = json_object_get_boolean(v) != 0;
    memcpy(member(f, out), &value, sizeof(value));
}

void local_cfg_word(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out)
{
    bool is_text = json_object_is_type(v, json_type_string);
    int value = is_text ? local_word_find(f->words, json_object_get_string(v)) : -1;
    if (value < 0) {
        local_cfg_error(c, at, "%s is \"%.100s\"; it can be %s", local_cfg_name(c, at),
                        local_cfg_shown(c, v), local_words_text(c->a, f->words));
    } else if (f->size == sizeof(bool)) {
        bool second = value > 0;
        memcpy(member(f, out), &second, sizeof(second));
    } else {
        memcpy(member(f, out), &value, sizeof(value));
    }
}

static void store_number(const struct local_cfg_field *f, int64_t value, void *out)
{
    if (f->size == sizeof(uint8_t)) {
        uint8_t small = (uint8_t)value;
        memcpy(member(f, out), &small, sizeof(small));
    } else if (f->size == sizeof(uint16_t)) {
        uint16_t port = (uint16_t)value;
        memcpy(member(f, out), &port, sizeof(port));
    } else if (f->size == sizeof(uint32_t)) {
        uint32_t word = (uint32_t)value;
        memcpy(member(f, out), &word, sizeof(word));
    } else {
        memcpy(member(f, out), &value, sizeof(value));
    }
}

void local_cfg_number(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    int64_t value = json_object_get_int64(v);
    if (!json_object_is_type(v, json_type_int)) {
        refuse(c, at, "a whole number", v);
    } else if (value < f->min) {
        local_cfg_error(c, at, "%s %s: at least %" PRId64, local_cfg_name(c, at),
                        local_cfg_shown(c, v), f->min);
    } else if (value > f->max) {
        local_cfg_error(c, at, "%s %s: at most %" PRId64, local_cfg_name(c, at),
                        local_cfg_shown(c, v), f->max);
    } else {
        store_number(f, value, out);
    }
}

void local_cfg_duration(struct local_cfg *c, const struct local_cfg_at *at,
                        const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = local_cfg_shown(c, v);
    const char *name = local_cfg_name(c, at);
    char bound[LOCAL_DURATION_TEXT_MAX];
    int64_t ms;
    if (json_object_is_type(v, json_type_int) && json_object_get_int64(v) != 0) {
        local_cfg_error(c, at, "%s: \"%s\" is not a duration (%ss?)", name, text, text);
    } else if (!local_duration_parse(text, &ms)) {
        local_cfg_error(c, at, "%s: \"%.100s\" is not a duration", name, text);
    } else if (ms < f->min || text[0] == '-') {
        local_duration_text(f->min, bound);
        local_cfg_error(c, at, "%s %s: at least %s", name, text, bound);
    } else if (ms > f->max) {
        local_duration_text(f->max, bound);
        local_cfg_error(c, at, "%s %s: at most %s", name, text, bound);
    } else {
        memcpy(member(f, out), &ms, sizeof(ms));
    }
}

/* Returns NULL, with a finding, for an empty text and for values of other types. */
static const char *text_of(struct local_cfg *c, const struct local_cfg_at *at,
                           struct json_object *v)
{
    const char *text = v == NULL ? "" : json_object_get_string(v);
    if (v == NULL || !json_object_is_type(v, json_type_string) || text[0] == '\0') {
        refuse(c, at, "a text", v);
        return NULL;
    }
    if (strlen(text) > TEXT_MAX) {
        local_cfg_error(c, at, "%s: the text has more than %d bytes", local_cfg_name(c, at),
                        TEXT_MAX);
        return NULL;
    }
    return arena_strdup(c->a, text);
}

void local_cfg_text(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = text_of(c, at, v);
    if (text != NULL) {
        memcpy(member(f, out), &text, sizeof(text));
    }
}

const char *const *local_cfg_texts(struct local_cfg *c, const struct local_cfg_at *at,
                                   struct json_object *v, size_t *ret_n)
{
    *ret_n = 0;
    if (!json_object_is_type(v, json_type_array)) {
        refuse(c, at, "a list", v);
        return NULL;
    }
    size_t n = json_object_array_length(v);
    const char **items = ARENA_ARRAY(c->a, const char *, n);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const struct local_cfg_at here = {at, NULL, i};
        items[i] = text_of(c, &here, json_object_array_get_idx(v, i));
        ok = ok && items[i] != NULL;
    }
    *ret_n = ok ? n : 0;
    return ok ? items : NULL;
}

/* ---- settings of pools and of the director --------------------------------------------------- */

/* `key "word": did you mean X?`, or all the words that there are. */
static void refuse_word(struct local_cfg *c, const struct local_cfg_at *at, const char *text,
                        const char *meant, const char *const *words)
{
    const char *name = local_cfg_name(c, at);
    if (meant != NULL) {
        local_cfg_error(c, at, "%s \"%.100s\": did you mean %s?", name, text, meant);
    } else {
        local_cfg_error(c, at, "%s is \"%.100s\"; it can be %s", name, text,
                        local_words_text(c->a, words));
    }
}

void local_cfg_mode(struct local_cfg *c, const struct local_cfg_at *at,
                    const struct local_cfg_field *f, struct json_object *v, void *out)
{
    enum local_mode mode;
    const char *meant = NULL;
    const char *text = local_cfg_shown(c, v);
    if (!local_mode_parse(text, &mode, &meant)) {
        refuse_word(c, at, text, meant, local_mode_words);
        return;
    }
    memcpy(member(f, out), &mode, sizeof(mode));
}

void local_cfg_scheduler(struct local_cfg *c, const struct local_cfg_at *at,
                         const struct local_cfg_field *f, struct json_object *v, void *out)
{
    enum local_scheduler scheduler;
    const char *meant = NULL;
    const char *text = local_cfg_shown(c, v);
    if (!local_scheduler_parse(text, &scheduler, &meant)) {
        refuse_word(c, at, text, meant, local_scheduler_words);
        return;
    }
    memcpy(member(f, out), &scheduler, sizeof(scheduler));
}

void local_cfg_sorry(struct local_cfg *c, const struct local_cfg_at *at,
                     const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct local_sorry sorry;
    const char *text = local_cfg_shown(c, v);
    if (!local_sorry_parse(text, &sorry)) {
        local_cfg_error(c, at, "%s: \"%.100s\" is not an address or address:port",
                        local_cfg_name(c, at), text);
        return;
    }
    memcpy(member(f, out), &sorry, sizeof(sorry));
}

static const char *const cluster_words[] = {"", "none", "tcp", "http", "kube-proxy", NULL};
static const char *const pod_words[] = {"", "none", "tcp", "http", NULL};

static void check_kind(struct local_cfg *c, const struct local_cfg_at *at,
                       const struct local_cfg_field *f, struct json_object *v, void *out)
{
    const char *text = local_cfg_shown(c, v);
    enum local_check kind;
    const char *meant = NULL;
    if (local_word_find(f->words, text) < 0) {
        (void)local_check_parse(text, &kind, &meant); /* for `meant` alone */
        meant = meant != NULL && local_word_find(f->words, meant) >= 0 ? meant : NULL;
        refuse_word(c, at, text, meant, f->words);
        return;
    }
    kind = (enum local_check)local_word_find(local_check_words, text);
    memcpy(member(f, out), &kind, sizeof(kind));
}

#define CHECKS_KIND(key, member_, words)                                                           \
    {                                                                                              \
        key, check_kind, offsetof(struct local_check_config, member_), sizeof(enum local_check),   \
            0, 0, words                                                                            \
    }
const struct local_cfg_field local_cfg_check_fields[] = {
    LOCAL_CFG_RANGE("interval", local_cfg_duration, struct local_check_config, interval_ms,
                    LOCAL_CHECK_INTERVAL_MIN, LOCAL_CHECK_MS_MAX),
    LOCAL_CFG_RANGE("timeout", local_cfg_duration, struct local_check_config, timeout_ms,
                    LOCAL_CHECK_TIMEOUT_MIN, LOCAL_CHECK_MS_MAX),
    LOCAL_CFG_RANGE("fall", local_cfg_number, struct local_check_config, fall, 1,
                    LOCAL_CHECK_COUNT_MAX),
    LOCAL_CFG_RANGE("rise", local_cfg_number, struct local_check_config, rise, 1,
                    LOCAL_CHECK_COUNT_MAX),
    CHECKS_KIND("cluster", cluster, cluster_words),
    CHECKS_KIND("local", local, local_check_words),
    CHECKS_KIND("pod", pod, pod_words),
    {0},
};

void local_cfg_checks(struct local_cfg *c, const struct local_cfg_at *at,
                      const struct local_cfg_field *f, struct json_object *v, void *out)
{
    struct local_check_config *checks = member(f, out);
    size_t before = c->n;
    local_cfg_object(c, at, v, local_cfg_check_fields, checks);
    if (c->n == before && checks->timeout_ms >= checks->interval_ms) {
        char timeout[LOCAL_DURATION_TEXT_MAX];
        char interval[LOCAL_DURATION_TEXT_MAX];
        const struct local_cfg_at here = {
            at, json_member(v, "timeout") != NULL ? "timeout" : "interval", 0};
        local_duration_text(checks->timeout_ms, timeout);
        local_duration_text(checks->interval_ms, interval);
        local_cfg_error(c, &here, "timeout %s is not below interval %s", timeout, interval);
    }
}
