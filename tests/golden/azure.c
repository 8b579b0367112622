/* SPDX-License-Identifier: Apache-2.0 */
/* azure.c: the stages of the Azure provider, asked with files: the plan, what carrying it out
 * writes, and what is left then.
 *
 * facts.json, all optional: config (keys of the cloud-config, over the ones below), verbs
 * ({"default/web": "delete"}; ensure, update, delete, or none: the Service is in the cluster, but
 * not in the batch), namespace (labels of every namespace), poison (a balancer or security group
 * that holds this text is refused by Azure).
 *
 * observed.json: the cloud as `plan --state` reads it, {ID: document}, over a security group "nsg"
 * without rules and a subnet "subnet" 10.0.0.0/16; null takes away.  service.json: one Service, or
 * a batch.
 *
 * plan.txt has four parts.  "plan": what `trimtab plan` shows, where the outputs of a stage are not
 * known to the next ones.  "carried out": each write of a sync under the stage that makes it, as
 * the difference between the document that was there and the body that is sent, every member
 * counted.  "not as planned": when these are not the writes of the plan.  "results": results and
 * events of Services.  "then": the plan of the next sync, which shall be empty. */
#include "tests/golden/azure_doc_lines.h"
#include "tests/golden/golden.h"
#include "tests/golden/golden_dump.h"
#include "tests/unit/azure/stage_rig.h"

#include "common/lb/plan_print.h"
#include "providers/azure/azure_state.h"
#include "providers/azure/model/azure_doc.h"
#include "tests/support/azure_config_text.h"

static const char base_config[] =
    "{\"subscriptionId\":\"subscription\",\"resourceGroup\":\"rg\",\"location\":\"westus\","
    "\"vnetName\":\"vnet\",\"subnetName\":\"subnet\",\"securityGroupName\":\"nsg\","
    "\"primaryScaleSetName\":\"vmss\",\"primaryAvailabilitySetName\":\"as-primary\","
    "\"useManagedIdentityExtension\":true}";

struct show {
    struct arena *a;
    struct str_buf *text;
    const struct golden_case *in;
    const char *stage; /* the last one that wrote */
    bool verbose;      /* plans with attributes */
};

/* ---- the case -------------------------------------------------------------------------------- */

static int read_config(struct show *s, struct stage_rig *r, struct err *err)
{
    struct json_object *all = pure_json(s->a, base_config);
    struct json_object *own = json_member(s->in->facts, "config");
    const struct azure_env env = {0};
    const struct azure_unknown_key *unknown;
    size_t n = 0;
    if (own != NULL) {
        json_object_object_foreach(own, key, value)
        {
            json_add(all, key, json_copy(value));
        }
    }
    const char *text = json_text(s->a, all, JSON_COMPACT);
    return azure_config_parse(r->a, text, strlen(text), &env, &r->p.config, &unknown, &n, err);
}

static int read_cloud(struct show *s, struct stage_rig *r, struct err *err)
{
    json_object_object_foreach(s->in->observed, id, given)
    {
        enum azure_kind k;
        if (!azure_state_kind(s->a, id, &k)) {
            return err_set(err, ERR_INVALID, "observed.json: %s is of no kind", id);
        }
        struct json_object *doc = given != NULL ? azure_copy(r->a, given) : NULL;
        if (doc != NULL) {
            json_add_str(doc, "id", id);
            json_add_str(doc, "name", azure_id_last(id));
            arm_docs_stamp(&r->docs, doc);
        }
        arm_docs_put(&r->docs, k, id, doc);
    }
    return ERR_OK;
}

static uint32_t verb_of(struct show *s, const struct tt_service *service)
{
    static const struct {
        const char *word;
        uint32_t verb;
    } rows[] = {{"ensure", TT_VERB_ENSURE},
                {"update", TT_VERB_UPDATE},
                {"delete", TT_VERB_DELETE},
                {"none", 0}};
    const char *key = arena_printf(s->a, "%s/%s", service->ns, service->name);
    const char *word = str_or(json_str(json_member(s->in->facts, "verbs"), key), "ensure");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_eq(rows[i].word, word)) {
            return rows[i].verb;
        }
    }
    fail_msg("facts.json: no verb: %s", word);
    return 0;
}

static void add_service(struct show *s, struct stage_rig *r, struct json_object *tree)
{
    const struct tt_service *service = test_service(r->a, tree);
    struct rig_service *item = stage_rig_add(r, service->name, NULL, NULL);
    item->given = service;
    item->verb = verb_of(s, service);
    for (uint32_t i = 0; i < service->n_ingress; i++) {
        item->status =
            arena_printf(r->a, "%s%s%s", item->status, i > 0 ? " " : "", service->ingress[i].ip);
    }
}

static int read_case(struct show *s, struct stage_rig *r, struct err *err)
{
    size_t n = 0;
    const struct tt_node **nodes = test_nodes(r->a, s->in->nodes, &n);
    for (size_t i = 0; i < n && i < RIG_NODES_MAX; i++) {
        r->nodes[r->n_nodes++] = nodes[i];
    }
    if (json_object_is_type(s->in->service, json_type_array)) {
        struct json_object *o;
        AZURE_EACH (o, s->in->service) {
            add_service(s, r, o);
        }
    } else {
        add_service(s, r, s->in->service);
    }
    struct json_object *labels = json_member(s->in->facts, "namespace");
    if (labels != NULL) {
        r->namespace_labels = json_text(r->a, labels, JSON_COMPACT);
    }
    r->poison = json_str(s->in->facts, "poison");
    int rc = read_config(s, r, err);
    return rc == ERR_OK ? read_cloud(s, r, err) : rc;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void reported(struct stage_rig *r, const struct tt_plan *view)
{
    struct show *s = r->arg;
    const struct plan_print how = {.verbose = false};
    if (s->stage != NULL) {
        return; /* carrying out: the writes are shown */
    }
    if (s->verbose) {
        const struct lb_plan none = {0};
        golden_show_plan(s->text, view, r->plan != NULL ? r->plan : &none);
    } else {
        plan_print_text(s->text, view, &how);
    }
}

static void wrote(struct stage_rig *r, const struct lb_op *op, struct json_object *was,
                  const struct err *err)
{
    static const char *const verbs[] = {"GET", "LIST", "PUT", "DELETE", "POST"};
    struct show *s = r->arg;
    const struct azure_write *w = op->arg;
    if (!str_eq(s->stage, r->stage)) {
        str_appendf(s->text, "  %s\n", r->stage);
        s->stage = r->stage;
    }
    str_appendf(s->text, "    %s %s", verbs[w->spec.verb], azure_doc_short(s->a, w->spec.id));
    if (w->spec.verb == AZURE_PUT && was != NULL) {
        str_append(s->text,
                   w->spec.if_match != NULL ? ", if it has not changed" : ", whatever it is");
    }
    str_appendf(s->text, ", for %s\n", str_join(s->a, op->owners.items, op->owners.n, " "));
    if (err->code != ERR_OK) {
        str_appendf(s->text, "      ! %s: %s\n", err_code_name(err->code), err->message);
    }
    /* Scale sets and instances are written in parts. */
    bool in_parts = w->spec.kind == AZURE_VMSSS || w->spec.kind == AZURE_VMSS_VMS;
    if (w->spec.verb == AZURE_PUT) {
        struct json_object *now = azure_copy(s->a, in_parts ? w->answer : w->spec.body);
        if (in_parts && was != NULL) {
            json_add_str(now, "etag", azure_doc_etag(was));
        }
        azure_doc_lines(s->a, s->text, was, now);
    }
}

static void show_results(struct show *s, const struct stage_rig *r)
{
    str_append(s->text, "\nresults\n");
    for (size_t i = 0; i < r->n_services; i++) {
        const struct rig_service *item = &r->services[i];
        if (item->verb == 0) {
            continue;
        }
        str_appendf(s->text, "  %s/%s: ", item->given->ns, item->name);
        if (item->code != TT_OK) {
            str_appendf(s->text, "%s: %s\n", err_code_name(item->code), item->message);
        } else {
            bool gone = item->verb == TT_VERB_DELETE;
            str_appendf(s->text, "%s\n", gone ? "gone" : str_or(item->status, "no address"));
        }
    }
    size_t n = 0;
    char **lines = str_split(s->a, r->events, '\n', &n);
    for (size_t i = 0; i < n; i++) {
        if (lines[i][0] != '\0') {
            str_appendf(s->text, "  event %s\n", lines[i]);
        }
    }
}

/* The next sync of all remaining Services. */
static void show_then(struct show *s, struct stage_rig *r)
{
    bool some = false;
    for (size_t i = 0; i < r->n_services; i++) {
        struct rig_service *item = &r->services[i];
        item->gone = item->gone || (item->verb == TT_VERB_DELETE && item->code == TT_OK);
        item->verb = item->gone ? 0 : TT_VERB_ENSURE;
        some = some || !item->gone;
    }
    str_append(s->text, "\nthen\n");
    if (some) {
        stage_rig_plan(r);
    } else {
        str_append(s->text, "nobody is left\n");
    }
}

static void show(struct arena *a, const struct golden_case *c, struct str_buf *text)
{
    struct show s = {.a = a, .text = text, .in = c, .verbose = true};
    struct err err = ERR_INIT;
    struct stage_rig *r = stage_rig_new();
    r->arg = &s;
    r->wrote = wrote;
    r->reported = reported;
    if (read_case(&s, r, &err) == ERR_OK) {
        stage_rig_plan(r);
        const char *planned = r->log;
        s.stage = "";
        s.verbose = false;
        str_append(text, "\ncarried out\n");
        stage_rig_reconcile(r);
        if (!str_eq(planned, r->log)) {
            str_appendf(text, "\nnot as planned\n%s", planned);
        }
        show_results(&s, r);
        s.stage = NULL;
        show_then(&s, r);
    } else {
        golden_show_error(text, &err);
    }
    stage_rig_free(r);
}

const struct golden_provider golden_azure = {.name = "azure", .show = show};
