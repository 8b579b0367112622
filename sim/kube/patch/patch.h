/* SPDX-License-Identifier: Apache-2.0 */
/* patch.h: the four ways in which PATCH changes an object.  Pure: trees in, a new tree out.
 *
 * Strategic merge knows from the type tables which lists are united and by which member; merge
 * patch is RFC 7386; JSON patch is RFC 6902; apply is the merge part of server-side apply (no field
 * owners are kept, so what a later apply leaves out stays).  Each returns NULL and *ret (a new
 * reference), or a refusal.  Inputs are not changed.  The parser limits depth and size of
 * inputs. */
#ifndef TRIMTAB_SIM_KUBE_PATCH_H
#define TRIMTAB_SIM_KUBE_PATCH_H

#include "common/base/arena.h"
#include "sim/kube/types.h"

#include <json-c/json.h>

struct json_object *kube_patch_strategic(struct arena *a, const struct kube_type *type,
                                         struct json_object *doc, struct json_object *patch,
                                         struct json_object **ret);
struct json_object *kube_patch_merge(struct json_object *doc, struct json_object *patch,
                                     struct json_object **ret);
struct json_object *kube_patch_json(struct arena *a, struct json_object *doc,
                                    struct json_object *patch, struct json_object **ret);
struct json_object *kube_patch_apply(struct arena *a, const struct kube_type *type,
                                     struct json_object *doc, struct json_object *config,
                                     struct json_object **ret);

#endif
