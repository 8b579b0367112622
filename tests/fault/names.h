/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: names that differ from run to run, made equal.
 *
 * A load balancer is called "a" + its Service's uid, the shared check after the cluster's id, and
 * addresses come as they come.  Two runs are compared by texts in which these stand as
 * "{default/web}", "{cluster}" and "{address of default/web}".  Thread-safe: the simulator's thread
 * learns while the test's thread reads. */
#ifndef TRIMTAB_TESTS_FAULT_NAMES_H
#define TRIMTAB_TESTS_FAULT_NAMES_H

#include "common/base/arena.h"
#include "common/data/json.h"

struct names;

struct names *names_new(void) _warn_unused_;
void names_free(struct names *n);
/* "a" + uid without dashes, 32 characters. */
const char *names_lb(struct arena *a, const char *uid);
/* From a Service (a tree with metadata). */
void names_learn(struct names *n, struct json_object *service);
/* Owner of a load balancer: "default/web", in the arena; NULL: none. */
const char *names_owner(struct names *n, struct arena *a, const char *lb_name);
/* `text` stands for something else: an address, the cluster's id. */
void names_alias(struct names *n, const char *text, const char *label);
/* The text with all that is known replaced; only whole words are. */
char *names_replace(struct names *n, struct arena *a, const char *text);

#endif
