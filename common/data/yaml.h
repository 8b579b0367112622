/* SPDX-License-Identifier: Apache-2.0 */
/* yaml.h: YAML documents as JSON trees, for kubeconfig, manifests and cloud configs.
 *
 * Reads the YAML that Kubernetes tools read (sigs.k8s.io/yaml): JSON is YAML; plain scalars become
 * null, bool, number or string by the YAML 1.1 core rules that go-yaml uses (yes/no/on/off are
 * bool); quoted ones stay strings; mapping keys become strings; anchors and aliases are followed
 * within the caps; merge keys (<<) are honoured; duplicate keys are refused.  JSON documents may
 * follow one another without "---".  A byte order mark at the start is passed over.  Caps: 16 MiB,
 * depth 64, 1,000,000 nodes after aliases; of texts that are JSON four times the bytes and nodes.
 * Errors are ERR_INVALID with "line L: …", but for texts that are too long. */
#ifndef TRIMTAB_BASE_YAML_H
#define TRIMTAB_BASE_YAML_H

#include "common/base/arena.h"
#include "common/base/err.h"

#include <json-c/json.h>
#include <stddef.h>

/* All documents of a stream ("---" between them); empty ones are left out.  Trees live
 * in the arena. */
int yaml_parse_all(struct arena *a, const char *text, size_t n, struct json_object ***ret_docs,
                   size_t *ret_n, struct err *err) _warn_unused_;
/* A key that stands twice in one mapping. */
struct yaml_duplicate {
    size_t doc;  /* of those that are returned; 0 is the first */
    size_t line; /* of the later one; 1 is the first */
    const char *key;
};
#define YAML_DUPLICATES_MAX 16
/* A stream's documents, without empty ones, and the first YAML_DUPLICATES_MAX duplicate keys in
 * them.  All in the arena. */
struct yaml_docs {
    struct json_object **items;
    size_t n;
    struct yaml_duplicate *twice;
    size_t n_twice;
    size_t n_twice_more; /* that are not in the list */
};
/* As yaml_parse_all(), but duplicate keys are only noted, and the later value counts. */
int yaml_parse_lenient(struct arena *a, const char *text, size_t n, struct yaml_docs *ret,
                       struct err *err) _warn_unused_;
/* The line of the node that `path` (keys; decimal indices in sequences) leads to in the `doc`-th of
 * the documents that yaml_parse_all() returns: the line of its key, or the nearest one that is
 * written there when an alias or a merge supplies the rest.  0 for texts that are not YAML, and
 * documents that do not exist. */
size_t yaml_find_line(const char *text, size_t n, size_t doc, const char *const *path,
                      size_t n_path);
/* The lines of the first n items of the sequence under `key` of the document's root, in one pass; 0
 * for those that are not there. */
void yaml_item_lines(const char *text, size_t n_text, size_t doc, const char *key, size_t *lines,
                     size_t n);
/* Exactly one document (none gives *ret = NULL and success). */
int yaml_parse(struct arena *a, const char *text, size_t n, struct json_object **ret,
               struct err *err) _warn_unused_;

#endif
