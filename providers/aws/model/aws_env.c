/* SPDX-License-Identifier: Apache-2.0 */
/* aws_env.c: see aws_env.h. */
#include "providers/aws/model/aws_env.h"

#include "common/base/str.h"

#include <stdlib.h>

static const char *of_process(const char *name, void *arg)
{
    (void)arg;
    return getenv(name);
}

const struct aws_env aws_env_process = {.get = of_process};

const char *aws_env_get(const struct aws_env *env, const char *name)
{
    return str_nonnull(env->get(name, env->arg));
}

bool aws_env_is_true(const struct aws_env *env, const char *name)
{
    return str_eq_nocase(aws_env_get(env, name), "true");
}
