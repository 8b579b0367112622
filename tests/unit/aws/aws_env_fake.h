/* SPDX-License-Identifier: Apache-2.0 */
/* aws_env_fake.h: an environment for tests, from lines "NAME=value". */
#ifndef TRIMTAB_TESTS_AWS_ENV_FAKE_H
#define TRIMTAB_TESTS_AWS_ENV_FAKE_H

#include "common/base/arena.h"
#include "providers/aws/model/aws_env.h"

#include <string.h>

struct env_fake {
    struct aws_env env;
    struct arena *a;
    const char *lines;
};

static inline const char *env_fake_get(const char *name, void *arg)
{
    const struct env_fake *e = arg;
    size_t n = strlen(name);
    for (const char *line = e->lines; *line != '\0'; line += strspn(line, "\n")) {
        size_t len = strcspn(line, "\n");
        if (len > n && strncmp(line, name, n) == 0 && line[n] == '=') {
            return arena_strndup(e->a, line + n + 1, len - n - 1);
        }
        line += len;
    }
    return NULL;
}

/* Lives in the arena; for one thread. */
static inline const struct aws_env *env_fake(struct arena *a, const char *lines)
{
    struct env_fake *e = ARENA_NEW(a, struct env_fake);
    *e = (struct env_fake){.env = {env_fake_get, e}, .a = a, .lines = lines};
    return &e->env;
}

#endif
