/* SPDX-License-Identifier: Apache-2.0 */
/* base_test.c: see base_test.h. */
#include "tests/unit/base/base_test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/file.h"

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

int vectors_each(const char *name, vector_fn fn, void *arg)
{
    struct arena *files = arena_new();
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    const char *dir = getenv("TRIMTAB_TEST_DATA");
    assert_non_null(dir);
    char *text = NULL;
    size_t n = 0;
    const char *path = arena_printf(files, "%s/base/%s", dir, name);
    assert_fine(file_read(files, path, 1 << 20, &text, &n, &err), &err);
    int count = 0;
    for (char *line = strtok_r(text, "\n", &text); line != NULL;
         line = strtok_r(NULL, "\n", &text)) {
        struct json_object *o = NULL;
        const struct json_limits limits = {.allow_nul = true};
        assert_fine(json_parse_arena(a, line, strlen(line), &limits, &o, &err), &err);
        fn(a, o, arg);
        arena_reset(a);
        count++;
    }
    arena_free(a);
    arena_free(files);
    return count;
}

char *scratch_dir(struct arena *a)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(a, "%s/trimtab-base-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}
