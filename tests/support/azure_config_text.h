/* SPDX-License-Identifier: Apache-2.0 */
/* azure_config_text.h: the cloud-config of a test, which is one text. */
#ifndef TRIMTAB_TESTS_AZURE_CONFIG_TEXT_H
#define TRIMTAB_TESTS_AZURE_CONFIG_TEXT_H

#include "providers/azure/model/azure_config.h"

static inline int azure_config_decode(struct arena *a, const char *text, size_t n,
                                      const struct azure_env *env, struct azure_config *ret,
                                      const struct azure_unknown_key **ret_unknown,
                                      size_t *ret_n_unknown, struct err *err)
{
    const struct azure_config_texts texts = {.file = {.text = text, .n = n}};
    return azure_config_decode_texts(a, &texts, env, ret, ret_unknown, ret_n_unknown, err);
}
static inline int azure_config_parse(struct arena *a, const char *text, size_t n,
                                     const struct azure_env *env, struct azure_config *ret,
                                     const struct azure_unknown_key **ret_unknown,
                                     size_t *ret_n_unknown, struct err *err)
{
    const struct azure_config_texts texts = {.file = {.text = text, .n = n}};
    return azure_config_parse_texts(a, &texts, env, ret, ret_unknown, ret_n_unknown, err);
}

#endif
