/* SPDX-License-Identifier: Apache-2.0 */
/* stage_rig_look.c: the cloud in memory as text (stage_rig.h). */
#include "providers/azure/model/azure_doc.h"
#include "tests/unit/azure/stage_rig.h"

static const char *names_of(struct stage_rig *r, struct json_object *array)
{
    const char *text = "";
    struct json_object *o;
    AZURE_EACH (o, array) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? " " : "", azure_doc_name(o));
    }
    return text;
}

const char *stage_rig_names(struct stage_rig *r, enum azure_kind k)
{
    return names_of(r, r->docs.lists[k]);
}

const char *stage_rig_elements(struct stage_rig *r, const char *lb, const char *array)
{
    return names_of(r, azure_array(stage_rig_doc(r, AZURE_LBS, lb), array));
}

static const char *texts_of(struct stage_rig *r, struct json_object *rule, const char *one,
                            const char *many)
{
    const char *text = str_nonnull(azure_prop_str(rule, one));
    struct json_object *o;
    AZURE_EACH (o, azure_array(rule, many)) {
        text = arena_printf(r->a, "%s%s%s", text, text[0] != '\0' ? "," : "",
                            json_object_get_string(o));
    }
    return text;
}

const char *stage_rig_rules(struct stage_rig *r)
{
    const char *text = "";
    struct json_object *rule;
    AZURE_EACH (rule, azure_array(stage_rig_doc(r, AZURE_NSGS, "nsg"), "securityRules")) {
        text = arena_printf(
            r->a, "%s%s%s>%s", text, text[0] != '\0' ? " " : "",
            texts_of(r, rule, "destinationPortRange", "destinationPortRanges"),
            texts_of(r, rule, "destinationAddressPrefix", "destinationAddressPrefixes"));
    }
    return text;
}
