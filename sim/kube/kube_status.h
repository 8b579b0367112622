/* SPDX-License-Identifier: Apache-2.0 */
/* kube_status.h: refusals: the Status objects that the API server answers, and the causes of a 422.
 *
 * A function of the simulator that may refuse returns such an object (a new reference), or NULL
 * when all is well.  Words and details are those of the recorded answers.  Pure. */
#ifndef TRIMTAB_SIM_KUBE_KUBE_STATUS_H
#define TRIMTAB_SIM_KUBE_KUBE_STATUS_H

#include "common/base/arena.h"
#include "common/base/attr.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct kube_kind;

/* A Failure; reason and details may be NULL; `details` is taken over. */
struct json_object *kube_status(int code, const char *reason, const char *message,
                                struct json_object *details);
int kube_status_code(struct json_object *status);
struct json_object *kube_status_bad_request(const char *fmt, ...) _printf_(1, 2);
/* services "x" not found */
struct json_object *kube_status_not_found(const struct kube_kind *kind, const char *name);
struct json_object *kube_status_exists(const struct kube_kind *kind, const char *name);
/* Operation cannot be fulfilled on services "x": why */
struct json_object *kube_status_conflict(const struct kube_kind *kind, const char *name,
                                         const char *why);
/* The same with the kind's own name: a failed precondition of a DELETE. */
struct json_object *kube_status_precondition(const struct kube_kind *kind, const char *name,
                                             const char *why);
/* 422 without a cause: a patch that cannot be applied. */
struct json_object *kube_status_unprocessable(void);
struct json_object *kube_status_method_not_allowed(void);
/* 500: what the server could not do. */
struct json_object *kube_status_internal(struct arena *a, const char *what);
/* 403 of an admission plugin. */
struct json_object *kube_status_admission(const struct kube_kind *kind, const char *name,
                                          const char *why);
struct json_object *kube_status_expired(const char *message);
/* Creating in a namespace that is going away. */
struct json_object *kube_status_terminating(const struct kube_kind *kind, const char *name,
                                            const char *ns);
/* {"status":"Success"}: what DELETE answers for most kinds. */
struct json_object *kube_status_deleted(const struct kube_kind *kind, const char *name,
                                        const char *uid);

/* --- causes of a 422 -------------------------------------------------------------------------- */
enum kube_cause_type {
    KUBE_REQUIRED = 0,
    KUBE_INVALID,
    KUBE_NOT_SUPPORTED,
    KUBE_FORBIDDEN,
    KUBE_DUPLICATE,
    KUBE_TOO_LONG,
    KUBE_TOO_MANY,
};

struct kube_causes {
    struct arena *arena;
    struct json_object *list; /* array, made on the first cause; owned */
};

/* `value` is already in Go's form (kube_quoted(), a number); NULL where the type shows none. */
void kube_cause(struct kube_causes *c, enum kube_cause_type type, const char *field,
                const char *value, const char *detail);
void kube_required(struct kube_causes *c, const char *field, const char *detail);
void kube_forbidden(struct kube_causes *c, const char *field, const char *detail);
/* A text value, quoted here. */
void kube_invalid(struct kube_causes *c, const char *field, const char *value, const char *detail);
void kube_invalid_int(struct kube_causes *c, const char *field, int64_t value, const char *detail);
/* Any tree as Go shows it: strings quoted, the rest as JSON. */
void kube_invalid_json(struct kube_causes *c, const char *field, struct json_object *value,
                       const char *detail);
void kube_duplicate(struct kube_causes *c, const char *field, const char *shown_value);
/* `allowed` in the order in which it is shown; ends with NULL. */
void kube_not_supported(struct kube_causes *c, const char *field, const char *value,
                        const char *const *allowed);
bool kube_has_causes(const struct kube_causes *c);
void kube_causes_done(struct kube_causes *c);
char *kube_quoted(struct arena *a, const char *s);

/* 422 Invalid, or NULL when there is no cause.  `resource_name` asks for "services" in place of
 * "Service".  Empties `c`. */
struct json_object *kube_status_invalid(const struct kube_kind *kind, const char *name,
                                        struct kube_causes *c, bool resource_name);

#endif
