/* SPDX-License-Identifier: Apache-2.0 */
/* name_rules.c: names of a cloud's things against its published pattern (name_rules.h).
 *
 * Owns the matching and the sentence; which pattern belongs to which field stands in each
 * provider's *_name_rules.c.  Pure. */
#include "common/lb/name_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "common/base/utf8.h"
#include "common/lb/findings.h"
#include "common/lb/mark_rules.h"
#include "common/lb/service_rules.h"
#include "common/net/url_build.h"

static bool in_set(const char *set, uint32_t c)
{
    for (const char *s = set; *s != '\0'; s++) {
        unsigned char from = (unsigned char)s[0];
        bool range = s[1] == '-' && s[2] != '\0';
        unsigned char to = range ? (unsigned char)s[2] : from;
        if (c >= from && c <= to) {
            return true;
        }
        s += range ? 2 : 0;
    }
    return false;
}

static bool may_be(const struct name_rule *r, const char *set, uint32_t c)
{
    bool letter = r->letters && c >= 0x80 && (unicode_is_letter(c) || unicode_is_digit(c));
    return letter || in_set(set, c);
}

bool name_rule_holds(const struct name_rule *r, const char *text)
{
    size_t left = strlen(str_nonnull(text));
    size_t n = 0;
    for (const char *p = text; left > 0; n++) {
        uint32_t c;
        size_t len = utf8_decode(p, left, &c);
        if (len == 0 || n == r->max || !may_be(r, n == 0 ? r->first : r->inner, c) ||
            (len == left && !may_be(r, r->last, c))) {
            return false;
        }
        p += len;
        left -= len;
    }
    return n >= r->min && n > 0;
}

enum name_state svc_annotation_state(const struct tt_service *s, const struct tt_service *previous,
                                     const char *key)
{
    bool edited =
        previous != NULL && !str_eq(svc_annotation(previous, key), svc_annotation(s, key));
    return lb_service_stands(s) && !edited ? NAME_STANDS : NAME_IS_NEW;
}

int name_check(const struct name_rule *r, const char *field, const char *text,
               enum name_state state, struct err *err)
{
    if (name_rule_holds(r, text)) {
        return ERR_OK;
    }
    const char *why = url_segment_fault(text);
    if (state == NAME_STANDS && why == NULL) {
        return ERR_OK;
    }
    return err_set(err, ERR_INVALID, "%s: \"%.253s\": want %s (%s)%s%s", field, str_nonnull(text),
                   r->what, r->pattern, why == NULL ? "" : "; ", str_nonnull(why));
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int check_one(const struct name_fields *f, const struct name_seen *seen, struct err *err)
{
    const struct name_field *field = seen->field;
    if (field->word != NULL && str_eq_nocase(field->word, seen->name)) {
        return f->also == NULL ? ERR_OK : f->also(f->arg, seen, err);
    }
    int rc = field->rule == NULL
                 ? ERR_OK
                 : name_check(field->rule, seen->where, seen->name, seen->state, err);
    return rc == ERR_OK && f->also != NULL ? f->also(f->arg, seen, err) : rc;
}

/* The name in a piece of a field: of a pair its left side. */
static const char *name_in(struct arena *a, const struct name_field *field, const char *piece)
{
    const char *equal = strchr(piece, '=');
    if (field->separator == '=' && equal != NULL) {
        piece = arena_strndup(a, piece, (size_t)(equal - piece));
    } else if (field->separator == '=' && !field->lone) {
        piece = "";
    }
    return field->literal ? piece : str_trim_unicode(a, piece);
}

static int check_field(struct arena *a, const struct name_fields *f, struct name_seen *seen,
                       const char *value, struct err *err)
{
    size_t n = 1;
    char *whole[] = {arena_strdup(a, value)};
    char **pieces = whole;
    char separator = seen->field->separator;
    if (separator != '\0') {
        pieces = str_split(a, value, separator == ' ' ? ' ' : ',', &n);
    }
    for (size_t i = 0; i < n; i++) {
        seen->name = name_in(a, seen->field, pieces[i]);
        int rc = seen->name[0] == '\0' ? ERR_OK : check_one(f, seen, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

int names_check(struct arena *a, const struct name_fields *f, const struct tt_service *s,
                const struct tt_service *previous, struct err *err)
{
    bool made = mark_of(a, s, f->provider) == MARK_MADE;
    for (size_t i = 0; i < f->n; i++) {
        const struct name_field *field = &f->fields[i];
        const char *value = svc_annotation(s, field->key);
        if (str_is_empty(value) || (f->counts != NULL && !f->counts(f->arg, field, s))) {
            continue;
        }
        struct name_seen seen = {.field = field,
                                 .where = arena_printf(a, "annotation %s", field->key),
                                 .state = made ? NAME_IS_NEW
                                               : svc_annotation_state(s, previous, field->key)};
        int rc = check_field(a, f, &seen, value, err);
        if (rc != ERR_OK) {
            return rc;
        }
    }
    return ERR_OK;
}

int name_not_allowed(const struct name_seen *seen, const char *name, const char *what,
                     const char *key, struct err *err)
{
    return err_set(err, ERR_INVALID, "%s: \"%.253s\": the cloud-config does not allow this %s (%s)",
                   seen->where, name, what, key);
}

bool name_list_allows(const struct name_list *l, const char *name, bool nocase)
{
    for (size_t i = 0; i < l->n; i++) {
        if (nocase ? str_eq_nocase(l->items[i], name) : str_eq(l->items[i], name)) {
            return true;
        }
    }
    return !l->has;
}
