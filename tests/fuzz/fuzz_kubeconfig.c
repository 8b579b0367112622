/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kubeconfig.c: kubeconfig text, merging and choosing; no file that it names is opened.
 *
 * What holds for every input: a refusal has a text and names the file; a file merged with itself is
 * itself; texts of what was chosen are never NULL. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "controller/kube/client/config_internal.h"

static void check_choice(const struct kc_choice *c)
{
    FUZZ_CHECK(c->context != NULL && c->ctx.ns != NULL);
    FUZZ_CHECK(c->cluster.server != NULL && c->cluster.ca_file != NULL &&
               c->cluster.ca_data != NULL);
    FUZZ_CHECK(c->cluster.proxy_url != NULL && c->cluster.tls_server_name != NULL);
    FUZZ_CHECK(c->user.token != NULL && c->user.token_file != NULL && c->user.as != NULL);
    FUZZ_CHECK(c->user.cert_file != NULL && c->user.cert_data != NULL);
    FUZZ_CHECK(c->user.key_file != NULL && c->user.key_data != NULL);
    FUZZ_CHECK(c->user.username != NULL && c->user.password != NULL);
}

FUZZ_TARGET(kubeconfig, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct kc_file f = {0};
    struct kc_choice choice;
    if (size > 1 << 14) {
        arena_free(a);
        return 0;
    }
    int rc = kc_file_parse(a, "/dir/kc", (const char *)data, size, &f, &err);
    if (rc != ERR_OK) {
        FUZZ_CHECK(rc == ERR_INVALID && strstr(err.message, "\"/dir/kc\": ") != NULL);
    } else {
        struct kc_file merged = {.current_context = ""};
        kc_file_merge(a, &merged, &f);
        kc_file_merge(a, &merged, &f);
        FUZZ_CHECK(merged.n_clusters == f.n_clusters && merged.n_users == f.n_users);
        FUZZ_CHECK(merged.n_contexts == f.n_contexts);
        if (kc_choose(&merged, NULL, NULL, &choice, &err) == ERR_OK) {
            check_choice(&choice);
        } else {
            FUZZ_CHECK(strncmp(err.message, "invalid configuration: ", 23) == 0);
        }
    }
    arena_free(a);
    return 0;
}
