/* SPDX-License-Identifier: Apache-2.0 */
/* azure_pip_edits.c: see azure_pip_edits.h. */
#include "providers/azure/azure_pip_edits.h"
#include "common/base/map.h"
#include "common/base/str.h"
#include "providers/azure/azure_renew_rules.h"
#include "providers/azure/model/azure_doc.h"

static void put_map(void *arg)
{
    map_free(arg);
}

void azure_pip_edits_begin(struct azure_pip_edits *e, struct azure_sync *y)
{
    size_t most = y->pips.n + y->s->n_items * AZURE_FAMILIES + 1;
    *e = (struct azure_pip_edits){.y = y,
                                  .items = ARENA_ARRAY(y->s->a, struct azure_pip_edit, most),
                                  .by_id = map_new(NULL),
                                  .now = azure_pip_index_new(y->s->a, y->pips.items, y->pips.n)};
    arena_defer(y->s->a, put_map, e->by_id);
}

struct azure_pips azure_pip_edits_now(const struct azure_pip_edits *e)
{
    return (struct azure_pips){.index = e->now};
}

struct azure_pips azure_pip_edits_of(struct arena *a, const struct azure_pip_edits *e,
                                     const struct azure_service *s, enum azure_family f)
{
    struct azure_pips all = azure_pip_edits_now(e);
    const char *const ips[] = {s->lb_ip[AZURE_IPV4], s->lb_ip[AZURE_IPV6], NULL};
    const char *const names[] = {s->pip_name[AZURE_IPV4], s->pip_name[AZURE_IPV6],
                                 azure_pip_name(a, &e->y->p->naming, s->in, f)};
    struct azure_pips mine = azure_pips_about(a, &all, s->key, ips, names, ARRAY_LEN(names));
    return azure_pips_of_family(a, &mine, f);
}

struct azure_pip_edit *azure_pip_edits_put(struct azure_pip_edits *e, const char *id,
                                           struct json_object *was, struct json_object *doc,
                                           const char *why, const char *key)
{
    struct arena *a = e->y->s->a;
    const char *lower = str_lower(a, id);
    struct azure_pip_edit *edit = map_get(e->by_id, lower);
    if (edit == NULL) {
        edit = &e->items[e->n++];
        *edit = (struct azure_pip_edit){.id = arena_strdup(a, id), .was = was};
        map_set(e->by_id, lower, edit);
    }
    edit->doc = doc;
    edit->why = why;
    azure_owners_add(a, &edit->owners, key);
    azure_pip_index_put(e->now, id, doc);
    return edit;
}

static void diff_of(struct lb_diff *d, const struct azure_pip_edit *edit)
{
    static const char *const members[] = {"tags", "sku", "zones"};
    static const char *const props[] = {"dnsSettings", "ipTags", "publicIPAddressVersion",
                                        "publicIPAllocationMethod", "publicIPPrefix"};
    for (size_t i = 0; edit->was != NULL && i < ARRAY_LEN(members); i++) {
        struct json_object *wanted = json_member(edit->doc, members[i]);
        if (wanted != NULL) {
            (void)lb_diff_json(d, members[i], json_member(edit->was, members[i]), wanted);
        }
    }
    for (size_t i = 0; edit->was != NULL && i < ARRAY_LEN(props); i++) {
        struct json_object *wanted = json_member(azure_props(edit->doc), props[i]);
        if (wanted != NULL) {
            (void)lb_diff_json(d, props[i], json_member(azure_props(edit->was), props[i]), wanted);
        }
    }
}

static const char *summary_of(struct arena *a, const struct azure_pip_edit *edit)
{
    const char *address = azure_pip_address(edit->was);
    if (address[0] != '\0') {
        return arena_strdup(a, address);
    }
    return edit->doc != NULL
               ? arena_printf(a, "%s, %s",
                              str_or(azure_prop_str(edit->doc, "publicIPAddressVersion"), "IPv4"),
                              str_or(json_str(json_member(edit->doc, "sku"), "name"), "Basic"))
               : NULL;
}

/* The same with another address: an address that was given up cannot be had again. */
static const struct lb_undo *undo_of(struct azure_sync *y, const struct azure_pip_edit *edit)
{
    const struct azure_undo_ask ask = {
        .verb = LB_CREATE,
        .kind = AZURE_PIPS,
        .id = edit->id,
        .doc = azure_renew_former(y->s->life, edit->was),
        .until_pip = edit->id,
    };
    return azure_undo(y, &ask);
}

void azure_pip_edits_emit(struct azure_pip_edits *e, struct lb_plan *plan)
{
    struct azure_sync *y = e->y;
    for (size_t i = 0; i < e->n; i++) {
        struct lb_diff diff;
        lb_diff_init(&diff, y->s->a);
        if (e->items[i].doc != NULL) {
            diff_of(&diff, &e->items[i]);
        }
        bool anew = e->makes_anew && e->items[i].doc == NULL;
        const struct azure_emit op = {
            .kind = AZURE_PIPS,
            .id = e->items[i].id,
            .was = e->items[i].was,
            .doc = e->items[i].doc,
            .why = e->items[i].why,
            .summary = summary_of(y->s->a, &e->items[i]),
            .owners = &e->items[i].owners,
            .diff = &diff,
            .shared = e->items[i].owners.n > 1,
            .beside = i > 0, /* the first begins a wave: what it needs is done */
            .tolerate = e->items[i].doc == NULL && !anew ? LB_TOLERATE_IN_USE : 0,
            .undo = anew && !e->items[i].spared ? undo_of(y, &e->items[i]) : NULL,
        };
        (void)azure_emit(y, plan, &op);
    }
}
