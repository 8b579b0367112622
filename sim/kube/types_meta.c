/* SPDX-License-Identifier: Apache-2.0 */
/* types_meta.c: the structures of meta/v1 that every object shares.
 *
 * Constant tables only; see types.h. */
#include "sim/kube/types.h"

#include "sim/kube/types_tables.h"

#include <string.h>

static const struct kube_field owner_reference_fields[] = {
    F_R("apiVersion", KF_STR), F_R("kind", KF_STR),        F_R("name", KF_STR),
    F_R("uid", KF_STR),        F_P("controller", KF_BOOL), F_P("blockOwnerDeletion", KF_BOOL),
};
static const struct kube_type owner_reference =
    TYPE("OwnerReference", META "OwnerReference", owner_reference_fields);

static const struct kube_field managed_fields_fields[] = {
    F("manager", KF_STR),    F("operation", KF_STR), F("apiVersion", KF_STR),  F_P("time", KF_TIME),
    F("fieldsType", KF_STR), F("fieldsV1", KF_ANY),  F("subresource", KF_STR),
};
static const struct kube_type managed_fields =
    TYPE("ManagedFieldsEntry", META "ManagedFieldsEntry", managed_fields_fields);

static const struct kube_field object_meta_fields[] = {
    F("name", KF_STR),
    F("generateName", KF_STR),
    F("namespace", KF_STR),
    F("selfLink", KF_STR),
    F("uid", KF_STR),
    F("resourceVersion", KF_STR),
    F("generation", KF_I64),
    F("creationTimestamp", KF_TIME),
    F_P("deletionTimestamp", KF_TIME),
    F_P("deletionGracePeriodSeconds", KF_I64),
    F("labels", KF_STR_MAP),
    F("annotations", KF_STR_MAP),
    OBJS_BY("ownerReferences", owner_reference, "uid"),
    F_SET("finalizers"),
    OBJS("managedFields", managed_fields),
};
const struct kube_type kube_type_object_meta =
    TYPE("ObjectMeta", META "ObjectMeta", object_meta_fields);

static const struct kube_field condition_fields[] = {
    F_R("type", KF_STR),
    F_R("status", KF_STR),
    F("observedGeneration", KF_I64),
    F_R("lastTransitionTime", KF_TIME),
    F_R("reason", KF_STR),
    F_R("message", KF_STR),
};
const struct kube_type kube_type_condition = TYPE("Condition", META "Condition", condition_fields);

static const struct kube_field preconditions_fields[] = {
    F_P("uid", KF_STR),
    F_P("resourceVersion", KF_STR),
};
static const struct kube_type preconditions =
    TYPE("Preconditions", META "Preconditions", preconditions_fields);

static const struct kube_field delete_options_fields[] = {
    F("kind", KF_STR),
    F("apiVersion", KF_STR),
    F_P("gracePeriodSeconds", KF_I64),
    OBJ_P("preconditions", preconditions),
    F_P("orphanDependents", KF_BOOL),
    F_P("propagationPolicy", KF_STR),
    F("dryRun", KF_STRS),
    F_P("ignoreStoreReadErrorWithClusterBreakingPotential", KF_BOOL),
};
const struct kube_type kube_type_delete_options =
    TYPE("DeleteOptions", META "DeleteOptions", delete_options_fields);

static const struct kube_field free_fields[] = {
    F("kind", KF_STR),
    F("apiVersion", KF_STR),
    OBJ_K("metadata", kube_type_object_meta),
};
const struct kube_type kube_type_free = TYPE("Unstructured", NULL, free_fields);

const struct kube_field *kube_type_field(const struct kube_type *t, const char *name)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        if (strcmp(t->fields[i].name, name) == 0) {
            return &t->fields[i];
        }
    }
    return NULL;
}
