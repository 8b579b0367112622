/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h: the rules of single kinds (rules_*.c, service_*.c) and what they share. */
#ifndef TRIMTAB_SIM_KUBE_RULES_H
#define TRIMTAB_SIM_KUBE_RULES_H

#include "sim/kube/kinds.h"

extern const struct kube_rules kube_rules_service;
extern const struct kube_rules kube_rules_node;
extern const struct kube_rules kube_rules_namespace;
extern const struct kube_rules kube_rules_config_map;
extern const struct kube_rules kube_rules_secret;
extern const struct kube_rules kube_rules_endpoints;
extern const struct kube_rules kube_rules_event;
extern const struct kube_rules kube_rules_lease;
extern const struct kube_rules kube_rules_crd;
extern const struct kube_rules kube_rules_endpoint_slice;

/* Events: core/v1 is what is stored. */
struct json_object *kube_event_as_stored(struct json_object *served);
struct json_object *kube_event_as_served(struct json_object *stored);

/* --- metadata (metadata.c) -------------------------------------------------------------------- */
/* Name, labels, annotations, finalizers of any object. */
void kube_validate_meta(const struct kube_change *c, struct kube_causes *causes);
/* Members that an update must not change: uid, creation, deletion, new finalizers while
 * deleting. */
void kube_validate_meta_update(const struct kube_change *c, struct kube_causes *causes);

/* --- words (names.c): each adds what is wrong with `s` ---------------------------------------- */
void kube_check_dns_label(struct kube_causes *c, const char *field, const char *s);
void kube_check_dns_subdomain(struct kube_causes *c, const char *field, const char *s);
/* [domain/]Name */
void kube_check_qualified_name(struct kube_causes *c, const char *field, const char *s);
/* The same in any case. */
void kube_check_annotation_key(struct kube_causes *c, const char *field, const char *s);
void kube_check_label_value(struct kube_causes *c, const char *field, const char *s);
/* A key of a ConfigMap or a Secret. */
void kube_check_config_key(struct kube_causes *c, const char *field, const char *s);
/* An IANA service name: the name of a port of a pod. */
void kube_check_port_name(struct kube_causes *c, const char *field, const char *s);

/* --- addresses (addresses.c) ------------------------------------------------------------------ */
/* An IP in a field of its own. */
void kube_check_ip(struct kube_causes *c, const char *field, const char *ip);
void kube_check_cidr(struct kube_causes *c, const char *field, const char *cidr);
/* An address of an endpoint: not unspecified, loopback, link-local.  Invalid IPs are not
 * reported. */
void kube_check_endpoint_ip(struct kube_causes *c, const char *field, const char *ip);

/* The text of the i-th item of a list; "" if it is not a text: worlds may contain anything. */
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
