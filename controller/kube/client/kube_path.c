/* SPDX-License-Identifier: Apache-2.0 */
/* kube_path.c: paths of resources, from names that cannot lead elsewhere.
 *
 * Source: controller.md §4.5, vector 195.  Declared in client.h.  Pure. */
#include <string.h>

#include "common/net/url_build.h"
#include "controller/kube/client/client.h"

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

int kube_path(struct arena *a, const char *api_version, const char *ns, const char *resource,
              const char *name, const char *sub, char **ret, struct err *err)
{
    struct url_build b;
    const char *path = NULL;
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
    url_build_begin(&b, slash == NULL ? "/api" : "/apis");
    url_build_path(&b, "API version", api_version);
    if (ns != NULL) {
        url_build_path(&b, "path", "namespaces");
        url_build_segment(&b, "namespace", ns);
    }
    url_build_segment(&b, "resource", resource);
    if (name != NULL) {
        url_build_segment(&b, "name", name);
    }
    if (sub != NULL) {
        url_build_segment(&b, "subresource", sub);
    }
    rc = url_build_end(&b, a, &path, err);
    if (rc == ERR_OK) {
        *ret = arena_strdup(a, path);
    }
    return rc;
}
