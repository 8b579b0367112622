/* SPDX-License-Identifier: Apache-2.0 */
/* gce_neg_description_rules.c: whose a NEG is, by its description (gce_neg_rules.h).
 *
 * Upstream's text byte for byte, and upstream's judgement: a description that is empty or is not
 * JSON of this shape counts as ours (the name is ours, after all); one that is, and names another
 * cluster or Service, is never touched.  Source: gce-l4.md §3.6, §3.9, Appendix C row 3.  Pure. */
#include "providers/gce/model/gce_neg_rules.h"

#include "common/base/str.h"
#include "common/data/json.h"

#include <string.h>

enum part {
    PART_CLUSTER = 0,
    PART_NAMESPACE,
    PART_SERVICE,
    PART_PORT,
    PART_MAX,
};
static const char *const part_names[PART_MAX] = {"cluster-uid", "namespace", "service-name",
                                                 "port"};

#define PORT_OF_VM_IP "0" /* this type of NEG has no port */

char *gce_neg_describe(struct arena *a, const char *kube_system_uid, const char *ns,
                       const char *service)
{
    const char *const parts[PART_MAX] = {kube_system_uid, ns, service, PORT_OF_VM_IP};
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    for (int i = 0; i < PART_MAX; i++) {
        if (!str_is_empty(parts[i])) {
            str_append_c(&b, b.len == 0 ? '{' : ',');
            str_append_json_quoted(&b, part_names[i]);
            str_append_c(&b, ':');
            str_append_json_quoted(&b, parts[i]);
        }
    }
    str_append_c(&b, '}');
    return str_buf_to_arena(&b, a);
}

/* One member into its part; case does not matter to Go's decoder.  False: it has another type. */
static bool take_part(const char *key, struct json_object *value, const char *parts[PART_MAX])
{
    for (int i = 0; i < PART_MAX; i++) {
        if (!str_eq_nocase(key, part_names[i]) || value == NULL) {
            continue;
        }
        if (!json_object_is_type(value, json_type_string)) {
            return false;
        }
        parts[i] = json_object_get_string(value);
    }
    return true;
}

/* False when the text is no such description. */
static bool parse(struct arena *a, const char *text, const char *parts[PART_MAX])
{
    struct json_object *o = NULL;
    for (int i = 0; i < PART_MAX; i++) {
        parts[i] = "";
    }
    if (json_parse_arena(a, text, strlen(text), NULL, &o, NULL) != ERR_OK) {
        return false;
    }
    if (o == NULL) {
        return true; /* null */
    }
    if (!json_object_is_type(o, json_type_object)) {
        return false;
    }
    json_object_object_foreach(o, key, value)
    {
        if (!take_part(key, value, parts)) {
            return false;
        }
    }
    return true;
}

enum gce_neg_verdict gce_neg_description_judge(struct arena *a, const char *expected,
                                               const char *found)
{
    const char *want[PART_MAX];
    const char *is[PART_MAX];
    if (str_is_empty(found) || !parse(a, found, is)) {
        return GCE_NEG_MATCHES;
    }
    (void)parse(a, expected, want);
    if (!str_eq(is[PART_CLUSTER], want[PART_CLUSTER]) ||
        !str_eq(is[PART_NAMESPACE], want[PART_NAMESPACE])) {
        return GCE_NEG_FOREIGN;
    }
    bool same =
        str_eq(is[PART_SERVICE], want[PART_SERVICE]) && str_eq(is[PART_PORT], want[PART_PORT]);
    return same ? GCE_NEG_MATCHES : GCE_NEG_SAME_CLUSTER;
}
