/* SPDX-License-Identifier: Apache-2.0 */
/* azure_identity.c: see azure_identity.h. */
#include "providers/azure/arm/azure_identity.h"

#include "common/base/str.h"
#include "common/data/json.h"

static void free_cert(void *cert)
{
    azure_cert_free(cert);
}

static int read_cert(struct arena *a, const char *secret, struct azure_cert **ret, struct err *err)
{
    unsigned char *der = NULL;
    size_t n = 0;
    if (!str_base64_decode(a, secret, false, &der, &n)) {
        return err_set(err, ERR_AUTH, "client_secret is no base64");
    }
    int rc = azure_cert_parse(der, n, "", ret, err);
    if (rc != ERR_OK) {
        (void)err_prefix(err, "client_secret");
        return rc;
    }
    arena_defer(a, free_cert, *ret);
    return ERR_OK;
}

int azure_identity_read(struct arena *a, const char *text, size_t n, struct azure_identity *ret,
                        struct err *err)
{
    struct json_object *o = NULL;
    if (json_parse_arena(a, text, n, NULL, &o, NULL) != ERR_OK ||
        !json_object_is_type(o, json_type_object)) {
        return err_set(err, ERR_AUTH, "want a JSON object");
    }
    static const char *const names[] = {"client_id", "tenant_id", "authentication_endpoint",
                                        "client_secret"};
    const char *values[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        values[i] = json_str(o, names[i]);
        if (str_is_empty(values[i])) {
            return err_set(err, ERR_AUTH, "%s is missing", names[i]);
        }
    }
    /* A secret is proven there: the way must be as safe as to any authority. */
    if (!str_has_prefix(values[2], "https://") && !str_has_prefix(values[2], "http://127.0.0.1")) {
        return err_set(err, ERR_AUTH, "authentication_endpoint is no https:// URL");
    }
    *ret = (struct azure_identity){
        .client_id = arena_strdup(a, values[0]),
        .tenant_id = arena_strdup(a, values[1]),
        .authority = str_has_suffix(values[2], "/") ? arena_strdup(a, values[2])
                                                    : arena_printf(a, "%s/", values[2]),
    };
    return read_cert(a, values[3], &ret->cert, err);
}
