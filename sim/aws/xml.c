/* SPDX-License-Identifier: Apache-2.0 */
/* xml.c: answers and errors of the AWS Query APIs as XML.
 *
 * EC2 puts the members of an answer below <ActionResponse> and ends with <requestId>; the others
 * wrap them in <ActionResult> and add <ResponseMetadata>.  Names come from the type tables; the
 * order is that of the JSON.  Members unknown to the pack are omitted: worlds may contain those of
 * other emulators.  Pure.  Source: docs/spec/aws.md §3.2, §3.3. */
#include "sim/aws/schema.h"

#include <string.h>

static void append_value(struct str_buf *b, int type, const char *item, struct json_object *o);

void amz_append_xml_text(struct str_buf *b, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            str_append(b, "&amp;");
            break;
        case '<':
            str_append(b, "&lt;");
            break;
        case '>':
            str_append(b, "&gt;");
            break;
        case '"':
            str_append(b, "&quot;");
            break;
        case '\t':
        case '\n':
        case '\r':
            str_appendf(b, "&#x%X;", (unsigned)*c);
            break;
        default:
            /* XML 1.0 has no way to say the others. */
            str_append_c(b, (unsigned char)*c < 0x20 ? '?' : *c);
        }
    }
}

/* The JSON value has the type's kind; a number may be a text. */
static bool fits(const struct amz_type *t, struct json_object *o)
{
    enum json_type got = json_object_get_type(o);
    switch (t->kind) {
    case AMZ_OBJECT:
        return got == json_type_object;
    case AMZ_ARRAY:
        return got == json_type_array;
    case AMZ_INTEGER:
        return got == json_type_int;
    case AMZ_BOOLEAN:
        return got == json_type_boolean;
    case AMZ_STRING:
        return got == json_type_string;
    case AMZ_ANY:
        return got == json_type_string || got == json_type_int;
    }
    return false;
}

static void append_element(struct str_buf *b, const char *name, int type, const char *item,
                           struct json_object *o)
{
    size_t before = b->len;
    str_appendf(b, "<%s>", name);
    size_t inside = b->len;
    append_value(b, type, item, o);
    if (b->len > inside) {
        str_appendf(b, "</%s>", name);
        return;
    }
    b->len = before;
    str_appendf(b, "<%s/>", name);
}

static void append_members(struct str_buf *b, int type, struct json_object *o)
{
    json_object_object_foreach(o, key, value)
    {
        const struct amz_field *f = amz_field_find(type, key);
        if (f && value && fits(&amz_types[f->type], value)) {
            append_element(b, f->xml, f->type, f->item, value);
        }
    }
}

/* A value of an enumeration as the pack spells it. */
static const char *spelled(const struct amz_type *t, const char *text)
{
    for (const char *const *v = t->one_of; v && *v; v++) {
        if (str_eq_nocase(*v, text)) {
            return *v;
        }
    }
    return text;
}

static void append_value(struct str_buf *b, int type, const char *item, struct json_object *o)
{
    const struct amz_type *t = &amz_types[type];
    if (t->kind == AMZ_OBJECT) {
        append_members(b, type, o);
        return;
    }
    if (t->kind != AMZ_ARRAY) {
        amz_append_xml_text(b, spelled(t, json_object_get_string(o)));
        return;
    }
    for (size_t i = 0; i < json_len(o); i++) {
        struct json_object *one = json_object_array_get_idx(o, i);
        if (one && fits(&amz_types[t->item], one)) {
            append_element(b, item, t->item, NULL, one);
        }
    }
}

void amz_answer_xml(struct str_buf *b, const struct amz_op *op, struct json_object *out,
                    const char *request_id)
{
    const struct amz_dialect *d = &amz_dialects[op->service];
    str_appendf(b, "<%sResponse xmlns=\"%s\">", op->name, d->xml_space);
    if (!d->ec2) {
        str_appendf(b, "<%sResult>", op->name);
    }
    if (out && op->answer >= 0) {
        append_members(b, op->answer, out);
    }
    if (d->ec2) {
        bool reads = str_has_prefix(op->name, "Describe");
        if (!reads && !json_member(out, "Return")) {
            str_append(b, "<return>true</return>");
        }
        str_appendf(b, "<requestId>%s</requestId>", request_id);
    } else {
        str_appendf(b, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata>",
                    op->name, request_id);
    }
    str_appendf(b, "</%sResponse>", op->name);
}

void amz_error_xml(struct str_buf *b, enum amz_service service, int status, const char *code,
                   const char *message, const char *request_id)
{
    const struct amz_dialect *d = &amz_dialects[service];
    if (d->ec2) {
        str_append(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>");
    } else {
        str_appendf(b, "<ErrorResponse xmlns=\"%s\"><Error><Type>%s</Type>", d->xml_space,
                    status >= 500 ? "Receiver" : "Sender");
    }
    str_append(b, "<Code>");
    amz_append_xml_text(b, code);
    str_append(b, "</Code><Message>");
    amz_append_xml_text(b, message);
    str_appendf(b,
                d->ec2 ? "</Message></Error></Errors><RequestID>%s</RequestID></Response>"
                       : "</Message></Error><RequestId>%s</RequestId></ErrorResponse>",
                request_id);
}
