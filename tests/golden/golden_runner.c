/* SPDX-License-Identifier: Apache-2.0 */
/* golden_runner.c: runs every planner case below tests/golden and compares with its plan.txt.
 *
 * Usage: golden_runner FOLDER.  One TAP line per case folder, sorted by name, so that a new case is
 * a new test without a line of code.  With TRIMTAB_UPDATE_GOLDEN=1 it writes plan.txt instead;
 * `git diff` then shows what a change of a planner means.  Reads and writes files
 * below FOLDER only. */
#include "tests/golden/golden.h"

#include "common/base/file.h"
#include "common/base/str.h"
#include "common/base/strset.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static const struct golden_provider *const providers[] = {
#ifdef GOLDEN_AWS
    &golden_aws,
#endif
#ifdef GOLDEN_AZURE
    &golden_azure,
#endif
#ifdef GOLDEN_GCE
    &golden_gce,
#endif
    NULL,
};

struct run {
    const char *folder;
    bool update;
    size_t cases;
    size_t failed;
};

/* ---- files ----------------------------------------------------------------------------------- */
/* Names of the sub-folders, sorted. */
static struct str_set folders_list(struct arena *a, const char *path)
{
    DIR *dir = opendir(path);
    const char **names = NULL;
    size_t n = 0;
    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.' && strchr(e->d_name, '.') == NULL) {
            names = xrealloc(names, (n + 1) * sizeof *names);
            names[n++] = arena_strdup(a, e->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    struct str_set set = str_set_make(a, names, n);
    free(names);
    return set;
}

/* The tree of one file of the case; an absent file is `otherwise`. */
static int tree_read(struct arena *a, const char *folder, const char *name, const char *otherwise,
                     struct json_object **ret, struct err *err)
{
    const char *path = arena_printf(a, "%s/%s", folder, name);
    char *text = NULL;
    size_t n = 0;
    struct err absent = ERR_INIT;
    if (file_read(a, path, 1 << 20, &text, &n, &absent) != ERR_OK) {
        if (otherwise == NULL) {
            return err_copy(err, &absent);
        }
        return json_parse_arena(a, otherwise, strlen(otherwise), NULL, ret, err);
    }
    int rc = json_parse_arena(a, text, n, NULL, ret, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "%s", name);
    }
    return rc;
}

/* ---- one case -------------------------------------------------------------------------------- */
static int case_read(struct arena *a, const char *folder, struct golden_case *c, struct err *err)
{
    int rc = tree_read(a, folder, "service.json", NULL, &c->service, err);
    rc = rc != ERR_OK ? rc : tree_read(a, folder, "nodes.json", "[]", &c->nodes, err);
    rc = rc != ERR_OK ? rc : tree_read(a, folder, "facts.json", "{}", &c->facts, err);
    return rc != ERR_OK ? rc : tree_read(a, folder, "observed.json", "{}", &c->observed, err);
}

/* Shows the first line that differs, with its number. */
static void show_difference(const char *want, const char *got)
{
    size_t line = 1;
    while (*want != '\0' && *want == *got) {
        line += *want == '\n';
        want++;
        got++;
    }
    printf("# differs in line %zu, at\n#   want: %.*s\n#   got:  %.*s\n", line,
           (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"), got);
}

static bool case_compare(struct arena *a, const struct run *r, const char *folder, const char *got)
{
    const char *path = arena_printf(a, "%s/plan.txt", folder);
    struct err err = ERR_INIT;
    if (r->update) {
        FILE *f = fopen(path, "w");
        bool ok = f != NULL && fputs(got, f) != EOF;
        return (f == NULL || fclose(f) == 0) && ok;
    }
    char *want = NULL;
    size_t n = 0;
    if (file_read(a, path, 1 << 20, &want, &n, &err) != ERR_OK) {
        printf("# %s\n", err.message);
        return false;
    }
    if (strcmp(want, got) != 0) {
        show_difference(want, got);
        return false;
    }
    return true;
}

static bool case_run(const struct run *r, const struct golden_provider *provider, const char *name)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    const char *folder = arena_printf(a, "%s/%s/%s", r->folder, provider->name, name);
    struct golden_case c = {0};
    struct err err = ERR_INIT;
    if (case_read(a, folder, &c, &err) != ERR_OK) {
        printf("# %s\n", err.message);
        return false;
    }
    struct str_buf text _cleanup_(str_buf_done) = STR_BUF_INIT;
    provider->show(a, &c, &text);
    const char *broken = strstr(str_buf_text(&text), GOLDEN_BROKEN);
    if (broken != NULL) {
        printf("# %.*s\n", (int)strcspn(broken, "\n"), broken);
    }
    return case_compare(a, r, folder, str_buf_text(&text)) && broken == NULL;
}

static void provider_run(struct run *r, const struct golden_provider *provider)
{
    struct arena *a _cleanup_(arena_freep) = arena_new();
    struct str_set names = folders_list(a, arena_printf(a, "%s/%s", r->folder, provider->name));
    const char *name;
    STR_SET_EACH (name, &names) {
        bool ok = case_run(r, provider, name);
        r->cases++;
        r->failed += !ok;
        printf("%sok %zu - %s %s\n", ok ? "" : "not ", r->cases, provider->name, name);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: golden_runner FOLDER\n");
        return 2;
    }
    struct run r = {.folder = argv[1], .update = str_eq(getenv("TRIMTAB_UPDATE_GOLDEN"), "1")};
    for (size_t i = 0; providers[i] != NULL; i++) {
        provider_run(&r, providers[i]);
    }
    printf("1..%zu\n", r.cases);
    return r.failed > 0 ? 1 : 0;
}
