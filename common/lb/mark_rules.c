/* SPDX-License-Identifier: Apache-2.0 */
/* mark_rules.c: see mark_rules.h.  Pure. */
#include "common/lb/mark_rules.h"

#include "common/base/str.h"
#include "common/base/strset.h"
#include "common/lb/service_rules.h"

#include <string.h>

#define EDITED " edited"

static const char *addresses(struct arena *a, const struct tt_ingress *ingress, size_t n)
{
    const char **texts = ARENA_ARRAY(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        texts[i] = str_or(ingress[i].ip, str_nonnull(ingress[i].hostname));
    }
    struct str_set all = str_set_make(a, texts, n);
    return str_set_text(a, &all, ",");
}

char *mark_text(struct arena *a, enum mark mark, const char *uid, const struct tt_ingress *ingress,
                size_t n)
{
    const char *word = mark == MARK_EDITED ? EDITED : "";
    return n == 0 ? arena_printf(a, "%s%s", uid, word)
                  : arena_printf(a, "%s %s%s", uid, addresses(a, ingress, n), word);
}

char *mark_by_text(struct arena *a, const char *by, const char *text)
{
    return arena_printf(a, "%s %s", by, text);
}

/* The text of a mark that is the Service's own; NULL: it has none. */
static const char *own_text(const struct tt_service *s)
{
    const char *text = svc_annotation(s, LB_MARK_ANNOTATION);
    if (text == NULL || str_is_empty(s->uid) || !str_has_prefix(text, s->uid)) {
        return NULL;
    }
    const char *rest = text + strlen(s->uid);
    return *rest == '\0' || *rest == ' ' ? text : NULL;
}

/* The length of the name before the repeated text; 0: it names no provider. */
static size_t writer_len(const struct tt_service *s)
{
    const char *text = own_text(s);
    const char *repeats = svc_annotation(s, LB_MARK_BY_ANNOTATION);
    if (text == NULL || repeats == NULL || strlen(repeats) < strlen(text) + 2) {
        return 0;
    }
    size_t n = strlen(repeats) - strlen(text) - 1;
    return repeats[n] == ' ' && str_eq(repeats + n + 1, text) ? n : 0;
}

bool mark_is_by(const struct tt_service *s, const char *by)
{
    size_t n = writer_len(s);
    const char *name = str_nonnull(by);
    return n > 0 && strlen(name) == n &&
           str_has_prefix(svc_annotation(s, LB_MARK_BY_ANNOTATION), name);
}

bool mark_is_by_another(const struct tt_service *s, const char *by)
{
    return writer_len(s) > 0 && !mark_is_by(s, by);
}

enum mark mark_of(struct arena *a, const struct tt_service *s, const char *by)
{
    const char *text = own_text(s);
    if (text == NULL || mark_is_by_another(s, by)) {
        return MARK_NONE;
    }
    const char *rest = text + strlen(s->uid);
    enum mark mark = str_has_suffix(rest, EDITED) ? MARK_EDITED : MARK_MADE;
    bool same = str_eq(text, mark_text(a, mark, s->uid, s->ingress, s->n_ingress));
    return s->n_ingress == 0 || same ? mark : MARK_NONE;
}

bool mark_has_addresses(const struct tt_service *s, const char *by)
{
    const char *text = own_text(s);
    if (text == NULL || mark_is_by_another(s, by)) {
        return false;
    }
    const char *rest = text + strlen(s->uid);
    return *rest != '\0' && !str_eq(rest, EDITED);
}

static bool has_flag(const struct tt_item *item, uint32_t flag)
{
    return TT_HAS(item, flags) && (item->flags & flag) != 0;
}

bool lb_puts_right(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_PUT_RIGHT);
}

bool lb_was_made(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_MADE);
}

bool lb_is_unproven(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_UNPROVEN);
}

bool lb_leads_back(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_FORMER);
}

bool lb_spares(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_SPARE);
}

bool lb_asks_again(const struct tt_item *item)
{
    return has_flag(item, TT_ITEM_ASKS);
}
