/* SPDX-License-Identifier: Apache-2.0 */
/* aws_annotations.h: the annotations of a Service that AWS knows: one table, and readers of their
 * values.  Pure.
 *
 * Names are without their prefix (AWS_ANNOTATION).  Readers refuse with a text for the Service's
 * owner: which annotation, what it says, what is wanted.  Source: docs/spec/aws.md 8. */
#ifndef TRIMTAB_AWS_ANNOTATIONS_H
#define TRIMTAB_AWS_ANNOTATIONS_H

#include "common/lb/findings.h"
#include "providers/aws/model/aws_service.h"

/* On which kinds an annotation has an effect. */
#define AWS_ON_CLASSIC 1u
#define AWS_ON_NLB     2u

struct aws_annotation {
    const char *name;    /* without prefix */
    unsigned on;         /* AWS_ON_…; 0: it chooses the kind */
    const char *values;  /* for people */
    const char *initial; /* when absent */
    const char *effect;  /* one sentence */
    const char *invalid; /* what a wrong value does */
    const char *change;  /* what becomes of a load balancer that is there */
};
extern const struct aws_annotation aws_annotation_table[]; /* ends with name NULL */

/* Those that only aws-load-balancer-controller knows. */
struct aws_elsewhere {
    const char *name;
    const char *meaning;
};
extern const struct aws_elsewhere aws_elsewhere_table[]; /* ends with name NULL */

/* The value of an annotation by its name without prefix; NULL when absent. */
const char *aws_annotation(const struct tt_service *s, const char *name);
/* The same; NULL also when empty. */
const char *aws_annotation_filled(const struct tt_service *s, const char *name);

/* Pieces between commas, trimmed; with `keep_blank` empty ones count. */
struct aws_texts aws_pieces(struct arena *a, const char *text, bool keep_blank);
/* A decimal number with an optional sign; false if it is not one. */
bool aws_number(const char *text, int64_t *ret);
/* *ret stays as it is when the annotation is absent.  ERR_INVALID: empty, no number, less than
 * `min`, more than 32 bits. */
int aws_annotation_i32(const struct tt_service *s, const char *name, int32_t min, int32_t *ret,
                       struct err *err);
/* The words of Go's ParseBool; absent and empty leave *ret. */
int aws_annotation_bool(const struct tt_service *s, const char *name, bool *ret, struct err *err);
/* ERR_INVALID "annotation …: "value": want …". */
int aws_annotation_refuse(const struct tt_service *s, const char *name, const char *want,
                          struct err *err);

/* The keys of both tables, and those of programs for other clouds. */
const struct lb_annotation_keys *aws_annotation_keys(struct arena *a);
/* Annotations of the Service that have no effect: slips of known names, those of another controller
 * or another kind.  At most `most`; the number is returned. */
size_t aws_annotation_findings(struct arena *a, const struct tt_service *s, enum aws_kind kind,
                               struct aws_finding *ret, size_t most);
/* Those that have no effect beside what the Service says otherwise, and pieces of lists that are
 * left out; likewise.  (aws_idle_rules.c) */
size_t aws_idle_findings(struct arena *a, const struct aws_naming *naming,
                         const struct aws_service *s, struct aws_finding *ret, size_t most);
/* Those that the Service no longer names as it did, and whose effect stays; likewise.
 * (aws_idle_rules.c) */
size_t aws_kept_findings(struct arena *a, const struct aws_service *now,
                         const struct aws_service *before, struct aws_finding *ret, size_t most);

#endif
