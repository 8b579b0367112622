/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_manifest.c: the input of `trimtab plan`: manifests and files of Nodes, as they come from a
 * person.
 *
 * What holds for every input: a refusal and every fault name the file; a file without faults has a
 * Service; a manifest that is read has a name; what is completed has what the decoder insists on,
 * so that it decodes or is refused with a path. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "controller/cmd/cmd_manifest.h"
#include "controller/cmd/cmd_service_rules.h"
#include "controller/kube/store/object.h"

static void complete_and_decode(struct arena *a, const struct cmd_manifest *m,
                                struct json_object *live)
{
    struct err err = ERR_INIT;
    struct kube_object *object = NULL;
    const char *note = NULL;
    struct cmd_faults faults = {.a = a};
    FUZZ_CHECK(m->name != NULL && *m->name != '\0');
    struct json_object *whole = cmd_manifest_complete(a, m, live, &note);
    struct json_object *meta = json_member(whole, "metadata");
    FUZZ_CHECK(json_str(meta, "uid") != NULL || json_member(meta, "uid") != NULL);
    cmd_service_check(&faults, &m->origin, whole, live);
    if (kube_object_decode(KUBE_SERVICE, whole, &object, &err) == ERR_OK) {
        FUZZ_CHECK(object->service->name != NULL);
        kube_object_unref(object);
    } else {
        FUZZ_CHECK(*err.message != '\0');
    }
    json_object_put(whole);
}

FUZZ_TARGET(manifest, const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err err = ERR_INIT;
    struct cmd_manifests m = {.a = a};
    struct cmd_faults faults = {.a = a};
    struct json_object **nodes = NULL;
    size_t n = 0;
    int fd = memfd_create("manifest", 0);
    if (fd < 0 || size > 1 << 14 || write(fd, data, size) != (ssize_t)size) {
        arena_free(a);
        return fd < 0 ? 0 : close(fd);
    }
    const char *path = arena_printf(a, "/proc/self/fd/%d", fd);
    int rc = cmd_manifest_read(&m, path, false, &err);
    FUZZ_CHECK(rc == ERR_OK || strstr(err.message, path) != NULL);
    FUZZ_CHECK(rc != ERR_OK || m.n > 0 || cmd_faults_hard(&m.faults) > 0);
    for (size_t i = 0; i < m.faults.n; i++) {
        FUZZ_CHECK(str_has_prefix(m.faults.items[i].text, path));
    }
    bool fine = rc == ERR_OK && cmd_faults_hard(&m.faults) == 0;
    for (size_t i = 0; fine && i < m.n; i++) {
        complete_and_decode(a, &m.items[i], NULL);
        complete_and_decode(a, &m.items[i], m.items[0].object);
    }
    err_clear(&err);
    rc = cmd_nodes_read(a, path, &faults, &nodes, &n, &err);
    FUZZ_CHECK(rc == ERR_OK || *err.message != '\0');
    close(fd);
    arena_free(a);
    return 0;
}
