/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version.c: `trimtab version`: what this binary is and what is built in. */
#include <curl/curl.h>
#include <openssl/crypto.h>
#include <stdio.h>

#include "common/base/arena.h"
#include "common/data/json.h"
#include "controller/cmd/cmd_args.h"
#include "controller/cmd/cmd_session.h"
#include "controller/cmd/commands.h"
#include "providers/builtin.h"

static const char usage[] =
    "Prints the version of trimtab, of its plugin ABI, and the built-in providers.\n"
    "\n"
    "Usage:\n"
    "  trimtab version [-o json]\n";

/* libcurl and what it is built with, as far as trimtab uses it.  curl_version() would ask every
 * library, and OpenLDAP answers after reading its configuration files, one of them in
 * the current folder. */
static const char *curl_versions(struct arena *a)
{
    const curl_version_info_data *d = curl_version_info(CURLVERSION_NOW);

    return arena_printf(a, "libcurl/%s %s zlib/%s nghttp2/%s", d->version,
                        str_or(d->ssl_version, "no TLS"), str_or(d->libz_version, "none"),
                        str_or(d->nghttp2_version, "none"));
}

static struct json_object *facts(struct arena *a)
{
    struct json_object *o = json_object_new_object();
    struct json_object *providers = json_object_new_array();
    size_t n = 0;
    const struct tt_provider *const *builtins = trimtab_builtin_providers(&n);
    for (size_t i = 0; i < n; i++) {
        json_push_str(providers, builtins[i]->name);
    }
    json_add_int(o, "format_version", JSON_FORMAT_VERSION);
    json_add_str(o, "version", TRIMTAB_VERSION);
    json_add_str(o, "abi", arena_printf(a, "%u.%u", TRIMTAB_ABI_MAJOR, TRIMTAB_ABI_MINOR));
    json_add_str(o, "kubernetes", "1.36");
    json_add(o, "providers", providers);
    json_add_str(o, "libcurl", curl_versions(a));
    json_add_str(o, "openssl", OpenSSL_version(OPENSSL_VERSION));
    return o;
}

int cmd_version(int argc, char **argv)
{
    _cleanup_(arena_freep) struct arena *a = arena_new();
    struct cmd_args args;
    struct err err = ERR_INIT;
    if (cmd_args_parse(a, CMD_VERSION, argc, argv, NULL, 0, &args, &err) != ERR_OK) {
        return cmd_fail_usage("version", &err);
    }
    if (args.help) {
        _cleanup_(str_buf_done) struct str_buf b = cmd_help_begin(usage);
        cmd_args_help(&b, CMD_VERSION, NULL, 0);
        fputs(str_buf_text(&b), stdout);
        return 0;
    }
    struct json_object *o = facts(a);
    if (str_eq(args.output, "json")) {
        puts(json_text(a, o, JSON_PRETTY));
    } else {
        struct json_object *providers = json_member(o, "providers");
        printf(
            "trimtab %s (behaves as cloud-provider of Kubernetes %s, plugin ABI %s)\nproviders: ",
            json_str(o, "version"), json_str(o, "kubernetes"), json_str(o, "abi"));
        for (size_t i = 0; i < json_len(providers); i++) {
            printf("%s%s", i > 0 ? ", " : "",
                   json_object_get_string(json_object_array_get_idx(providers, i)));
        }
        printf("\n%s\n%s\n", json_str(o, "libcurl"), json_str(o, "openssl"));
    }
    json_object_put(o);
    return 0;
}
