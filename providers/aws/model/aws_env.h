/* SPDX-License-Identifier: Apache-2.0 */
/* aws_env.h: the environment, as something that is handed in, so that tests can replace it.
 *
 * Everything that AWS' own tools read from variables is asked for here, by name. */
#ifndef TRIMTAB_AWS_ENV_H
#define TRIMTAB_AWS_ENV_H

#include <stdbool.h>

struct aws_env {
    const char *(*get)(const char *name, void *arg); /* NULL: not set */
    void *arg;
};
/* The process' own. */
extern const struct aws_env aws_env_process;

const char *aws_env_get(const struct aws_env *env, const char *name); /* "" when it is not set */
/* "true" without case, as AWS' tools read their switches. */
bool aws_env_is_true(const struct aws_env *env, const char *name);

#endif
