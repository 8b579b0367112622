/* SPDX-License-Identifier: Apache-2.0 */
/* aws_profile.h: the files that AWS' tools share: ~/.aws/config and ~/.aws/credentials.
 *
 * Sections are [profile NAME] (and [default], [services NAME]) in the first file, [NAME] in the
 * second, whose values win.  A file that is absent is empty.  Values may be secret: they never
 * appear in errors.
 * Source: docs/spec/aws.md 2.1, 1.3.  Reads files, nothing else. */
#ifndef TRIMTAB_AWS_PROFILE_H
#define TRIMTAB_AWS_PROFILE_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/aws/model/aws_env.h"

#include <stdbool.h>
#include <stddef.h>

struct aws_profiles; /* in its arena */

/* AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, else below HOME.  ERR_INVALID: no such file by its
 * form, or over a cap, or AWS_PROFILE names a profile that is in neither; ERR_FORBIDDEN: it may not
 * be read.
 * Source: resolveConfigLoaders() of the SDK's config, which continues without a profile only when
 * none was asked for. */
int aws_profiles_read(struct arena *a, const struct aws_env *env, const struct aws_profiles **ret,
                      struct err *err) _warn_unused_;
/* From texts; either may be NULL.  Lines that are no header and have no "=" mean nothing, as in
 * AWS' tools.  ERR_INVALID: a NUL, or more lines than such a file has. */
int aws_profiles_parse(struct arena *a, const char *config, size_t n_config,
                       const char *credentials, size_t n_credentials,
                       const struct aws_profiles **ret, struct err *err) _warn_unused_;
/* AWS_PROFILE, AWS_DEFAULT_PROFILE, "default". */
const char *aws_profile_name(const struct aws_env *env);
bool aws_profile_exists(const struct aws_profiles *p, const char *profile);
/* A value of a profile, or NULL.  Keys are lower case. */
const char *aws_profile_get(const struct aws_profiles *p, const char *profile, const char *key);
/* How often a request is sent at most: AWS_MAX_ATTEMPTS, else max_attempts of the profile (2.9); 0:
 * neither says it.  `p` may be NULL.  ERR_INVALID: no number, or a negative one (the SDK then never
 * stops, which a controller must). */
int aws_profile_max_attempts(const struct aws_profiles *p, const struct aws_env *env, int *ret,
                             struct err *err) _warn_unused_;
/* A value of the block `service` in the [services NAME] that the profile names, or NULL. */
const char *aws_profile_service_get(const struct aws_profiles *p, const char *profile,
                                    const char *service, const char *key);

#endif
