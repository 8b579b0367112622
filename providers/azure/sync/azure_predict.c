/* SPDX-License-Identifier: Apache-2.0 */
/* azure_predict.c: what a plan has written so far, laid over what was read (azure_predict.h). */
#include "providers/azure/sync/azure_predict.h"
#include "common/base/str.h"
#include "common/net/url_build.h"
#include "providers/azure/model/azure_doc.h"

#include <string.h>

struct azure_predicted {
    enum azure_kind kind;
    const char *id;
    struct json_object *doc;
};

/* Elements get the IDs that Azure will give them: later stages refer to them. */
static void name_elements(struct arena *a, struct json_object *doc, const char *id)
{
    struct json_object *props = azure_props(doc);
    if (props == NULL) {
        return;
    }
    json_object_object_foreach(props, key, value)
    {
        struct json_object *o;
        AZURE_EACH (o, json_object_is_type(value, json_type_array) ? value : NULL) {
            const char *name =
                json_object_is_type(o, json_type_object) ? json_str(o, "name") : NULL;
            if (name != NULL && json_str(o, "id") == NULL) {
                json_add_str(o, "id", URL_RESOURCE_PATH(a, id, key, name));
            }
        }
    }
}

void azure_predict(struct azure_sync *y, enum azure_kind kind, const char *id,
                   struct json_object *doc)
{
    struct arena *a = y->s->a;
    if (!y->s->planning) {
        return;
    }
    if (y->n_predicted == y->cap_predicted) {
        y->cap_predicted = y->cap_predicted * 2 + 16;
        struct azure_predicted *more = ARENA_ARRAY(a, struct azure_predicted, y->cap_predicted);
        if (y->n_predicted > 0) {
            memcpy(more, y->predicted, y->n_predicted * sizeof(*more));
        }
        y->predicted = more;
    }
    struct azure_predicted *p = &y->predicted[y->n_predicted++];
    *p = (struct azure_predicted){.kind = kind, .id = arena_strdup(a, id)};
    if (doc != NULL) {
        p->doc = azure_copy(a, doc);
        json_add_str(p->doc, "id", id);
        json_add_str(p->doc, "name", azure_id_last(id));
        name_elements(a, p->doc, id);
    }
    azure_predict_members(y, kind, id, doc);
}

struct json_object *azure_predicted_doc(struct azure_sync *y, enum azure_kind kind, const char *id)
{
    for (size_t i = y->n_predicted; i > 0; i--) {
        if (y->predicted[i - 1].kind == kind && azure_id_eq(y->predicted[i - 1].id, id)) {
            return y->predicted[i - 1].doc;
        }
    }
    return NULL;
}

/* The list without the document, or with it in its new form. */
static struct json_object *with(struct arena *a, struct json_object *array,
                                const struct azure_predicted *p)
{
    struct json_object *now = azure_own(a, json_object_new_array());
    bool there = false;
    struct json_object *o;
    AZURE_EACH (o, array) {
        bool same = azure_id_eq(azure_doc_id(o), p->id);
        there = there || same;
        if (!same || p->doc != NULL) {
            (void)json_object_array_add(now, json_object_get(same ? p->doc : o));
        }
    }
    if (!there && p->doc != NULL) {
        (void)json_object_array_add(now, json_object_get(p->doc));
    }
    return now;
}

void azure_predict_apply(struct azure_sync *y)
{
    for (size_t i = 0; i < y->n_predicted; i++) {
        const struct azure_predicted *p = &y->predicted[i];
        for (size_t k = 0; k < y->n_seen; k++) {
            struct azure_seen *seen = &y->seen[k];
            if (seen->kind == p->kind && seen->array != NULL &&
                azure_snapshot_holds(seen->scope, p->id)) {
                seen->array = with(y->s->a, seen->array, p);
            } else if (seen->kind == AZURE_NICS && p->kind == AZURE_LBS && p->doc == NULL) {
                seen->array = azure_predict_detached(y, seen->array, p->id);
            }
        }
    }
}
