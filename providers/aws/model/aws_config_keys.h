/* SPDX-License-Identifier: Apache-2.0 */
/* aws_config_keys.h: the keys of aws.conf: their types, and where their values go.
 *
 * Between aws_config_keys.c (the tables), aws_config.c (the decoder) and aws_config_check.c
 * (hints).
 * Source: docs/spec/aws.md 1.2, 1.3. */
#ifndef TRIMTAB_AWS_CONFIG_KEYS_H
#define TRIMTAB_AWS_CONFIG_KEYS_H

#include "providers/aws/model/aws_config.h"

#define AWS_SECTION_GLOBAL   "Global"
#define AWS_SECTION_OVERRIDE "ServiceOverride"
#define AWS_SECTION_OPTIONS  "Trimtab"

/* Decoded form of [Global] and [Trimtab]: numbers are checked for their range afterwards. */
struct aws_global {
    struct aws_config c;
    int64_t probe_port;
};
extern const struct gcfg_key aws_config_keys[];   /* of struct aws_global */
extern const struct gcfg_key aws_override_keys[]; /* of struct aws_override */

#endif
