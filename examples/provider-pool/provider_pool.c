/* SPDX-License-Identifier: Apache-2.0 */
/* provider_pool.c: an out-of-tree provider for trimtab that hands out addresses of one CIDR.
 *
 * What a vendor can learn from it: the descriptor, options and configuration, batches, results, and
 * how to keep state that survives a restart without a store of one's own.  A real provider would
 * tell its appliance where this one only writes down who has which address.
 *
 * State: one table, address → UID of the Service that has it.  The truth is in the cluster: the
 * first call after open() reads every Service that the controller knows and takes over what their
 * status says; from then on the table is right, because no other program writes these statuses.
 * Threads: calls come in parallel, so the table has a lock; no host function is called under it. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trimtab/provider.h>

#define NO_ADDRESS UINT32_MAX

/* A network and the addresses of it that may be handed out. */
struct range {
    uint32_t first; /* host byte order */
    uint32_t count;
};

struct pool {
    const struct tt_host *host; /* valid until close() */
    struct range range;
    pthread_mutex_t lock;
    /* guarded by the lock */
    char **owners;  /* UID per address; NULL: free */
    int taken_over; /* the statuses of the cluster have been read */
};

/* A failure on its way to the host. */
struct failure {
    int32_t code;
    char message[512];
};

static int32_t fail(struct failure *f, int32_t code, const char *message, const char *detail)
{
    f->code = code;
    (void)snprintf(f->message, sizeof f->message, "%s%s", message, detail);
    return code;
}

/* ---- configuration --------------------------------------------------------------------------- */
/* "192.0.2.0/28" → the addresses between network and broadcast. */
static int32_t range_parse(const char *text, struct range *ret, struct failure *f)
{
    char copy[64];
    struct in_addr net;
    char *slash;
    char *end;
    (void)snprintf(copy, sizeof copy, "%s", text);
    slash = strchr(copy, '/');
    if (slash == NULL || strlen(text) >= sizeof copy) {
        return fail(f, TT_INVALID, "cidr: want ADDRESS/BITS, got ", text);
    }
    *slash = '\0';
    long bits = strtol(slash + 1, &end, 10);
    if (inet_pton(AF_INET, copy, &net) != 1 || *end != '\0' || end == slash + 1) {
        return fail(f, TT_INVALID, "cidr: want an IPv4 network, got ", text);
    }
    if (bits < 16 || bits > 30) {
        return fail(f, TT_INVALID, "cidr: want 16 to 30 bits, got ", text);
    }
    uint32_t size = (uint32_t)1 << (32 - bits);
    uint32_t network = ntohl(net.s_addr) & ~(size - 1);
    ret->first = network + 1;
    ret->count = size - 2;
    return TT_OK;
}

/* Reads one line "key = value"; blank lines and comments have no key.  `line` is written to. */
static void line_split(char *line, char **ret_key, char **ret_value)
{
    static const char blanks[] = " \t\r";
    line[strcspn(line, "#")] = '\0';
    *ret_key = line + strspn(line, blanks);
    *ret_value = strchr(*ret_key, '=');
    if (*ret_value != NULL) {
        *(*ret_value)++ = '\0';
        *ret_value += strspn(*ret_value, blanks);
        (*ret_value)[strcspn(*ret_value, blanks)] = '\0';
    }
    (*ret_key)[strcspn(*ret_key, blanks)] = '\0';
}

/* Walks the cloud-config file.  `cidr` has room for 64 bytes. */
static int32_t file_read(const struct tt_open_args *args, char *cidr, struct failure *f)
{
    char *text = args->config_text != NULL ? strdup(args->config_text) : NULL;
    int32_t code = TT_OK;
    char *next = text;
    for (int number = 1; next != NULL && code == TT_OK; number++) {
        char *line = next;
        char *key;
        char *value;
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line_split(line, &key, &value);
        if (strcmp(key, "cidr") == 0 && value != NULL) {
            (void)snprintf(cidr, 64, "%s", value);
        } else if (*key != '\0') {
            char where[300];
            (void)snprintf(where, sizeof where, "%s:%d", args->config_path, number);
            args->host->report_finding(args->host->ctx, TT_LOG_ERROR, where,
                                       "only \"cidr = ADDRESS/BITS\" is known here");
            code = fail(f, TT_INVALID, where, ": only \"cidr = ADDRESS/BITS\" is known here");
        }
    }
    free(text);
    return code;
}

/* The flag --pool-cidr wins over the file. */
static int32_t config_read(const struct tt_open_args *args, struct range *ret, struct failure *f)
{
    char cidr[64] = "";
    int32_t code = file_read(args, cidr, f);
    for (uint32_t i = 0; code == TT_OK && i < args->n_options; i++) {
        if (strcmp(args->options[i].key, "pool-cidr") == 0 && args->options[i].value[0] != '\0') {
            (void)snprintf(cidr, sizeof cidr, "%s", args->options[i].value);
        }
    }
    if (code == TT_OK && cidr[0] == '\0') {
        code =
            fail(f, TT_INVALID, "no addresses: set cidr in the cloud config, or --pool-cidr", "");
    }
    return code != TT_OK ? code : range_parse(cidr, ret, f);
}

static int32_t pool_check_config(const struct tt_open_args *args, struct tt_result *result)
{
    struct range range;
    struct failure f;
    if (config_read(args, &range, &f) != TT_OK) {
        args->host->result_fail(result, f.code, f.message, 0);
        return f.code;
    }
    if (range.count < 8) {
        args->host->report_finding(args->host->ctx, TT_LOG_WARNING, "cidr",
                                   "fewer than 8 addresses: Services will wait soon");
    }
    return TT_OK;
}

static int32_t pool_open(const struct tt_open_args *args, void **ret, struct tt_result *result)
{
    struct range range;
    struct failure f;
    if (config_read(args, &range, &f) != TT_OK) {
        args->host->result_fail(result, f.code, f.message, 0);
        return f.code;
    }
    struct pool *p = calloc(1, sizeof *p);
    char **owners = calloc(range.count, sizeof *owners);
    if (p == NULL || owners == NULL) {
        free(p);
        free(owners);
        args->host->result_fail(result, TT_TRANSIENT, "out of memory", 0);
        return TT_TRANSIENT;
    }
    p->host = args->host;
    p->range = range;
    p->owners = owners;
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail with default attributes */
    *ret = p;
    return TT_OK;
}

static void pool_close(void *provider)
{
    struct pool *p = provider;
    for (uint32_t i = 0; i < p->range.count; i++) {
        free(p->owners[i]);
    }
    free(p->owners);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- the table (under the lock) -------------------------------------------------------------- */
/* Place of an address in the table; NO_ADDRESS when it is not ours to give. */
static uint32_t address_index(const struct pool *p, const char *ip)
{
    struct in_addr in;
    if (ip == NULL || inet_pton(AF_INET, ip, &in) != 1) {
        return NO_ADDRESS;
    }
    uint32_t i = ntohl(in.s_addr) - p->range.first;
    return i < p->range.count ? i : NO_ADDRESS;
}

static void address_text(const struct pool *p, uint32_t i, char text[INET_ADDRSTRLEN])
{
    struct in_addr in = {.s_addr = htonl(p->range.first + i)};
    (void)inet_ntop(AF_INET, &in, text, INET_ADDRSTRLEN);
}

/* The first address of our network in the Service's status. */
static uint32_t status_index(const struct pool *p, const struct tt_service *s)
{
    for (uint32_t i = 0; i < s->n_ingress; i++) {
        uint32_t at = address_index(p, s->ingress[i].ip);
        if (at != NO_ADDRESS) {
            return at;
        }
    }
    return NO_ADDRESS;
}

static uint32_t owned_index(const struct pool *p, const char *uid)
{
    for (uint32_t i = 0; i < p->range.count; i++) {
        if (p->owners[i] != NULL && strcmp(p->owners[i], uid) == 0) {
            return i;
        }
    }
    return NO_ADDRESS;
}

static int is_free(const struct pool *p, uint32_t i)
{
    return i != NO_ADDRESS && p->owners[i] == NULL;
}

static void release(struct pool *p, uint32_t i)
{
    if (i != NO_ADDRESS) {
        free(p->owners[i]);
        p->owners[i] = NULL;
    }
}

/* Reads the addresses from the cluster, once.  Services that are being deleted keep theirs until
 * their DELETE. */
static void take_over(struct pool *p, const struct tt_service *const *all, uint32_t n)
{
    for (uint32_t i = 0; !p->taken_over && i < n; i++) {
        uint32_t at = status_index(p, all[i]);
        if (all[i]->lb_class == NULL && strcmp(all[i]->type, "LoadBalancer") == 0 &&
            is_free(p, at) && owned_index(p, all[i]->uid) == NO_ADDRESS) {
            p->owners[at] = strdup(all[i]->uid);
        }
    }
    p->taken_over = 1;
}

/* The address for a Service: the one it asks for, the one it has, else the first free one. */
static int32_t choose(const struct pool *p, const struct tt_service *s, uint32_t *ret,
                      struct failure *f)
{
    uint32_t has = owned_index(p, s->uid);
    if (s->lb_ip != NULL && s->lb_ip[0] != '\0') {
        *ret = address_index(p, s->lb_ip);
        if (*ret == NO_ADDRESS) {
            return fail(f, TT_INVALID, "spec.loadBalancerIP is not in the pool: ", s->lb_ip);
        }
        return *ret == has || is_free(p, *ret)
                   ? TT_OK
                   : fail(f, TT_IN_USE, "spec.loadBalancerIP is taken: ", s->lb_ip);
    }
    *ret = has;
    for (uint32_t i = 0; *ret == NO_ADDRESS && i < p->range.count; i++) {
        *ret = p->owners[i] == NULL ? i : NO_ADDRESS;
    }
    return *ret != NO_ADDRESS ? TT_OK
                              : fail(f, TT_QUOTA, "all addresses of the pool are taken", "");
}

/* ---- one Service ----------------------------------------------------------------------------- */
static int32_t check_spec(const struct pool *p, const struct tt_service *s, struct failure *f)
{
    for (uint32_t i = 0; i < s->n_ip_families; i++) {
        if (strcmp(s->ip_families[i], "IPv4") != 0) {
            return fail(f, TT_INVALID, "the pool has no addresses of family ", s->ip_families[i]);
        }
    }
    if (s->lb_ip != NULL && s->lb_ip[0] != '\0' && address_index(p, s->lb_ip) == NO_ADDRESS) {
        return fail(f, TT_INVALID, "spec.loadBalancerIP is not in the pool: ", s->lb_ip);
    }
    return TT_OK;
}

static void publish(const struct pool *p, const struct tt_item *item, uint32_t at)
{
    char ip[INET_ADDRSTRLEN];
    struct tt_ingress ingress = {.ip = ip, .ip_mode = "VIP"};
    address_text(p, at, ip);
    p->host->result_ingress(item->result, &ingress, 1);
}

static int32_t ensure(struct pool *p, const struct tt_call *call, const struct tt_item *item,
                      struct failure *f)
{
    const struct tt_service *s = item->service;
    uint32_t at = NO_ADDRESS;
    if (check_spec(p, s, f) != TT_OK) {
        return f->code;
    }
    /* A replica that lost its lease must not give away what another one may have given. */
    if (p->host->may_mutate(p->host->ctx, call) == 0) {
        return fail(f, TT_CANCELLED, "writing is not allowed now", "");
    }
    (void)pthread_mutex_lock(&p->lock);
    uint32_t had = owned_index(p, s->uid);
    int32_t code = choose(p, s, &at, f);
    if (code == TT_OK && at != had) {
        release(p, had);
        p->owners[at] = strdup(s->uid);
    }
    (void)pthread_mutex_unlock(&p->lock);
    if (code != TT_OK) {
        return code;
    }
    publish(p, item, at);
    if (at != had) {
        p->host->event(p->host->ctx, s, TT_EVENT_NORMAL, "AddressAssigned",
                       "The Service has an address of the pool");
    }
    return TT_OK;
}

/* Backends: a real provider would hand the eligible nodes to its appliance here. */
static int32_t update(struct pool *p, const struct tt_item *item, struct failure *f)
{
    (void)pthread_mutex_lock(&p->lock);
    uint32_t at = owned_index(p, item->service->uid);
    (void)pthread_mutex_unlock(&p->lock);
    if (at == NO_ADDRESS) {
        return fail(f, TT_NOT_FOUND, "the Service has no address of the pool", "");
    }
    publish(p, item, at);
    return TT_OK;
}

static int32_t forget(struct pool *p, const struct tt_item *item)
{
    (void)pthread_mutex_lock(&p->lock);
    release(p, owned_index(p, item->service->uid));
    (void)pthread_mutex_unlock(&p->lock);
    return TT_OK; /* also when there was nothing: deleting is idempotent */
}

/* ---- what the controller calls --------------------------------------------------------------- */
static void learn(struct pool *p, const struct tt_call *call)
{
    const struct tt_service *const *all;
    uint32_t n;
    p->host->services(p->host->ctx, call, &all, &n);
    (void)pthread_mutex_lock(&p->lock);
    take_over(p, all, n);
    (void)pthread_mutex_unlock(&p->lock);
}

/* All due Services at once.  Each gets exactly one result; one that fails does not hold
 * up the others. */
static int32_t pool_reconcile(void *provider, const struct tt_call *call,
                              const struct tt_batch *batch)
{
    struct pool *p = provider;
    int32_t first = TT_OK;
    learn(p, call);
    for (uint32_t i = 0; i < batch->n_items; i++) {
        const struct tt_item *item = batch->items[i];
        struct failure f;
        int32_t code = item->verb == TT_VERB_DELETE   ? forget(p, item)
                       : item->verb == TT_VERB_UPDATE ? update(p, item, &f)
                                                      : ensure(p, call, item, &f);
        if (code == TT_OK) {
            p->host->result_done(item->result);
        } else {
            p->host->result_fail(item->result, code, f.message, 0);
            first = first == TT_OK ? code : first;
        }
    }
    return first;
}

/* Everything shares one table, so everything is one batch. */
static int32_t pool_batch_key(void *provider, const struct tt_service *service, char *text,
                              size_t n)
{
    (void)provider;
    (void)service;
    (void)snprintf(text, n, "pool");
    return TT_OK;
}

static int32_t pool_get(void *provider, const struct tt_call *call, const struct tt_item *item)
{
    struct pool *p = provider;
    learn(p, call);
    (void)pthread_mutex_lock(&p->lock);
    uint32_t at = owned_index(p, item->service->uid);
    (void)pthread_mutex_unlock(&p->lock);
    p->host->result_exists(item->result, at != NO_ADDRESS);
    if (at != NO_ADDRESS) {
        publish(p, item, at);
    }
    return TT_OK;
}

/* One row of an explanation; numbers that it has none of are -1. */
static void row(const struct pool *p, struct tt_result *result, uint32_t section,
                const char *subject, const char *value, const char *outcome)
{
    const struct tt_explain_row r = {.size = sizeof r,
                                     .section = section,
                                     .subject = subject,
                                     .value = value,
                                     .outcome = outcome,
                                     .count = -1,
                                     .of = -1,
                                     .port = -1,
                                     .every_ms = -1};
    p->host->result_row(result, &r);
}

/* For a host before 1.4, which knows no rows. */
static void explain_in_text(const struct pool *p, struct tt_result *result,
                            const struct tt_service *s, const char *answer)
{
    char line[1024];
    (void)snprintf(line, sizeof line, "%s/%s %s\n", s->ns, s->name,
                   answer); /* what is too long is cut */
    p->host->result_text(result, line);
}

/* The rows become text for people and members for programs.  Reads nothing but the Services, and
 * changes nothing. */
static int32_t pool_explain(void *provider, const struct tt_call *call,
                            const struct tt_batch *batch)
{
    struct pool *p = provider;
    learn(p, call);
    for (uint32_t i = 0; i < batch->n_items; i++) {
        struct tt_result *result = batch->items[i]->result;
        const struct tt_service *s = batch->items[i]->service;
        char ip[INET_ADDRSTRLEN] = "";
        struct failure f;
        (void)pthread_mutex_lock(&p->lock);
        uint32_t at = owned_index(p, s->uid);
        (void)pthread_mutex_unlock(&p->lock);
        if (at != NO_ADDRESS) {
            address_text(p, at, ip);
        }
        int refused = check_spec(p, s, &f) != TT_OK;
        char answer[sizeof f.message + 16] = "gets an address of the pool.";
        if (refused) {
            (void)snprintf(answer, sizeof answer, "is refused: %s.", f.message);
        }
        if (!TT_HAS(p->host, result_row)) {
            explain_in_text(p, result, s, answer);
            continue;
        }
        row(p, result, TT_EXPLAIN_ANSWER, refused ? "refused" : "served", "address of the pool",
            answer);
        int asks = s->lb_ip != NULL && s->lb_ip[0] != '\0';
        row(p, result, TT_EXPLAIN_DECISION, "spec.loadBalancerIP", asks ? s->lb_ip : "not set",
            refused ? "cannot be given"
            : asks  ? "this one"
                    : "the first that is free");
        if (at != NO_ADDRESS) {
            row(p, result, TT_EXPLAIN_DECISION, "has", ip, "stays");
            row(p, result, TT_EXPLAIN_ADDRESS, NULL, ip, NULL);
        }
    }
    return TT_OK;
}

static int32_t pool_validate(void *provider, const struct tt_item *item)
{
    const struct pool *p = provider;
    struct failure f;
    if (check_spec(p, item->service, &f) == TT_OK) {
        return TT_OK;
    }
    p->host->result_fail(item->result, f.code, f.message, 0);
    return f.code;
}

static const struct tt_option options[] = {
    {.name = "pool-cidr",
     .type = TT_OPTION_STRING,
     .default_text = "",
     .help = "IPv4 network whose addresses are handed out; wins over cidr in the cloud config"},
};
static const char *const event_reasons[] = {"AddressAssigned"};

/* plan and list_owned are NULL: `trimtab plan` then says what a sync would call. */
static const struct tt_provider descriptor = {
    .abi_major = TRIMTAB_ABI_MAJOR,
    .abi_minor = TRIMTAB_ABI_MINOR,
    .size = sizeof(struct tt_provider),
    .name = "pool",
    .version = "1.0",
    .max_parallel = 1, /* the table is quick; calls in parallel would only wait for each other */
    .options = options,
    .n_options = 1,
    .event_reasons = event_reasons,
    .n_event_reasons = 1,
    .codes = 1u << TT_OK | 1u << TT_INVALID | 1u << TT_NOT_FOUND | 1u << TT_IN_USE |
             1u << TT_QUOTA | 1u << TT_TRANSIENT | 1u << TT_CANCELLED,
    .open = pool_open,
    .close = pool_close,
    .get_load_balancer = pool_get,
    .ensure_load_balancer = pool_reconcile,
    .update_load_balancer = pool_reconcile,
    .ensure_load_balancer_deleted = pool_reconcile,
    .batch_key = pool_batch_key,
    .reconcile_batch = pool_reconcile,
    .explain = pool_explain,
    .validate = pool_validate,
    .check_config = pool_check_config,
};

TT_EXPORT const struct tt_provider *tt_provider_descriptor(void)
{
    return &descriptor;
}
