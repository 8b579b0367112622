/* SPDX-License-Identifier: Apache-2.0 */
/* world.h: states of cluster and cloud as the fault tests see them: what is foreign, what must be
 * there, what is equal.
 *
 * A *world* is what GET /sim/state gives, and of one cloud.  Foreign things are those of
 * tests/data/fault/foreign*.json:  another cluster's load balancer, users' addresses and firewalls,
 * a Service of another controller, and users' parts of documents that are shared with them. */
#ifndef TRIMTAB_TESTS_FAULT_WORLD_H
#define TRIMTAB_TESTS_FAULT_WORLD_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/data/json.h"
#include "tests/fault/names.h"

#include <stdbool.h>

/* Of which cloud it is: "gce" or "azure". */
const char *world_cloud(struct json_object *world);

/* Puts the foreign things into a world. */
int world_add_foreign(struct arena *a, struct json_object *world, struct err *err) _warn_unused_;
/* Takes a Service out of the world, if it is there: one that is foreign only while
 * its controller is another. */
void world_remove_service(struct json_object *world, const char *name);
/* They are as they were, byte by byte (who uses a user's address aside), if they were there.
 * ERR_CONFLICT says what is not. */
int world_check_foreign(struct arena *a, struct json_object *before, struct json_object *after,
                        struct err *err) _warn_unused_;

/* Every Service of ours has its whole load balancer and publishes its address, and nothing else of
 * ours is there.  `deny`: Google: deny firewalls belong to it; AWS: nothing of it is in the nodes'
 * group.  ERR_CONFLICT. */
int world_check_whole(struct arena *a, struct json_object *world, bool deny,
                      struct err *err) _warn_unused_;

/* The same Services without anything that was built for them: a new tree in the arena. */
int world_unbuilt(struct arena *a, struct json_object *world, struct json_object **ret,
                  struct err *err) _warn_unused_;

/* Google: beside the NEGs of each Service there is the object that names them.  ERR_CONFLICT. */
int world_gce_check_objects(struct json_object *world, struct err *err) _warn_unused_;
/* Google: takes out of a world what depends on what went before: how many are in a NEG, NEGs and
 * groups of zones that have no node any more, shared checks (they may outlive their Services), the
 * order of backends, the address that a rule was once asked to have. */
void world_gce_level(struct arena *a, struct json_object *world);

/* The part of a world that two runs must have in common, one line for each thing: the cloud, the
 * Services, names of ConfigMaps.  Learns names. */
char *world_text(struct arena *a, struct json_object *world, struct names *names);
/* The cloud and the Services as they are. */
char *world_exact_text(struct arena *a, struct json_object *world);
/* The first lines in which they differ, or NULL. */
char *world_difference(struct arena *a, const char *want, const char *got);

/* The first address or host name that a Service publishes, or NULL. */
const char *world_published_address(struct json_object *service);
/* Is that a Service that trimtab serves? */
bool world_service_is_ours(struct json_object *service);

#endif
