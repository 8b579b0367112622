/* SPDX-License-Identifier: Apache-2.0 */
/* event_body.c: the two request bodies of the event writer (see event_body.h). */
#include "controller/kube/events/event_body.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/str.h"

#define SUBDOMAIN_MAX 253
#define USUAL_BODY    900 /* bytes; a buffer that grows to it would move several times */

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

/* ---- members of a JSON object, in the order in which they are added -------------------------- */

/* Names and texts are written as they come, without a tree: thousands of Services that are loaded
 * together have as many events. */
static void add_name(struct str_buf *b, const char *name)
{
    str_append(b, b->len > 0 && b->data[b->len - 1] != '{' ? ",\"" : "\"");
    str_append(b, name);
    str_append(b, "\":");
}

static void add_text(struct str_buf *b, const char *name, const char *text)
{
    if (text != NULL) { /* else the member is absent */
        add_name(b, name);
        str_append_json_quoted(b, text);
    }
}

static void add_time(struct str_buf *b, const char *name, int64_t wall_us)
{
    char text[32];
    time_format_rfc3339(wall_us, text);
    add_text(b, name, text);
}

static void add_count(struct str_buf *b, int count)
{
    add_name(b, "count");
    str_appendf(b, "%d", count);
}

static void add_message(struct str_buf *b, const char *message)
{
    _cleanup_(str_buf_done) struct str_buf clean = STR_BUF_INIT;
    str_append_clean(&clean, message, STR_BREAKS_BLANK); /* people read it on terminals */
    size_t n = event_text_cut(str_buf_text(&clean), EVENT_MESSAGE_MAX);
    add_name(b, "message");
    str_append_json_quoted_n(b, str_buf_text(&clean), n);
}

static void add_involved(struct str_buf *b, const struct event_input *in,
                         const char *resource_version)
{
    add_name(b, "involvedObject");
    str_append_c(b, '{');
    add_text(b, "kind", in->kind);
    add_text(b, "namespace", in->ns);
    add_text(b, "name", in->name);
    add_text(b, "uid", in->uid);
    add_text(b, "apiVersion", in->api_version);
    add_text(b, "resourceVersion", resource_version);
    str_append_c(b, '}');
}

char *event_body_create(struct arena *a, const struct event_input *in, const char *resource_version,
                        const struct event_verdict *v, const char *name, int64_t wall_us)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_buf_reserve(&b, USUAL_BODY);
    str_append(&b, "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{");
    add_text(&b, "name", name);
    add_text(&b, "namespace", str_or(in->ns, "default"));
    str_append_c(&b, '}');
    add_involved(&b, in, resource_version);
    add_text(&b, "reason", in->reason);
    add_message(&b, v->message);
    add_name(&b, "source");
    str_append_c(&b, '{');
    add_text(&b, "component", in->component);
    str_append_c(&b, '}');
    add_time(&b, "firstTimestamp", v->first_us);
    add_time(&b, "lastTimestamp", wall_us);
    add_count(&b, v->count);
    add_text(&b, "type", in->type);
    str_append(&b, ",\"eventTime\":null");
    add_text(&b, "reportingComponent", v->aggregate ? "" : in->component);
    add_text(&b, "reportingInstance", "");
    str_append_c(&b, '}');
    return str_buf_to_arena(&b, a);
}

char *event_body_patch(struct arena *a, const struct event_verdict *v, int64_t wall_us)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    str_append_c(&b, '{');
    add_count(&b, v->count);
    add_time(&b, "lastTimestamp", wall_us);
    add_message(&b, v->message);
    str_append_c(&b, '}');
    return str_buf_to_arena(&b, a);
}
