/* SPDX-License-Identifier: Apache-2.0 */
/* eval_azure.c: see eval_azure.h. */
#include "tests/eval/eval_azure.h"

#include <string.h>

#include "providers/azure/model/azure_names.h"
#include "tests/support/azure_config_text.h"

/* ---- configuration --------------------------------------------------------------------------- */

/* The keys go through the provider's decoder, but not through its start-up checks: questions name
 * only the keys that matter to them. */
int eval_azure_naming(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                      struct err *err)
{
    static const struct azure_env no_env;
    struct json_object *given = json_member(in, "config");
    const char *text = given != NULL ? json_text(a, given, JSON_PRETTY) : "{}";
    struct azure_config *c = ARENA_NEW(a, struct azure_config);
    struct azure_naming *n = ARENA_NEW(a, struct azure_naming);
    const struct azure_unknown_key *unknown;
    size_t n_unknown;
    int rc = azure_config_decode(a, text, strlen(text), &no_env, c, &unknown, &n_unknown, err);
    if (rc == ERR_OK) {
        *n = (struct azure_naming){.config = c,
                                   .cluster = str_or(json_str(in, "clusterName"), "kubernetes")};
        *ret = n;
    }
    return rc;
}

/* ---- the rest -------------------------------------------------------------------------------- */

int eval_azure_service(struct arena *a, struct json_object *in, const struct azure_naming **ret,
                       const struct azure_service **ret_service, struct err *err)
{
    const struct tt_service *s;
    int rc = eval_azure_naming(a, in, ret, err);
    if (rc == ERR_OK) {
        rc = eval_service(a, json_member(in, "service"), &s, err);
    }
    if (rc == ERR_OK) {
        *ret_service = azure_service_read(a, *ret, s);
    }
    return rc;
}

struct json_object *const *eval_azure_docs(struct arena *a, struct json_object *in,
                                           const char *name, size_t *ret_n)
{
    struct json_object *array = json_member(in, name);
    size_t n = json_len(array);
    struct json_object **docs = ARENA_ARRAY(a, struct json_object *, n);
    for (size_t i = 0; i < n; i++) {
        docs[i] = json_object_array_get_idx(array, i);
    }
    *ret_n = n;
    return docs;
}

struct json_object *eval_azure_pair(const char *ipv4, const char *ipv6)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "ipv4", str_nonnull(ipv4));
    json_add_str(o, "ipv6", str_nonnull(ipv6));
    return o;
}
