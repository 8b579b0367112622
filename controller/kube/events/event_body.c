/* SPDX-License-Identifier: Apache-2.0 */
/* event_body.c: the two request bodies of the event writer (see event_body.h). */
#include "controller/kube/events/event_body.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/data/json.h"

#define SUBDOMAIN_MAX 253

static bool is_subdomain(const char *s)
{
    size_t n = strlen(s);
    if (n == 0 || n > SUBDOMAIN_MAX) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        bool alnum = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');
        bool inside = i > 0 && i + 1 < n && s[i - 1] != '.' && s[i + 1] != '.';
        if (!alnum && !(inside && (s[i] == '-' || s[i] == '.'))) {
            return false;
        }
    }
    return true;
}

char *event_name(struct arena *a, const char *object, int64_t wall_ns, const char *uuid)
{
    char *name = arena_printf(a, "%s.%llx", object, (unsigned long long)wall_ns);
    return is_subdomain(name) ? name : arena_strdup(a, uuid);
}

size_t event_text_cut(const char *s, size_t max)
{
    size_t n = strnlen(s, max + 1);
    if (n <= max) {
        return n;
    }
    n = max;
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) {
        n--; /* the byte behind the cut continues a character */
    }
    return n;
}

static void add_time(struct json_object *o, const char *name, int64_t wall_us)
{
    char text[32];
    time_format_rfc3339(wall_us, text);
    json_add_str(o, name, text);
}

static void add_message(struct json_object *o, const char *message)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_clean(&b, message, STR_BREAKS_BLANK); /* people read it on terminals */
    size_t n = event_text_cut(str_buf_text(&b), EVENT_MESSAGE_MAX);
    json_add(o, "message", json_object_new_string_len(str_buf_text(&b), (int)n));
}

static struct json_object *involved(const struct event_input *in, const char *resource_version)
{
    struct json_object *o = json_object_new_object();
    json_add_str(o, "kind", in->kind);
    json_add_str(o, "namespace", in->ns);
    json_add_str(o, "name", in->name);
    json_add_str(o, "uid", in->uid);
    json_add_str(o, "apiVersion", in->api_version);
    json_add_str(o, "resourceVersion", resource_version);
    return o;
}

char *event_body_create(struct arena *a, const struct event_input *in, const char *resource_version,
                        const struct event_verdict *v, const char *name, int64_t wall_us)
{
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    struct json_object *meta = json_object_new_object();
    struct json_object *source = json_object_new_object();
    json_add_str(o, "kind", "Event");
    json_add_str(o, "apiVersion", "v1");
    json_add_str(meta, "name", name);
    json_add_str(meta, "namespace", str_or(in->ns, "default"));
    json_add(o, "metadata", meta);
    json_add(o, "involvedObject", involved(in, resource_version));
    json_add_str(o, "reason", in->reason);
    add_message(o, v->message);
    json_add_str(source, "component", in->component);
    json_add(o, "source", source);
    add_time(o, "firstTimestamp", v->first_us);
    add_time(o, "lastTimestamp", wall_us);
    json_add_int(o, "count", v->count);
    json_add_str(o, "type", in->type);
    json_add(o, "eventTime", NULL);
    json_add_str(o, "reportingComponent", v->aggregate ? "" : in->component);
    json_add_str(o, "reportingInstance", "");
    return json_text(a, o, JSON_COMPACT);
}

char *event_body_patch(struct arena *a, const struct event_verdict *v, int64_t wall_us)
{
    struct json_object *o _cleanup_(json_putp) = json_object_new_object();
    json_add_int(o, "count", v->count);
    add_time(o, "lastTimestamp", wall_us);
    add_message(o, v->message);
    return json_text(a, o, JSON_COMPACT);
}
