/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h: YAML documents as JSON trees, for kubeconfig, manifests and cloud configs.
 *
 * Reads the YAML that Kubernetes tools read (sigs.k8s.io/yaml): JSON is YAML; plain scalars become null,
 * bool, number or string by the YAML 1.1 core rules that go-yaml uses (yes/no/on/off are bool); quoted ones
 * stay strings; mapping keys become strings; anchors and aliases are followed within the caps; merge keys
 * (<<) are honoured; duplicate keys are refused.  Caps: 16 MiB, depth 64, 1,000,000 nodes after aliases.
 * Errors are ERR_INVALID with "line L: …". */
#ifndef TRIMTAB_BASE_YAML_H
#define TRIMTAB_BASE_YAML_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <json-c/json.h>
#include <stddef.h>

/* All documents of a stream ("---" between them); empty ones are left out.  Trees live in the arena. */
int yaml_parse_all(struct arena *a, const char *text, size_t n, struct json_object ***ret_docs,
                   size_t *ret_n, struct err *err) _warn_unused_;
/* Exactly one document (none gives *ret = NULL and success). */
int yaml_parse(struct arena *a, const char *text, size_t n, struct json_object **ret,
               struct err *err) _warn_unused_;

#endif
