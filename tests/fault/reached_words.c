/* SPDX-License-Identifier: Apache-2.0 */
/* reached_words.c: see reached_words.h. */
#include "tests/fault/reached_words.h"

#include <string.h>

#include "common/base/str.h"
#include "tests/edits/served.h"

/* Annotations by which a Service says who comes in, beside its source ranges. */
const char *reached_lets_of(struct arena *a, struct json_object *notes)
{
    static const char *const words[] = {"security-group", "allowed", "nsg-rule"};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    if (notes != NULL) {
        json_object_object_foreach(notes, key, value)
        {
            for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                if (strstr(key, words[i]) != NULL) {
                    str_appendf(&b, "%s=%s\n", key, json_object_get_string(value));
                    break;
                }
            }
        }
    }
    return str_buf_to_arena(&b, a);
}

/* All that the status publishes, in small letters; NULL: nothing. */
const char *reached_hosts_of(struct arena *a, struct json_object *service)
{
    struct json_object *list = json_path(service, "status.loadBalancer.ingress");
    const char *all = NULL;
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *in = json_object_array_get_idx(list, i);
        const char *one =
            served_host(a, str_or(json_str(in, "ip"), str_nonnull(json_str(in, "hostname"))));
        all = all == NULL ? str_lower(a, one) : arena_printf(a, "%s,%s", all, str_lower(a, one));
    }
    return all;
}

bool reached_asks_family_of(struct json_object *service, const char *host)
{
    const char *family = strchr(host, ':') != NULL ? "IPv6" : "IPv4";
    struct json_object *list = json_path(service, "spec.ipFamilies");
    bool asks = json_len(list) == 0;
    for (size_t i = 0; i < json_len(list); i++) {
        asks = asks || str_eq(json_object_get_string(json_object_array_get_idx(list, i)), family);
    }
    return asks;
}

bool reached_serves_any(struct json_object *reach, const char *host)
{
    struct json_object *ports = json_member(reach, host);
    if (ports != NULL) {
        json_object_object_foreach(ports, port, entry)
        {
            (void)port;
            if (json_len(json_member(entry, "clients")) > 0) {
                return true;
            }
        }
    }
    return false;
}

bool reached_is_announcement(const char *effect)
{
    static const char *const words[] = {"interrupted", "Traffic stops", "does not answer until",
                                        "no client is served"};
    bool is = false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        is = is || strstr(effect, words[i]) != NULL;
    }
    return is;
}
