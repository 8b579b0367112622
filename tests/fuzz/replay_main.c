/* SPDX-License-Identifier: Apache-2.0 */
/* replay_main.c: runs a fuzz target over the files of its corpus, as a test.
 *
 *     fuzz-replay TARGET FOLDER…    one TAP line per file, in the order of names
 *
 * Each file is also run cut short at a few places, because truncation is the fault that networks
 * make.  A target that finds something aborts; the line before it names the file. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <string.h>

#include "common/base/file.h"

#define FILE_MAX ((size_t)1 << 20)
#define CUTS     8

static struct fuzz_target *targets; /* filled before main() */

void fuzz_register(struct fuzz_target *t)
{
    t->next = targets;
    targets = t;
}

static void run_with_cuts(fuzz_run_fn *run, const char *data, size_t n)
{
    for (size_t i = 0; i <= CUTS; i++) {
        size_t len = n * i / CUTS;
        /* a copy of exactly that size, so that the sanitizers see every byte read behind it */
        uint8_t *copy = xmalloc(len);
        memcpy(copy, data, len);
        (void)run(copy, len); /* always 0 */
        free(copy);
    }
}

static int by_name(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Returns the number of files, or -1. */
static int replay_folder(fuzz_run_fn *run, const char *folder, int done)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, by_name, alphasort);
    for (int i = 0; i < n; i++) {
        struct arena *a = arena_new();
        struct err err = ERR_INIT;
        char *data = NULL;
        size_t size = 0;
        const char *path = arena_printf(a, "%s/%s", folder, names[i]->d_name);
        if (file_read(a, path, FILE_MAX, &data, &size, &err) != ERR_OK) {
            printf("not ok %d - %s\n", done + i + 1, err.message);
        } else {
            printf("# %s, %zu bytes\n", names[i]->d_name, size);
            fflush(stdout);
            run_with_cuts(run, data, size);
            printf("ok %d - %s\n", done + i + 1, names[i]->d_name);
        }
        arena_free(a);
        free(names[i]);
    }
    free(names);
    return n;
}

static fuzz_run_fn *find_target(const char *name)
{
    for (const struct fuzz_target *t = targets; t != NULL; t = t->next) {
        if (strcmp(t->name, name) == 0) {
            return t->run;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int total = 0;
    fuzz_run_fn *run = argc > 2 ? find_target(argv[1]) : NULL;
    if (run == NULL) {
        printf("Bail out! unknown target \"%s\"; usage: fuzz-replay TARGET FOLDER…\n",
               argc > 1 ? argv[1] : "");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        int n = replay_folder(run, argv[i], total);
        if (n <= 0) {
            printf("Bail out! %s: no corpus\n", argv[i]);
            return EXIT_FAILURE;
        }
        total += n;
    }
    printf("1..%d\n", total);
    return EXIT_SUCCESS;
}
