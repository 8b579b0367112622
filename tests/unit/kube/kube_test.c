/* SPDX-License-Identifier: Apache-2.0 */
/* kube_test.c: reading the recorded answers (see kube_test.h). */
#include "tests/unit/kube/kube_test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/str.h"

int arena_setup(void **state)
{
    *state = arena_new();
    return 0;
}

int arena_teardown(void **state)
{
    arena_free(*state);
    return 0;
}

static const char *folder(struct arena *a)
{
    const char *data = getenv("TRIMTAB_TEST_DATA");
    assert_non_null(data);
    return arena_printf(a, "%s/kube-1.36", data);
}

static int cmp_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **recorded_names(struct arena *a, size_t *ret_n)
{
    DIR *dir = opendir(folder(a));
    assert_non_null(dir);
    const char **names = ARENA_ARRAY(a, const char *, 1000);
    size_t n = 0;
    struct dirent *e;
    while ((e = readdir(dir)) != NULL && n < 999) {
        if (str_has_suffix(e->d_name, ".json")) {
            names[n++] = arena_strdup(a, e->d_name);
        }
    }
    closedir(dir);
    qsort(names, n, sizeof *names, cmp_text);
    assert_true(n > 160);
    *ret_n = n;
    return names;
}

struct json_object *recorded(struct arena *a, const char *name)
{
    size_t n;
    const char **names = recorded_names(a, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_has_prefix(names[i], name)) {
            char *text;
            size_t len;
            struct json_object *tree;
            struct err err = ERR_INIT;
            const char *path = arena_printf(a, "%s/%s", folder(a), names[i]);
            assert_int_equal(file_read(a, path, (size_t)16 << 20, &text, &len, &err), ERR_OK);
            assert_int_equal(json_parse_arena(a, text, len, NULL, &tree, &err), ERR_OK);
            return tree;
        }
    }
    fail_msg("no recorded answer %s", name);
    return NULL;
}

const char *recorded_body(struct arena *a, const char *name)
{
    struct json_object *body = json_path(recorded(a, name), "response.body");
    if (json_object_is_type(body, json_type_string)) {
        return json_object_get_string(body);
    }
    return body == NULL ? "" : json_text(a, body, JSON_COMPACT);
}

int recorded_status(struct arena *a, const char *name)
{
    return (int)json_int(json_path(recorded(a, name), "response"), "status", 0);
}

const char *recorded_lines(struct arena *a, const char *name, size_t *ret_n)
{
    struct json_object *lines = json_path(recorded(a, name), "response.lines");
    struct str_buf b = STR_BUF_INIT;
    for (size_t i = 0; i < json_len(lines); i++) {
        json_print(&b, json_object_array_get_idx(lines, i), JSON_COMPACT);
        str_append(&b, "\n");
    }
    *ret_n = json_len(lines);
    const char *text = str_buf_to_arena(&b, a);
    str_buf_done(&b);
    return text;
}

char *quoted(struct arena *a, const char *json)
{
    char *text = arena_strdup(a, json);
    for (char *p = text; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return text;
}

struct kube_object *decode_text(enum kube_kind kind, const char *json)
{
    struct arena *a = arena_new();
    struct json_object *tree = NULL;
    struct kube_object *o = NULL;
    struct err err = ERR_INIT;
    char *text = quoted(a, json);
    if (json_parse_arena(a, text, strlen(text), NULL, &tree, &err) != ERR_OK ||
        kube_object_decode(kind, tree, &o, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    arena_free(a);
    return o;
}
