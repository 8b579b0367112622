/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: what a write asks for beside its object: dryRun, fieldManager, fieldValidation,
 * propagation.  See options.c. */
#ifndef TRIMTAB_SIM_KUBE_OPTIONS_H
#define TRIMTAB_SIM_KUBE_OPTIONS_H

#include "sim/kube/kube.h"

/* Judges the parameters of a create, an update or (`apply`: server-side apply) a patch;
 * a refusal or NULL. */
struct json_object *kube_check_write_options(struct kube_request *r, bool apply);
/* The parameters and the body of a DELETE as one DeleteOptions (life of the request; NULL when
 * nothing is given); a refusal or NULL. */
struct json_object *kube_read_delete_options(struct kube_request *r, struct json_object **ret);

#endif
