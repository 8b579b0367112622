/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: the rules of single kinds (rules_*.c, service_*.c) and what they share. */
#ifndef TRIMTAB_SIM_KUBE_RULES_H
#define TRIMTAB_SIM_KUBE_RULES_H

#include "sim/kube/kinds.h"

extern const struct kube_rules kube_rules_service;
extern const struct kube_rules kube_rules_node;
extern const struct kube_rules kube_rules_namespace;
extern const struct kube_rules kube_rules_secret;
extern const struct kube_rules kube_rules_event;
extern const struct kube_rules kube_rules_lease;
extern const struct kube_rules kube_rules_endpoint_slice;

/* Events: core/v1 is what is stored. */
struct json_object *kube_event_as_stored(struct json_object *served);
struct json_object *kube_event_as_served(struct json_object *stored);

/* --- metadata (metadata.c) ----------------------------------------------------------------------- */
/* Name, labels, annotations, finalizers of any object. */
void kube_validate_meta(const struct kube_change *c, struct kube_causes *causes);
/* What an update must not change: uid, creation, deletion, new finalizers while deleting. */
void kube_validate_meta_update(const struct kube_change *c, struct kube_causes *causes);

/* --- words (names.c): NULL when fine, else what is wrong -------------------------------------- */
const char *kube_dns_label_error(const char *s);
const char *kube_dns_subdomain_error(const char *s);
/* [domain/]Name */
const char *kube_qualified_name_error(struct arena *a, const char *s);
const char *kube_label_value_error(const char *s);

/* The text of the i-th item of a list; "" when it is none: worlds may hold anything. */
const char *kube_item(struct json_object *list, size_t i);
/* True when both are absent or deeply equal. */
bool kube_same(struct json_object *a, struct json_object *b);
/* Sets o.name = v (new reference taken over), replacing; NULL removes. */
void kube_set(struct json_object *o, const char *name, struct json_object *v);
/* The member as an object, made when absent. */
struct json_object *kube_need(struct json_object *o, const char *name);
/* True when the object is being deleted. */
bool kube_is_deleting(struct json_object *o);

#endif
