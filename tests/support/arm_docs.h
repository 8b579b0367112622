/* SPDX-License-Identifier: Apache-2.0 */
/* arm_docs.h: documents of Azure in memory, for tests of stages and planners: a list per kind, and
 * what a write does.
 *
 * It refuses what Azure refuses where order matters: a write with an old etag, a public IP on two
 * frontends, rules that point to nothing, deleting an address that is in use.  It gives addresses,
 * etags and the IDs of elements, and keeps what one document says of another: the frontend of a
 * public IP, the members of a pool.  No HTTP, no waiting, no validation beside that: the simulator
 * (sim/arm) has these.  One thread; everything lives in the arena. */
#ifndef TRIMTAB_TESTS_ARM_DOCS_H
#define TRIMTAB_TESTS_ARM_DOCS_H

#include "providers/azure/azure_provider.h"

struct arm_docs {
    struct arena *a;
    struct json_object *lists[AZURE_KIND_MAX];
    unsigned etags;     /* given so far */
    unsigned addresses; /* given so far, public and private */
};

void arm_docs_init(struct arm_docs *c, struct arena *a);
/* The document of that ID, whatever the case; or NULL. */
struct json_object *arm_docs_find(const struct arm_docs *c, enum azure_kind k, const char *id);
/* Makes, replaces or (NULL) removes a document, as it is. */
void arm_docs_put(struct arm_docs *c, enum azure_kind k, const char *id, struct json_object *doc);
/* The next etag. */
void arm_docs_stamp(struct arm_docs *c, struct json_object *doc);
/* Carries out one PUT or DELETE.  ERR_CONFLICT: the etag is old; ERR_IN_USE; ERR_INVALID: it points
 * to what is not there.  *ret_answer is the document as it is then, NULL after a DELETE. */
int arm_docs_write(struct arm_docs *c, const struct azure_call_spec *spec,
                   struct json_object **ret_answer, struct err *err);
/* The provider's snapshot becomes what the cloud is now. */
void arm_docs_show(const struct arm_docs *c, struct azure_provider *p);

#endif
