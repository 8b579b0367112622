/* SPDX-License-Identifier: Apache-2.0 */
/* kube_path.c: paths of resources, from names that cannot lead elsewhere.
 *
 * Source: controller.md §4.5, vector 195.  Declared in client.h.  Pure. */
#include <string.h>

#include "common/net/url.h"
#include "controller/kube/client.h"

static int check_segment(const char *s, const char *what, struct err *err)
{
    if (s == NULL) {
        return ERR_OK;
    }
    if (s[0] == '\0') {
        return err_set(err, ERR_INVALID, "%s of a resource is empty", what);
    }
    if (str_eq(s, ".") || str_eq(s, "..") || strpbrk(s, "/%") != NULL) {
        return err_set(err, ERR_INVALID,
                       "%s \"%.253s\" cannot be part of a path: it may not be '.' or '..' nor "
                       "contain '/' or '%%'",
                       what, s);
    }
    return ERR_OK;
}

static void append(struct str_buf *b, const char *segment)
{
    str_append_c(b, '/');
    url_append_path_escaped(b, segment);
}

int kube_path(struct arena *a, const char *api_version, const char *ns, const char *resource,
              const char *name, const char *sub, char **ret, struct err *err)
{
    struct str_buf b _cleanup_(str_buf_done) = STR_BUF_INIT;
    const char *slash = strchr(api_version, '/');
    int rc = check_segment(ns, "namespace", err);
    if (rc == ERR_OK) {
        rc = check_segment(resource, "resource", err);
    }
    if (rc == ERR_OK) {
        rc = check_segment(name, "name", err);
    }
    if (rc == ERR_OK) {
        rc = check_segment(sub, "subresource", err);
    }
    if (rc != ERR_OK) {
        return rc;
    }
    str_appendf(&b, "%s/%s", slash == NULL ? "/api" : "/apis", api_version);
    if (ns != NULL) {
        str_append(&b, "/namespaces");
        append(&b, ns);
    }
    append(&b, resource);
    if (name != NULL) {
        append(&b, name);
    }
    if (sub != NULL) {
        append(&b, sub);
    }
    *ret = str_buf_to_arena(&b, a);
    return ERR_OK;
}
