/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_input.c: the files of a command line; see the header. */
#include "controller/cmd/cmd_input.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/file.h"
#include "common/base/str.h"

const char *cmd_input_name(const char *path)
{
    return str_eq(path, "-") ? "standard input" : path;
}

/* Not by its name in /dev: that cannot be opened when it is a socket. */
static int read_stdin(struct arena *a, size_t max_bytes, char **ret, size_t *ret_n, struct err *err)
{
    _cleanup_(str_buf_done) struct str_buf text = STR_BUF_INIT;
    char piece[16384];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0) {
        if (n > max_bytes - text.len) {
            return err_set(err, ERR_INVALID, "larger than %zu bytes", max_bytes);
        }
        str_append_n(&text, piece, n);
    }
    if (ferror(stdin)) {
        return err_set(err, ERR_TRANSIENT, "it cannot be read");
    }
    *ret_n = text.len;
    *ret = str_buf_to_arena(&text, a);
    return ERR_OK;
}

int cmd_input_read(struct arena *a, const char *path, size_t max_bytes, char **ret, size_t *ret_n,
                   struct err *err)
{
    if (!str_eq(path, "-")) {
        return file_read_stream(a, path, max_bytes, ret, ret_n,
                                err); /* its messages name the path */
    }
    int code = read_stdin(a, max_bytes, ret, ret_n, err);
    if (code != ERR_OK) {
        (void)err_prefix(err, "%s", cmd_input_name(path));
    }
    return code;
}

struct inputs {
    struct arena *a;
    struct cmd_input *items;
    size_t n, cap;
};

static void push(struct inputs *all, const char *path, bool in_folder)
{
    if (all->n == all->cap) {
        size_t cap = all->cap == 0 ? 8 : 2 * all->cap;
        struct cmd_input *items = ARENA_ARRAY(all->a, struct cmd_input, cap);
        for (size_t i = 0; i < all->n; i++) {
            items[i] = all->items[i];
        }
        all->items = items;
        all->cap = cap;
    }
    all->items[all->n++] = (struct cmd_input){arena_strdup(all->a, path), in_folder};
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_manifest_name(const char *name)
{
    return str_has_suffix(name, ".yaml") || str_has_suffix(name, ".yml") ||
           str_has_suffix(name, ".json");
}

static int cmp_input(const void *x, const void *y)
{
    return strcmp(((const struct cmd_input *)x)->path, ((const struct cmd_input *)y)->path);
}

static int add_folder(struct inputs *all, const char *folder, struct err *err)
{
    size_t before = all->n;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return err_set(err, errno == EACCES ? ERR_FORBIDDEN : ERR_INVALID,
                       "%s: the folder cannot be read", folder);
    }
    bool slash = str_has_suffix(folder, "/");
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        const char *path = arena_printf(all->a, "%s%s%s", folder, slash ? "" : "/", e->d_name);
        if (is_manifest_name(e->d_name) && !is_folder(path)) {
            push(all, path, true);
        }
    }
    (void)closedir(dir);
    if (all->n == before) {
        return err_set(err, ERR_INVALID, "%s: no file *.yaml, *.yml or *.json in the folder",
                       folder);
    }
    qsort(all->items + before, all->n - before, sizeof(*all->items), cmp_input);
    return ERR_OK;
}

static int check_name(const char *name, struct err *err)
{
    if (*name == '\0') {
        return err_set(err, ERR_INVALID, "-f \"\": want a file, a folder, or - for standard input");
    }
    if (str_has_prefix(name, "https://") || str_has_prefix(name, "http://")) {
        return err_set(err, ERR_INVALID,
                       "-f %s: URLs are not read; let another program fetch it: curl -sf %s | "
                       "trimtab … -f -",
                       name, name);
    }
    return ERR_OK;
}

int cmd_input_expand(struct arena *a, const struct cmd_list *names, struct cmd_input **ret,
                     size_t *ret_n, struct err *err)
{
    struct inputs all = {.a = a};
    bool has_stdin = false;
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->items[i];
        if (check_name(name, err) != ERR_OK) {
            return err->code;
        }
        if (str_eq(name, "-") && has_stdin) {
            return err_set(err, ERR_INVALID, "-f -: standard input can be read only once");
        }
        has_stdin |= str_eq(name, "-");
        if (!is_folder(name)) {
            push(&all, name, false);
        } else if (add_folder(&all, name, err) != ERR_OK) {
            return err->code;
        }
    }
    *ret = all.items;
    *ret_n = all.n;
    return ERR_OK;
}
