/* SPDX-License-Identifier: Apache-2.0 */
/* former_rules.c: see former_rules.h.  Pure. */
#include "common/lb/former_rules.h"

#include "common/base/str.h"
#include "common/base/timefmt.h"
#include "common/data/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX   "put back if the replacement is refused: "
#define TEXT_MAX 16384 /* bytes; a condition may have twice as many */
#define PORT_MAX 65535
#define SPARED   " stands, and is not taken down"

/* ---- writing --------------------------------------------------------------------------------- */
static struct json_object *port_json(const struct tt_port *p)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "name", p->name);
    json_add_str(o, "protocol", p->protocol);
    json_add_str(o, "appProtocol", p->app_protocol);
    json_add_int(o, "port", p->port);
    json_add_int(o, "nodePort", p->node_port);
    json_add_str(o, "targetName", p->target_name);
    json_add_int(o, "targetPort", p->target_port);
    return o;
}

char *former_text(struct arena *a, const struct svc_scope *wishes, const struct tt_service *s)
{
    _cleanup_(json_putp) struct json_object *o = json_object_new_object();
    struct json_object *ports = json_object_new_array();
    struct json_object *notes = json_object_new_object();
    for (uint32_t i = 0; i < s->n_ports; i++) {
        (void)json_object_array_add(ports, port_json(&s->ports[i]));
    }
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (svc_is_wish(wishes, s->annotations[i].key)) {
            json_add_str(notes, s->annotations[i].key, s->annotations[i].value);
        }
    }
    json_add(o, "ports", ports);
    json_add_str(o, "sessionAffinity", s->session_affinity);
    json_add_int(o, "affinityTimeoutSeconds", s->affinity_timeout_s);
    json_add_str(o, "loadBalancerIP", s->lb_ip);
    json_add_str(o, "externalTrafficPolicy", s->external_traffic_policy);
    json_add_int(o, "healthCheckNodePort", s->health_check_node_port);
    json_add(o, "annotations", notes);
    char *text = arena_printf(a, PREFIX "%s", json_text(a, o, JSON_COMPACT));
    return strlen(text) <= TEXT_MAX ? text : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */
static int cmp_kv(const void *x, const void *y)
{
    return strcmp(((const struct tt_kv *)x)->key, ((const struct tt_kv *)y)->key);
}

/* The wishes of `was` beside what else `now` is annotated with. */
static void set_annotations(struct arena *a, const struct svc_scope *wishes, struct tt_service *s,
                            const struct tt_kv *was, size_t n_was)
{
    struct tt_kv *all = ARENA_ARRAY(a, struct tt_kv, s->n_annotations + n_was + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_annotations; i++) {
        if (!svc_is_wish(wishes, s->annotations[i].key)) {
            all[n++] = s->annotations[i];
        }
    }
    for (size_t i = 0; i < n_was; i++) {
        if (svc_is_wish(wishes, was[i].key)) {
            all[n++] = was[i];
        }
    }
    qsort(all, n, sizeof *all, cmp_kv);
    s->annotations = all;
    s->n_annotations = n;
    s->has_annotations = s->has_annotations || n > 0;
}

const struct tt_service *former_like(struct arena *a, const struct svc_scope *wishes,
                                     const struct tt_service *now, const struct tt_service *was)
{
    struct tt_service *s = arena_memdup(a, now, sizeof *now);
    s->ports = was->ports;
    s->n_ports = was->n_ports;
    s->session_affinity = was->session_affinity;
    s->affinity_timeout_s = was->affinity_timeout_s;
    s->lb_ip = was->lb_ip;
    s->external_traffic_policy = was->external_traffic_policy;
    s->health_check_node_port = was->health_check_node_port;
    set_annotations(a, wishes, s, was->annotations, was->n_annotations);
    return s;
}

static bool is_protocol(const char *text)
{
    return str_eq(text, "TCP") || str_eq(text, "UDP") || str_eq(text, "SCTP");
}

static bool read_port(struct arena *a, struct json_object *o, struct tt_port *ret)
{
    int64_t port = json_int(o, "port", 0);
    int64_t node_port = json_int(o, "nodePort", 0);
    int64_t target_port = json_int(o, "targetPort", 0);
    const char *protocol = json_str(o, "protocol");
    if (port < 1 || port > PORT_MAX || node_port < 0 || node_port > PORT_MAX || target_port < 0 ||
        target_port > PORT_MAX || !is_protocol(protocol)) {
        return false;
    }
    *ret = (struct tt_port){
        .name = arena_strdup(a, str_nonnull(json_str(o, "name"))),
        .protocol = arena_strdup(a, protocol),
        .app_protocol = arena_strdup(a, json_str(o, "appProtocol")),
        .target_name = arena_strdup(a, json_str(o, "targetName")),
        .target_port = (int32_t)target_port,
        .port = (int32_t)port,
        .node_port = (int32_t)node_port,
    };
    return true;
}

static bool read_ports(struct arena *a, struct json_object *list, struct tt_service *s)
{
    size_t n = json_len(list);
    struct tt_port *ports = ARENA_ARRAY(a, struct tt_port, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!read_port(a, json_object_array_get_idx(list, i), &ports[i])) {
            return false;
        }
    }
    s->ports = ports;
    s->n_ports = (uint32_t)n;
    return n > 0;
}

static const struct tt_kv *read_notes(struct arena *a, struct json_object *o, size_t *ret_n)
{
    size_t n = o == NULL ? 0 : (size_t)json_object_object_length(o);
    struct tt_kv *notes = ARENA_ARRAY(a, struct tt_kv, n + 1);
    *ret_n = 0;
    if (o == NULL) {
        return notes;
    }
    json_object_object_foreach(o, key, value)
    {
        const char *text = json_str(o, key);
        (void)value;
        if (text != NULL) {
            notes[(*ret_n)++] = (struct tt_kv){arena_strdup(a, key), arena_strdup(a, text)};
        }
    }
    return notes;
}

/* The object in the message; NULL: there is none.  In the arena. */
static struct json_object *message_json(struct arena *a, const char *message)
{
    struct json_object *o = NULL;
    const char *text = str_has_prefix(str_nonnull(message), PREFIX) ? message + strlen(PREFIX) : "";
    bool read = *text != '\0' && strlen(text) <= TEXT_MAX &&
                json_parse_arena(a, text, strlen(text), NULL, &o, NULL) == ERR_OK &&
                json_object_is_type(o, json_type_object);
    return read ? o : NULL;
}

const struct tt_service *former_read(struct arena *a, const struct svc_scope *wishes,
                                     const struct tt_service *now, const char *message)
{
    struct json_object *o = message_json(a, message);
    struct tt_service was = {0};
    size_t n_notes = 0;
    if (o == NULL || !read_ports(a, json_member(o, "ports"), &was)) {
        return NULL;
    }
    struct json_object *notes = json_member(o, "annotations");
    was.annotations =
        read_notes(a, json_object_is_type(notes, json_type_object) ? notes : NULL, &n_notes);
    was.n_annotations = (uint32_t)n_notes;
    was.session_affinity = arena_strdup(a, str_nonnull(json_str(o, "sessionAffinity")));
    was.affinity_timeout_s = (int32_t)json_int(o, "affinityTimeoutSeconds", -1);
    was.lb_ip = arena_strdup(a, str_nonnull(json_str(o, "loadBalancerIP")));
    was.external_traffic_policy =
        arena_strdup(a, str_nonnull(json_str(o, "externalTrafficPolicy")));
    was.health_check_node_port = (int32_t)json_int(o, "healthCheckNodePort", 0);
    return former_like(a, wishes, now, &was);
}

/* ---- refusals -------------------------------------------------------------------------------- */
char *former_text_refused(struct arena *a, const char *text, const struct former_refusal *r)
{
    struct json_object *o = message_json(a, text == NULL ? PREFIX "{}" : text);
    if (o == NULL) {
        return NULL;
    }
    struct json_object *refused = json_object_new_object();
    char until[32];
    time_format_rfc3339(r->until_us, until);
    json_add_str(refused, "wish", arena_printf(a, "%016" PRIx64, r->wish));
    json_add_str(refused, "until", until);
    json_add_int(refused, "tries", r->tries);
    json_add_str(refused, "code", err_code_name(r->code));
    json_add_str(refused, "why", str_nonnull(r->why));
    json_object_object_del(o, "refused");
    json_add(o, "refused", refused);
    char *all = arena_printf(a, PREFIX "%s", json_text(a, o, JSON_COMPACT));
    return strlen(all) <= TEXT_MAX ? all : NULL;
}

bool former_refusal_read(struct arena *a, const char *message, struct former_refusal *ret)
{
    struct json_object *o = json_member(message_json(a, message), "refused");
    int64_t tries = json_int(o, "tries", 0);
    *ret = (struct former_refusal){
        .wish = strtoull(str_nonnull(json_str(o, "wish")), NULL, 16),
        .tries = tries < 1            ? 1
                 : tries > UINT16_MAX ? UINT16_MAX
                                      : (unsigned)tries,
        .code = err_code_parse(json_str(o, "code")),
        .why = arena_strdup(a, str_nonnull(json_str(o, "why"))),
    };
    return ret->wish != 0 && ret->code > ERR_OK &&
           time_parse_rfc3339(str_nonnull(json_str(o, "until")), &ret->until_us);
}

int lb_spare(struct err *err, const char *kind, const char *name)
{
    return err_set(err, ERR_IN_USE, "%s %s" SPARED, kind, name);
}

bool lb_is_spared(const struct err *err)
{
    return err->code == ERR_IN_USE && strstr(err->message, SPARED) != NULL;
}
