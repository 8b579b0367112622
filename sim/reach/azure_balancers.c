/* SPDX-License-Identifier: Apache-2.0 */
/* azure_balancers.c: load balancers: frontends, rules, NAT rules, pools and probes; see azure.h.
 *
 * A packet to a frontend's address needs a balancing rule or an inbound NAT rule for its protocol
 * and port.  It arrives at a machine of the rule's pools: with floating IP at the frontend's own
 * address and port, else at the machine's address and the backend port.  There the security groups
 * of subnet and NIC decide; without any, a public frontend of a Standard balancer is closed and one
 * of a Basic balancer is open.  A target is healthy if its machine runs, the balancer's probe can
 * reach it, and the node answers (answers.h). */
#include "sim/reach/azure.h"
#include "sim/reach/checks.h"

#define LAST_PORT 65535

struct frontend {
    const char *address; /* canonical; NULL: it has none */
    struct ip_addr ip;
    bool internal, used;
};
struct balancer {
    struct az *z;
    struct reach *r;
    const char *id;
    struct json_object *p; /* its properties */
    bool standard;
    struct map *frontends; /* name → struct frontend */
    struct map *pools;     /* name → the pool, borrowed */
    struct map *probes;    /* name → the probe, borrowed */
};
/* A machine to which a rule leads. */
struct member {
    const struct az_nic *nic;
    const char *admin; /* the pool's administrative state: "Up", "Down", or NULL */
};
/* One rule, for one protocol. */
struct flow {
    struct balancer *b;
    const struct frontend *front;
    const char *protocol;
    uint16_t low, high; /* ports of the frontend; 0: all */
    uint16_t backend;   /* port of the machine; 0: the same as the client's */
    bool floating;
    const char *why; /* as of a listener */
    bool has_probe;
    struct reach_probe probe; /* port 0: the rule names a probe that is not there */
    struct az_list members;   /* of struct member */
};

/* --- reading ---------------------------------------------------------------------------------- */

static const char *small(struct arena *a, const char *text)
{
    return str_lower(a, str_nonnull(text));
}

/* Names (in small letters) → items of one of the balancer's lists. */
static struct map *named(struct balancer *b, const char *member)
{
    struct map *m = reach_map(b->z->a);
    struct json_object *list = json_member(b->p, member);
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        map_set(m, small(b->z->a, json_str(o, "name")), o);
    }
    return m;
}

/* A frontend with a prefix of public addresses has no address of its own: only outbound
 * rules use it. */
static void read_frontend(struct balancer *b, struct json_object *o)
{
    struct az *z = b->z;
    const char *public = az_ref(z->a, o, "publicIPAddress");
    struct json_object *ip = public != NULL ? map_get(z->public_ips, public) : NULL;
    struct frontend *f = ARENA_NEW(z->a, struct frontend);
    f->internal = public == NULL && az_ref(z->a, o, "subnet") != NULL;
    f->address = f->internal ? json_str(json_member(o, "properties"), "privateIPAddress")
                             : json_str(json_member(ip, "properties"), "ipAddress");
    f->address = az_address(z->a, f->address);
    if (f->address != NULL) {
        (void)ip_parse(f->address, &f->ip);
    }
    if (public != NULL) {
        map_set(z->seen, public, NULL);
    }
    map_set(b->frontends, small(z->a, json_str(o, "name")), f);
}

/* The item that `member` of a rule's properties refers to, or NULL. */
static void *referred(const struct balancer *b, const struct map *items, struct json_object *rule,
                      const char *member)
{
    const char *id = az_ref(b->z->a, rule, member);
    return id != NULL ? map_get(items, az_name(id)) : NULL;
}

/* --- pools ------------------------------------------------------------------------------------ */

static void add_member(struct flow *f, const struct az_nic *nic, const char *admin)
{
    struct member *m = ARENA_NEW(f->b->z->a, struct member);
    *m = (struct member){nic, admin};
    if (nic->ipv6 == (f->front->ip.len == 16)) {
        az_push(f->b->z->a, &f->members, m);
    }
}

static void add_list(struct flow *f, const struct az_list *nics)
{
    for (size_t i = 0; nics != NULL && i < nics->n; i++) {
        add_member(f, nics->at[i], NULL);
    }
}

/* Members by address: of the network that they or their pool name. */
static void add_addresses(struct flow *f, struct json_object *pool)
{
    struct az *z = f->b->z;
    struct json_object *list = json_path(pool, "properties.loadBalancerBackendAddresses");
    const char *pools_network = az_ref(z->a, pool, "virtualNetwork");
    for (size_t i = 0; i < json_len(list); i++) {
        struct json_object *o = json_object_array_get_idx(list, i);
        struct json_object *p = json_member(o, "properties");
        const char *network = az_ref(z->a, o, "virtualNetwork");
        const struct az_nic *nic =
            az_nic_at(z, network != NULL ? network : pools_network, json_str(p, "ipAddress"));
        if (nic != NULL) {
            add_member(f, nic, json_str(p, "adminState"));
        }
    }
}

/* Adds the members of a pool; returns false if the balancer lacks it. */
static bool add_pool(struct flow *f, const char *id)
{
    struct az *z = f->b->z;
    const char *key = az_key(z->a, str_nonnull(id));
    const char *name = az_name(key);
    struct json_object *pool = map_get(f->b->pools, name);
    if (pool != NULL) {
        const char *own = arena_printf(z->a, "%s/backendaddresspools/%s", f->b->id, name);
        add_list(f, map_get(z->in_pool, own));
        add_addresses(f, pool);
        add_addresses(f, map_get(z->pools, own));
    }
    return pool != NULL;
}

/* --- targets ---------------------------------------------------------------------------------- */

static bool is_healthy(const struct flow *f, const struct member *m, const struct az_gate *gate)
{
    struct az_packet probe = {
        .protocol = "TCP",
        .low = f->probe.port,
        .high = f->probe.port,
        .to = m->nic->text != NULL ? &m->nic->address : NULL,
        .ipv6 = m->nic->ipv6,
    };
    if (m->nic->machine == NULL || !m->nic->runs || str_eq_nocase(m->admin, "Down")) {
        return false;
    }
    struct reach_probe asks = f->probe;
    asks.node = m->nic->machine;
    asks.ipv6 = m->nic->ipv6;
    return !f->has_probe || str_eq_nocase(m->admin, "Up") ||
           (f->probe.port != 0 && az_probe_passes(gate, &probe) &&
            reach_probe_succeeds(f->b->z->cluster, &asks));
}

/* A packet of the flow on its way into a machine; `low` and `high` are ports of the frontend. */
static struct az_packet packet_of(const struct flow *f, const struct az_nic *nic, uint16_t low,
                                  uint16_t high)
{
    bool same = f->floating || f->backend == 0;
    return (struct az_packet){
        .protocol = f->protocol,
        .low = same ? low : f->backend,
        .high = same ? high : f->backend,
        .to = f->floating         ? &f->front->ip
              : nic->text != NULL ? &nic->address
                                  : NULL,
        .ipv6 = f->front->ip.len == 16,
        .from_internet = !f->front->internal,
        .closed_without_groups = f->b->standard,
    };
}

/* "node-1:30080"; the port is a star if any will do. */
static const char *target_name(const struct flow *f, const struct az_nic *nic,
                               const struct az_packet *p)
{
    struct arena *a = f->b->z->a;
    const char *host = nic->machine;
    if (host == NULL) {
        host = nic->text == NULL ? "unknown"
               : nic->ipv6       ? arena_printf(a, "[%s]", nic->text)
                                 : nic->text;
    }
    return p->low == p->high ? arena_printf(a, "%s:%u", host, p->low)
                             : arena_printf(a, "%s:*", host);
}

static bool same_gate(const struct az_gate *x, const struct az_gate *y)
{
    return x->groups[0] == y->groups[0] && x->groups[1] == y->groups[1] && x->network == y->network;
}

/* Calls fn for each member with the clients that reach it.  The groups are asked once for machines
 * behind the same ones, where the packet's destination is the same too. */
static void each_target(const struct flow *f, uint16_t low, uint16_t high,
                        void (*fn)(const struct flow *f, const struct member *m,
                                   const struct az_packet *p, struct reach_ranges permitted,
                                   void *arg),
                        void *arg)
{
    struct az_gate last = {0};
    struct reach_ranges permitted = REACH_NOBODY;
    for (size_t i = 0; i < f->members.n; i++) {
        const struct member *m = f->members.at[i];
        struct az_gate gate = az_gate_of(m->nic);
        struct az_packet p = packet_of(f, m->nic, low, high);
        if (i == 0 || !f->floating || !same_gate(&last, &gate)) {
            permitted = az_permitted(f->b->z->a, &gate, &p);
            last = gate;
        }
        fn(f, m, &p, permitted, arg);
    }
}

static void add_target(const struct flow *f, const struct member *m, const struct az_packet *p,
                       struct reach_ranges permitted, void *arg)
{
    struct az_gate gate = az_gate_of(m->nic);
    reach_target(arg, target_name(f, m->nic, p), is_healthy(f, m, &gate), permitted);
}

static void join_clients(const struct flow *f, const struct member *m, const struct az_packet *p,
                         struct reach_ranges permitted, void *arg)
{
    struct reach_ranges *all = arg;
    (void)m;
    (void)p;
    *all = reach_ranges_or(f->b->z->a, *all, permitted);
}

static void listen_on(const struct flow *f, uint16_t low, uint16_t high, bool all)
{
    struct reach_port *port = reach_listen(f->b->r, &(struct reach_listener){
                                                        .address = f->front->address,
                                                        .protocol = f->protocol,
                                                        .low = all ? 0 : low,
                                                        .high = all ? 0 : high,
                                                        .internal = f->front->internal,
                                                        .why = f->why,
                                                    });
    each_target(f, low, high, add_target, port);
}

/* Adds a listener for all ports at once, with the clients that may use every one of them, and one
 * for each range of ports that the groups open to other clients. */
static void listen_on_all(const struct flow *f)
{
    bool *bounds = ARENA_ARRAY(f->b->z->a, bool, LAST_PORT + 2);
    struct reach_ranges always = REACH_NOBODY;
    listen_on(f, 1, LAST_PORT, true);
    each_target(f, 1, LAST_PORT, join_clients, &always);
    for (size_t i = 0; i < f->members.n; i++) {
        struct az_gate gate = az_gate_of(((const struct member *)f->members.at[i])->nic);
        az_port_bounds(&gate, bounds);
    }
    for (uint32_t low = 1, end = 2; low <= LAST_PORT; low = end++) {
        struct reach_ranges clients = REACH_NOBODY;
        while (end <= LAST_PORT && !bounds[end]) {
            end++;
        }
        each_target(f, (uint16_t)low, (uint16_t)(end - 1), join_clients, &clients);
        if (!reach_ranges_equal(clients, always)) {
            listen_on(f, (uint16_t)low, (uint16_t)(end - 1), false);
        }
    }
}

static void listen_with(struct flow *f)
{
    if (f->low == 0 && f->why == NULL) {
        listen_on_all(f);
    } else {
        listen_on(f, f->low, f->high, f->low == 0);
    }
}

/* --- rules ------------------------------------------------------------------------------------ */

/* Calls listen_with() for each protocol that the rule balances. */
static void each_protocol(struct flow *f, const char *protocol)
{
    static const char *const all[] = {"TCP", "UDP", "SCTP"};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (str_eq_nocase(protocol, "All") || str_eq_nocase(protocol, all[i])) {
            f->protocol = all[i];
            listen_with(f);
        }
    }
}

/* Fills the part that balancing rules and NAT rules share.  Returns false if the frontend
 * has no address. */
static bool begin_flow(struct flow *f, struct balancer *b, struct json_object *rule)
{
    struct json_object *p = json_member(rule, "properties");
    struct frontend *front = referred(b, b->frontends, rule, "frontendIPConfiguration");
    int64_t port = json_int(p, "frontendPort", 0);
    if (front == NULL || front->address == NULL) {
        return false;
    }
    front->used = true;
    *f = (struct flow){
        .b = b,
        .front = front,
        .low = (uint16_t)(port != 0 ? port : json_int(p, "frontendPortRangeStart", 0)),
        .high = (uint16_t)(port != 0 ? port : json_int(p, "frontendPortRangeEnd", 0)),
        .backend = (uint16_t)json_int(p, "backendPort", 0),
        .floating = json_bool(p, "enableFloatingIP", false),
    };
    return true;
}

static void reach_rule(struct balancer *b, struct json_object *rule)
{
    struct flow f;
    struct json_object *p = json_member(rule, "properties");
    struct json_object *many = json_member(p, "backendAddressPools");
    const char *one = az_ref(b->z->a, rule, "backendAddressPool");
    if (!begin_flow(&f, b, rule)) {
        return;
    }
    struct json_object *probe = referred(b, b->probes, rule, "probe");
    f.has_probe = json_member(p, "probe") != NULL;
    f.probe = reach_azure_check(json_member(probe, "properties"));
    bool found = one != NULL && add_pool(&f, one);
    for (size_t i = 0; i < json_len(many); i++) {
        const char *id = az_key(b->z->a, json_str(json_object_array_get_idx(many, i), "id"));
        found = (!str_eq(id, one) && add_pool(&f, id)) || found;
    }
    f.why = found ? NULL : REACH_NO_RULE;
    each_protocol(&f, json_str(p, "protocol"));
}

/* A NAT rule leads to the one machine that names it, or that it names; one with a range of ports
 * and a pool to each of its machines by a port of its own, as does a NAT pool. */
static void reach_nat(struct balancer *b, const char *list, struct json_object *rule)
{
    struct flow f;
    const char *id = az_key(b->z->a, arena_printf(b->z->a, "%s/%s/%s", b->id, list,
                                                  str_nonnull(json_str(rule, "name"))));
    const char *config = az_ref(b->z->a, rule, "backendIPConfiguration");
    const char *pool = az_ref(b->z->a, rule, "backendAddressPool");
    if (!begin_flow(&f, b, rule)) {
        return;
    }
    const struct az_nic *nic = config != NULL ? map_get(b->z->by_config, config) : NULL;
    if (nic != NULL) {
        add_member(&f, nic, NULL);
    }
    add_list(&f, map_get(b->z->behind_nat, id));
    f.why = pool != NULL && !add_pool(&f, pool) ? REACH_NO_RULE : NULL;
    each_protocol(&f, json_str(json_member(rule, "properties"), "protocol"));
}

static bool finish_frontend(const char *name, void *value, void *arg)
{
    const struct frontend *f = value;
    struct balancer *b = arg;
    (void)name;
    if (f->address != NULL && !f->used) {
        (void)reach_listen(b->r, &(struct reach_listener){.address = f->address,
                                                          .internal = f->internal,
                                                          .why = REACH_NO_LISTENER});
    }
    return true;
}

void az_reach_balancer(struct az *z, struct reach *r, const struct az_doc *doc)
{
    static const char *const nat[] = {"inboundNatRules", "inboundNatPools"};
    struct balancer b = {.z = z, .r = r, .id = doc->id, .p = json_member(doc->body, "properties")};
    const char *sku = json_str(json_member(doc->body, "sku"), "name");
    struct json_object *fronts = json_member(b.p, "frontendIPConfigurations");
    struct json_object *rules = json_member(b.p, "loadBalancingRules");
    b.standard = sku != NULL && !str_eq_nocase(sku, "Basic");
    b.frontends = reach_map(z->a);
    b.pools = named(&b, "backendAddressPools");
    b.probes = named(&b, "probes");
    for (size_t i = 0; i < json_len(fronts); i++) {
        read_frontend(&b, json_object_array_get_idx(fronts, i));
    }
    for (size_t i = 0; i < json_len(rules); i++) {
        reach_rule(&b, json_object_array_get_idx(rules, i));
    }
    for (size_t k = 0; k < ARRAY_LEN(nat); k++) {
        struct json_object *list = json_member(b.p, nat[k]);
        for (size_t i = 0; i < json_len(list); i++) {
            reach_nat(&b, nat[k], json_object_array_get_idx(list, i));
        }
    }
    map_each(b.frontends, finish_frontend, &b);
}
