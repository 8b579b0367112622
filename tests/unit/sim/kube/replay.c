/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: see replay.h. */
#include "tests/unit/sim/kube/replay.h"

#include "common/base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json_object *replay_load(struct arena *a, int number, const char **ret_name)
{
    const char *dir = arena_printf(a, "%s/kube-1.36", getenv("TRIMTAB_TEST_DATA"));
    const char *prefix = arena_printf(a, "%03d-", number);
    DIR *d = opendir(dir);
    assert_non_null(d);
    struct json_object *o = NULL;
    for (const struct dirent *e = readdir(d); e && !o; e = readdir(d)) {
        char *text = NULL;
        size_t n = 0;
        if (!str_has_prefix(e->d_name, prefix)) {
            continue;
        }
        *ret_name = arena_strdup(a, e->d_name);
        const char *path = arena_printf(a, "%s/%s", dir, e->d_name);
        assert_int_equal(file_read(a, path, 4 << 20, &text, &n, NULL), 0);
        assert_int_equal(json_parse_arena(a, text, n, NULL, &o, NULL), 0);
    }
    closedir(d);
    assert_non_null(o);
    return o;
}

static bool is_chosen(const char *name)
{
    static const char *const names[] = {"uid",
                                        "resourceVersion",
                                        "creationTimestamp",
                                        "nodePort",
                                        "healthCheckNodePort",
                                        "deletionTimestamp",
                                        "clusterIP",
                                        "continue"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* --- normal form ------------------------------------------------------------------------------ */
static bool is_hex_word(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isxdigit((unsigned char)s[i]) && !strchr(".:-", s[i])) {
            return false;
        }
    }
    return true;
}

/* A chosen value inside of a sentence: what stands for it, or NULL. */
static const char *word_for(const char *s, size_t n)
{
    if (n == 36 && is_hex_word(s, n) && s[8] == '-') {
        return "<uid>";
    }
    if (strncmp(s, "10.0.", 5) == 0 || strncmp(s, "fd00:1::", 8) == 0) {
        return "<ip>";
    }
    if (n >= 2 && n <= 5 && strspn(s, "0123456789") >= n && strtol(s, NULL, 10) != 65535 &&
        strtol(s, NULL, 10) != 99 && strtol(s, NULL, 10) != 32767 && strtol(s, NULL, 10) != 30000) {
        return "<number>";
    }
    return NULL;
}

static struct json_object *normal_sentence(const char *s)
{
    struct str_buf b = STR_BUF_INIT;
    while (*s) {
        size_t n = strspn(s, "0123456789abcdefABCDEF.:-");
        const char *word = n ? word_for(s, n) : NULL;
        if (word) {
            str_append(&b, word);
        } else {
            n = n ? n : 1;
            str_append_n(&b, s, n);
        }
        s += n;
    }
    struct json_object *o = json_object_new_string(str_buf_text(&b));
    str_buf_done(&b);
    return o;
}

static struct json_object *normal_ips(struct json_object *list)
{
    struct json_object *out = json_object_new_array();
    for (size_t i = 0; i < json_len(list); i++) {
        const char *ip = json_object_get_string(json_object_array_get_idx(list, i));
        json_push_str(out, strchr(ip, ':') ? "<v6>" : "<v4>");
    }
    return out;
}

static struct json_object *normal_member(struct arena *a, const char *name, struct json_object *v)
{
    if (is_chosen(name)) {
        return json_object_new_string(arena_printf(a, "<%s>", name));
    }
    if (str_eq(name, "clusterIPs")) {
        return normal_ips(v);
    }
    if (str_eq(name, "message") && json_object_is_type(v, json_type_string)) {
        return normal_sentence(json_object_get_string(v));
    }
    return replay_normal(a, v);
}

struct json_object *replay_normal(struct arena *a, struct json_object *o)
{
    struct json_object *out = NULL;
    if (json_object_is_type(o, json_type_array)) {
        out = json_object_new_array();
        for (size_t i = 0; i < json_len(o); i++) {
            json_object_array_add(out, replay_normal(a, json_object_array_get_idx(o, i)));
        }
    } else if (json_object_is_type(o, json_type_object)) {
        out = json_object_new_object();
        json_object_object_foreach(o, key, value)
        {
            if (!str_eq(key, "managedFields")) {
                json_object_object_add(out, key, normal_member(a, key, value));
            }
        }
    } else {
        out = json_object_get(o);
    }
    return out;
}

/* --- values that later requests quote --------------------------------------------------------- */
static char *seen_key(struct replay *r, const char *name, struct json_object *v)
{
    return arena_printf(r->a, "%s=%s", name, json_object_get_string(v));
}

void replay_learn(struct replay *r, struct json_object *recorded, struct json_object *ours)
{
    if (json_object_is_type(recorded, json_type_array)) {
        for (size_t i = 0; i < json_len(recorded) && i < json_len(ours); i++) {
            replay_learn(r, json_object_array_get_idx(recorded, i),
                         json_object_array_get_idx(ours, i));
        }
        return;
    }
    if (!json_object_is_type(recorded, json_type_object) ||
        !json_object_is_type(ours, json_type_object)) {
        return;
    }
    json_object_object_foreach(recorded, key, value)
    {
        struct json_object *mine = json_member(ours, key);
        if (!mine || !value) {
            continue;
        }
        if (is_chosen(key)) {
            json_object_object_add(r->seen, seen_key(r, key, value), json_object_get(mine));
        } else if (str_eq(key, "clusterIPs")) {
            json_object_object_add(r->seen, seen_key(r, "clusterIPs", value),
                                   json_object_get(mine));
        } else {
            replay_learn(r, value, mine);
        }
    }
}

static struct json_object *translated(struct replay *r, struct json_object *o)
{
    if (json_object_is_type(o, json_type_array)) {
        struct json_object *out = json_object_new_array();
        for (size_t i = 0; i < json_len(o); i++) {
            json_object_array_add(out, translated(r, json_object_array_get_idx(o, i)));
        }
        return out;
    }
    if (!json_object_is_type(o, json_type_object)) {
        return json_object_get(o);
    }
    struct json_object *out = json_object_new_object();
    json_object_object_foreach(o, key, value)
    {
        struct json_object *known = value ? json_member(r->seen, seen_key(r, key, value)) : NULL;
        json_object_object_add(out, key, known ? json_object_get(known) : translated(r, value));
    }
    return out;
}

const char *replay_body(struct replay *r, struct json_object *request)
{
    struct json_object *body = json_member(request, "body");
    if (!body) {
        return NULL;
    }
    if (json_object_is_type(body, json_type_string)) {
        return json_object_get_string(body);
    }
    struct json_object *ours = translated(r, body);
    const char *text = json_text(r->a, ours, JSON_COMPACT);
    json_object_put(ours);
    return text;
}

/* Our version for a recorded one: that of the newest answer that was not newer. */
static int64_t version_for(struct replay *r, int64_t wanted)
{
    int64_t best = -1;
    int64_t ours = wanted;
    json_object_object_foreach(r->seen, key, value)
    {
        int64_t recorded = 0;
        if (str_has_prefix(key, "resourceVersion=") && str_to_i64(key + 16, &recorded) &&
            recorded <= wanted && recorded > best) {
            best = recorded;
            ours = json_object_get_int64(value);
        }
    }
    return ours;
}

const char *replay_target(struct replay *r, struct json_object *request)
{
    const char *path = json_str(request, "path");
    const char *token = strstr(path, "continue=");
    const char *rv = strstr(path, "resourceVersion=");
    if (token) {
        const char *value = token + strlen("continue=");
        struct json_object *ours = json_member(r->seen, arena_printf(r->a, "continue=%s", value));
        return ours ? arena_printf(r->a, "%.*s%s", (int)(value - path), path,
                                   json_object_get_string(ours))
                    : path;
    }
    if (!rv) {
        return path;
    }
    const char *value = rv + strlen("resourceVersion=");
    size_t n = strcspn(value, "&");
    int64_t wanted = 0;
    if (!str_to_i64(arena_strndup(r->a, value, n), &wanted) || wanted == 0 || wanted > 1000000000) {
        return path;
    }
    return arena_printf(r->a, "%.*s%lld%s", (int)(value - path), path,
                        (long long)version_for(r, wanted), value + n);
}

const char *replay_headers(struct replay *r, struct json_object *request)
{
    struct str_buf b = STR_BUF_INIT;
    struct json_object *headers = json_member(request, "headers");
    json_object_object_foreach(headers, name, value)
    {
        const char *text = json_object_get_string(value);
        text = str_eq(text, "Bearer <token>") ? "Bearer sa:demo:bob" : text;
        str_appendf(&b, "%s: %s\r\n", name, text);
    }
    char *out = str_buf_to_arena(&b, r->a);
    str_buf_done(&b);
    return out;
}
