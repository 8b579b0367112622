/* SPDX-License-Identifier: Apache-2.0 */
/* azure_probe_rules.c: health probes, from annotations and spec (azure_probe_rules.h).  Pure. */
#include "providers/azure/lb/azure_probe_rules.h"
#include "common/base/str.h"
#include "providers/azure/model/azure_doc.h"
#include "providers/azure/model/azure_text.h"

#include <string.h>

#define INTERVAL_S     5
#define THRESHOLD      2
#define PROBE_TOTAL_S  120
#define PORT_INTERVAL  "health-probe_interval"
#define PORT_THRESHOLD "health-probe_num-of-probe"
#define PORT_PATH      "health-probe_request-path"
#define PORT_PROTOCOL  "health-probe_protocol"
#define PORT_PORT      "health-probe_port"
#define ALL_INTERVAL   "azure-load-balancer-health-probe-interval"
#define ALL_THRESHOLD  "azure-load-balancer-health-probe-num-of-probe"
#define ALL_PATH       "azure-load-balancer-health-probe-request-path"
#define ALL_PROTOCOL   "azure-load-balancer-health-probe-protocol"

/* ---- annotations ----------------------------------------------------------------------------- */

/* The port's annotation, else the Service's; *ret_name is the one that was
 * found, without prefix. */
static const char *either(struct arena *a, const struct tt_service *s, int32_t port,
                          const char *of_port, const char *of_all, const char **ret_name)
{
    const char *value = azure_port_annotation(s, port, of_port);
    *ret_name = value != NULL ? arena_printf(a, "port_%d_%s", (int)port, of_port) : of_all;
    return value != NULL ? value : azure_annotation(s, of_all);
}

static int number(struct arena *a, const char *name, const char *value, int32_t least, int32_t *ret,
                  struct err *err)
{
    if (value == NULL) {
        return ERR_OK;
    }
    int32_t n;
    if (!azure_text_i32(a, value, &n) || n < least) {
        return err_set(err, ERR_INVALID,
                       "annotation " AZURE_ANNOTATION_PREFIX
                       "%s: want a whole number of at least %d, got \"%s\"",
                       name, (int)least, value);
    }
    *ret = n;
    return ERR_OK;
}

struct timing {
    int32_t interval_s;
    int32_t threshold;
};

static int timing_read(struct arena *a, const struct tt_service *s, int32_t port,
                       struct timing *ret, struct err *err)
{
    const char *interval, *threshold;
    const char *interval_value = either(a, s, port, PORT_INTERVAL, ALL_INTERVAL, &interval);
    const char *threshold_value = either(a, s, port, PORT_THRESHOLD, ALL_THRESHOLD, &threshold);
    *ret = (struct timing){.interval_s = INTERVAL_S, .threshold = THRESHOLD};
    int rc = number(a, interval, interval_value, INTERVAL_S, &ret->interval_s, err);
    if (rc == ERR_OK) {
        rc = number(a, threshold, threshold_value, THRESHOLD, &ret->threshold, err);
    }
    if (rc == ERR_OK && (int64_t)ret->interval_s * ret->threshold >= PROBE_TOTAL_S) {
        return err_set(err, ERR_INVALID,
                       "annotations %s and %s: %d s times %d must be less than %d s", interval,
                       threshold, (int)ret->interval_s, (int)ret->threshold, PROBE_TOTAL_S);
    }
    return rc;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static struct json_object *probe_new(struct arena *a, const char *name, const char *protocol,
                                     int32_t port, const char *path, const struct timing *t)
{
    struct json_object *o = azure_own(a, json_object_new_object());
    struct json_object *p = json_object_new_object();
    json_add_str(o, "name", name);
    json_add(o, "properties", p);
    json_add_str(p, "protocol", protocol);
    json_add_int(p, "port", port);
    json_add_str(p, "requestPath", path);
    json_add_int(p, "intervalInSeconds", t->interval_s);
    json_add_int(p, "probeThreshold", t->threshold);
    return o;
}

struct json_object *azure_probe_shared(struct arena *a, const struct azure_config *c)
{
    const struct timing t = {.interval_s = INTERVAL_S, .threshold = THRESHOLD};
    return probe_new(a, AZURE_SHARED_PROBE, "Http", c->shared_probe_port, c->shared_probe_path, &t);
}

int azure_probe_node(struct arena *a, struct azure_probe_ask *ask, struct err *err)
{
    const struct azure_service *s = ask->service;
    const struct azure_config *c = ask->naming->config;
    ask->node = NULL;
    ask->shared = c->shared_probe && !s->local;
    if (ask->shared) {
        ask->node = azure_probe_shared(a, c);
        return ERR_OK;
    }
    if (!s->local || (s->pls_create && s->pls_proxy_protocol && !s->pls_unprobed)) {
        return ERR_OK;
    }
    int32_t port = s->in->health_check_node_port;
    if (port == 0) {
        return err_set(err, ERR_INVALID,
                       "externalTrafficPolicy is Local but spec.healthCheckNodePort is not set, so "
                       "there is nothing to probe");
    }
    struct timing t;
    int rc = timing_read(a, s->in, port, &t, err);
    if (rc == ERR_OK) {
        const char *name = azure_rule_name(a, s->in, "TCP", port, ask->family);
        ask->node = probe_new(a, name, "Http", port, "/healthz", &t);
    }
    return rc;
}

static const char *protocol_of(struct arena *a, const struct azure_probe_ask *ask,
                               const struct tt_port *port)
{
    const struct tt_service *s = ask->service->in;
    const char *text = azure_port_annotation(s, port->port, PORT_PROTOCOL);
    if (text == NULL) {
        text = port->app_protocol; /* also one that is no probe's hides the Service's annotation */
    }
    if (text == NULL) {
        text = azure_annotation(s, ALL_PROTOCOL);
    }
    text = text != NULL ? str_trim_unicode(a, text) : "tcp";
    if (str_eq_nocase(text, "https")) {
        return ask->naming->config->standard_sku ? "Https" : "Tcp";
    }
    return str_eq_nocase(text, "http") ? "Http" : "Tcp";
}

/* Value of the probe-port annotation: a port's name, a port's number, or the number itself. */
static int probed_port(struct arena *a, const struct tt_service *s, const struct tt_port *port,
                       const char *text, int32_t *ret, struct err *err)
{
    *ret = port->node_port;
    if (text == NULL) {
        return ERR_OK;
    }
    for (uint32_t i = 0; text[0] != '\0' && i < s->n_ports; i++) {
        if (azure_eq(str_nonnull(s->ports[i].name), text)) {
            *ret = s->ports[i].node_port;
            return ERR_OK;
        }
    }
    int32_t n; /* unlike other numbers, with no blanks around it */
    if (!str_eq(text, str_trim_unicode(a, text)) || !azure_text_i32(a, text, &n) || n < 1 ||
        n > 65535) {
        return err_set(err, ERR_INVALID,
                       "annotation " AZURE_ANNOTATION_PREFIX "port_%d_" PORT_PORT
                       ": want the name of a port of the Service or a number from 1 to 65535, got "
                       "\"%s\"",
                       (int)port->port, text);
    }
    *ret = n;
    for (uint32_t i = 0; i < s->n_ports; i++) {
        if (s->ports[i].port == n) {
            *ret = s->ports[i].node_port;
            break;
        }
    }
    return ERR_OK;
}

int azure_probe_of_port(struct arena *a, const struct azure_probe_ask *ask,
                        const struct tt_port *port, const char *name, struct json_object **ret,
                        struct err *err)
{
    const struct tt_service *s = ask->service->in;
    const char *where = azure_port_annotation(s, port->port, PORT_PORT);
    *ret = ask->node;
    if (ask->shared || !str_eq(port->protocol, "TCP") || (where == NULL && ask->node != NULL)) {
        return ERR_OK;
    }
    const char *protocol = protocol_of(a, ask, port);
    const char *path = NULL;
    if (!str_eq(protocol, "Tcp")) {
        const char *unused;
        path = either(a, s, port->port, PORT_PATH, ALL_PATH, &unused);
        path = path != NULL ? path : "/";
    }
    struct timing t;
    int32_t target;
    int rc = timing_read(a, s, port->port, &t, err);
    if (rc == ERR_OK) {
        rc = probed_port(a, s, port, where, &target, err);
    }
    if (rc == ERR_OK && target == 0) {
        rc = err_set(err, ERR_INVALID,
                     "port %d: its probe goes to the node port, but none is allocated "
                     "(spec.allocateLoadBalancerNodePorts); set port_%d_" PORT_PORT
                     ", or probe nothing with port_%d_no_probe_rule",
                     (int)port->port, (int)port->port, (int)port->port);
    }
    if (rc == ERR_OK) {
        *ret = probe_new(a, name, protocol, target, path, &t);
    }
    return rc;
}

bool azure_probe_equal(struct json_object *x, struct json_object *y)
{
    return azure_eq(azure_doc_name(x), azure_doc_name(y)) &&
           azure_prop_int(x, "port", 0) == azure_prop_int(y, "port", 0) &&
           azure_eq(str_nonnull(azure_prop_str(x, "protocol")),
                    str_nonnull(azure_prop_str(y, "protocol"))) &&
           azure_eq(str_nonnull(azure_prop_str(x, "requestPath")),
                    str_nonnull(azure_prop_str(y, "requestPath"))) &&
           azure_prop_int(x, "intervalInSeconds", 0) == azure_prop_int(y, "intervalInSeconds", 0) &&
           azure_prop_int(x, "probeThreshold", 0) == azure_prop_int(y, "probeThreshold", 0);
}
