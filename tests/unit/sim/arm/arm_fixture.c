/* SPDX-License-Identifier: Apache-2.0 */
/* arm_fixture.c: see arm_fixture.h. */
#include "tests/unit/sim/arm/arm_fixture.h"

#include <stdlib.h>
#include <string.h>

struct fixture *arm_start(const char *name, const struct sim_config *cfg)
{
    static const char *const json[] = {"Content-Type: application/json", "Metadata: true", NULL};
    struct sim_config c = cfg ? *cfg : (struct sim_config){.nodes = 3};
    const char *logs = getenv("TRIMTAB_ARM_LOGS");
    char *log = logs && name ? xasprintf("%s/%s.jsonl", logs, name) : NULL;
    c.cloud = "azure";
    c.traffic_log = log;
    struct fixture *f = fixture_start(&c);
    free(log);
    f->headers = json;
    f->token = NULL;
    int status = fixture_call(
        f, "GET", "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=x", NULL);
    assert_int_equal(status, 200);
    f->token = arena_strdup(f->a, json_str(f->answer, "access_token"));
    return f;
}

int arm_call(struct fixture *f, const char *method, const char *id, const char *body)
{
    const char *version = strstr(id, "/Microsoft.Compute/") ? CPU_V : NET_V;
    bool has = strstr(id, "api-version=") != NULL;
    const char *path = has               ? id
                       : strchr(id, '?') ? arena_printf(f->a, "%s&%s", id, version + 1)
                                         : arena_printf(f->a, "%s%s", id, version);
    return fixture_call(f, method, path, body);
}

int arm_call_if(struct fixture *f, const char *method, const char *id, const char *body,
                const char *etag)
{
    const char *const *before = f->headers;
    const char *headers[] = {"Content-Type: application/json",
                             arena_printf(f->a, "If-Match: %s", etag), NULL};
    f->headers = headers;
    int status = arm_call(f, method, id, body);
    f->headers = before;
    return status;
}

const char *arm_code(struct fixture *f)
{
    return fixture_text(f, "error.code");
}

void arm_expect(struct fixture *f, const char *what, int got, int want, const char *code)
{
    if (got != want || (code && !str_eq(arm_code(f), code))) {
        fail_msg("%s: got %d %s, want %d %s: %s", what, got, arm_code(f), want, str_nonnull(code),
                 f->text);
    }
}

void arm_check_refusals(struct fixture *f, const struct arm_row *rows, size_t n)
{
    fixture_must(f, "GET", "/sim/state", NULL);
    const char *before = arena_strdup(f->a, f->text);
    for (size_t i = 0; i < n; i++) {
        const struct arm_row *r = &rows[i];
        int status = arm_call(f, r->method, r->id, r->body);
        arm_expect(f, r->what, status, r->status, r->code);
        if (r->text && !strstr(f->text, r->text)) {
            fail_msg("%s: \"%s\" is not in %s", r->what, r->text, f->text);
        }
    }
    fixture_must(f, "GET", "/sim/state", NULL);
    assert_string_equal(f->text, before);
}

void arm_must(struct fixture *f, const char *method, const char *id, const char *body)
{
    int status = arm_call(f, method, id, body);
    arm_expect(f, arena_printf(f->a, "%s %s", method, id), status == 201 ? 200 : status, 200, NULL);
}

const char *arm_etag(struct fixture *f, const char *id)
{
    arm_must(f, "GET", id, NULL);
    return arena_strdup(f->a, fixture_text(f, "etag"));
}

static struct json_object *find(struct fixture *f, const char *path)
{
    size_t n = 0;
    char **parts = str_split(f->a, path, '.', &n);
    struct json_object *o = f->answer;
    for (size_t i = 0; i < n; i++) {
        int64_t index;
        o = json_object_is_type(o, json_type_array)
                ? (str_to_i64(parts[i], &index) && index < (int64_t)json_len(o)
                       ? json_object_array_get_idx(o, (size_t)index)
                       : NULL)
                : json_member(o, parts[i]);
    }
    return o;
}

const char *arm_text(struct fixture *f, const char *path)
{
    struct json_object *o = find(f, path);
    return o ? arena_strdup(f->a, json_object_get_string(o)) : "";
}

size_t arm_len(struct fixture *f, const char *path)
{
    return json_len(find(f, path));
}

void arm_settings(struct fixture *f, const char *json)
{
    fixture_must(f, "GET", "/sim/state", NULL);
    struct json_object *world = json_copy(f->answer), *sim = json_object_new_object(), *o = NULL;
    assert_int_equal(json_parse(json, strlen(json), NULL, &o, NULL), ERR_OK);
    json_add(sim, "azure", o);
    json_add(world, "sim", sim);
    const char *text = json_text(f->a, world, JSON_COMPACT);
    json_object_put(world);
    fixture_must(f, "PUT", "/sim/state", text);
}

void arm_make_balancer(struct fixture *f)
{
    arm_must(f, "PUT", PIP, PIP_BODY);
    arm_must(f, "PUT", LB, LB_BODY);
}

void arm_join_pool(struct fixture *f)
{
    arm_must(f, "PUT", VMSS "/virtualMachines/0",
             "{\"location\":\"eastus\",\"properties\":{\"networkProfileConfiguration\":{"
             "\"networkInterfaceConfigurations\":[{\"name\":\"nic\",\"properties\":{\"primary\":"
             "true,\"ipConfigurations\":[{\"name\":\"ipconfig1\",\"properties\":{\"primary\":true,"
             "\"privateIPAddressVersion\":\"IPv4\",\"subnet\":" ID(
                 SUBNET) ",\"loadBalancerBackendAddressPools\":[" ID(POOL) "]}}]}}]}}}");
}
