/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: everything that the provider `local` asks of a kernel, as a table of functions.
 *
 * Two implement it: the real one (netlink, raw sockets, /proc/sys) and the one of tests, which is
 * as strict (tests/support/fake_kernel.h).  nftables: one table of ours, a fixed number of chains
 * and rules, and elements of sets and maps that carry all that varies.  A transaction is done whole
 * or not at all.  Calls answer at once and wait for the kernel only.  One thread at a
 * time for each handle.
 *
 * Errors, of all functions (§11.3 of the provider's specification has the sentences):
 *   ERR_CONFLICT   what was to be changed is not as it was believed to be (EEXIST, ENOENT, ESRCH):
 *                  read and plan again
 *   ERR_IN_USE     others have a route for the address
 *   ERR_AUTH       EPERM: the capability that is missing is named
 *   ERR_INVALID    the kernel cannot: a module is missing, a set is full
 *   ERR_TRANSIENT  ENOBUFS, ENOMEM, ENFILE, EINTR: may go well next time; after ENOBUFS it is
 *                  unknown what was done
 *   ERR_BUG        the kernel calls the message malformed */
#ifndef TRIMTAB_LOCAL_KERNEL_KERNEL_H
#define TRIMTAB_LOCAL_KERNEL_KERNEL_H

#include "providers/local/targets/slots.h"

#include "common/base/arena.h"
#include "common/base/err.h"

/* --- nftables --------------------------------------------------------------------------------- */

/* The layout of our table (docs/providers/local.md has it as nft prints it). */
#define LOCAL_NFT_LAYOUT 3
#define LOCAL_NFT_COMMENT                                                                          \
    "trimtab/local " /* what the table's comment begins with: "trimtab/local DIRECTOR LAYOUT" */
#define LOCAL_NFT_COMMENT_MAX 128 /* bytes of an element's comment */
#define LOCAL_SETTLE_MS       500 /* of settle(): some grace periods of a busy machine */
#define LOCAL_NFT_BATCH                                                                            \
    1000 /* elements of one transaction, as far as one frontend is not torn apart */

/* Numbers of our routes and addresses. */
struct local_rt_args {
    uint8_t protocol; /* ours */
    uint32_t table;   /* of LOCAL_ROUTE_EXPORT */
};
struct local_nft_table_args {
    const char *instance; /* name of the table, family inet */
    const char *director; /* for its comment */
    bool closed_ports_drop;
    uint32_t mark_bit;
    struct local_rt_args routes; /* the table says of which numbers they are */
};
struct local_nft_table {
    bool exists;
    bool ours;           /* its comment begins with LOCAL_NFT_COMMENT */
    unsigned layout;     /* of ours; 0: not readable */
    uint32_t generation; /* of the rule set, the kernel's count of transactions */
};

/* Sets and maps of the table; the family is that of the element's address. */
enum local_nft_set {
    LOCAL_NFT_SCOPE, /* scope4/6: net */
    LOCAL_NFT_VIP,   /* vip4/6: id.vip; comment "namespace/name" */
    LOCAL_NFT_ALL,   /* all4/6: id; all clients may come */
    LOCAL_NFT_FROM,  /* from4/6: id, net = who may come */
    LOCAL_NFT_ALSO,  /* also4/6: the same; while ranges of FROM are replaced by ones that overlap */
    LOCAL_NFT_SNAT,  /* snat4/6: id */
    LOCAL_NFT_SLOT,  /* map f4/f6_rr/hash_M: id and slot → target */
};
struct local_nft_element {
    enum local_nft_set set;
    struct local_frontend_id id;
    struct ip_net net;
    const char *comment; /* or NULL */
    bool hash;           /* LOCAL_NFT_SLOT: map by the client's address, else by numgen */
    uint16_t m;          /* 4, 16, 64, 256 */
    uint16_t slot;
    struct ip_addr target;
    uint16_t target_port;
};
struct local_nft_change {
    /* else add; both are exact: an add of a key that is there with another value, and a delete of
     * one that is not, fail all */
    bool del;
    struct local_nft_element e;
};

/* --- addresses, routes, links ----------------------------------------------------------------- */

struct local_link {
    int index;
    const char *name;
    bool up; /* has a carrier */
    uint8_t mac[6];
    bool ethernet; /* mac is one; ARP and NDP can be sent */
    unsigned mtu;  /* bytes of a packet; 0: not known */
    bool loopback;
    int bridge;   /* index of the bridge that it is a port of; 0: it is not a port of a bridge */
    bool hairpin; /* a port: its bridge sends frames out where they came in */
};
struct local_link_addr {
    int link;
    struct ip_net net; /* host bits kept */
    int64_t valid_ms;  /* left; -1: forever */
    bool ours;         /* by its protocol number */
};
enum local_route_kind {
    LOCAL_ROUTE_HOLD,   /* local ADDR/32 or /128 dev lo table local, by our protocol number */
    LOCAL_ROUTE_EXPORT, /* blackhole ADDR/32 or /128 in the table for routing daemons */
};
struct local_route {
    enum local_route_kind kind;
    struct ip_addr addr;
};

/* --- announcing ------------------------------------------------------------------------------- */

/* A host on a link, as the kernel has heard of it. */
struct local_neighbour {
    struct ip_addr addr;
    uint8_t mac[6];
};
struct local_probe_answer {
    bool answered;
    uint8_t mac[6];
};
/* Another host says that it has the address. */
struct local_heard {
    struct ip_addr addr;
    uint8_t mac[6];
};
/* An address of this machine by which a VIP is held. */
struct local_held_addr {
    int link;
    struct ip_addr addr;
};
#define LOCAL_CT_NONE                                                                              \
    "this kernel has no ctnetlink (module nf_conntrack_netlink): connections to targets that are " \
    "gone end only by themselves (modprobe nf_conntrack_netlink, CONFIG_NF_CT_NETLINK)"
/* Connections to a frontend whose answers come from this target. */
struct local_connection {
    struct local_frontend_id id;
    struct ip_addr target; /* len 0: from any other address or port than the frontend's own */
    uint16_t port;         /* of the target; 0 without one */
};

/* --- IPVS ------------------------------------------------------------------------------------- */

/* Flags of a virtual service; the numbers are the kernel's.  The last two mean what the scheduler
 * makes of them. */
#define LOCAL_IPVS_PERSISTENT 0x1u
#define LOCAL_IPVS_ONE_PACKET 0x4u
#define LOCAL_IPVS_FALLBACK   0x8u  /* sh-fallback, mh-fallback */
#define LOCAL_IPVS_PORT       0x10u /* sh-port, mh-port */
#define LOCAL_IPVS_SCHEDULER_MAX                                                                   \
    16 /* bytes of a scheduler's name, with the NUL: IP_VS_SCHEDNAME_MAXLEN */

enum local_ipvs_method { LOCAL_IPVS_NAT = 0, LOCAL_IPVS_TUNNEL = 2, LOCAL_IPVS_DR = 3 };

/* One virtual service; a persistent one keeps whole addresses (netmask 32 or 128)
 * to a destination. */
struct local_ipvs_service {
    struct local_frontend_id id;
    char scheduler[LOCAL_IPVS_SCHEDULER_MAX];
    uint32_t flags;
    uint32_t timeout_s; /* of LOCAL_IPVS_PERSISTENT; else 0 */
};
struct local_ipvs_dest {
    struct ip_addr addr;
    uint16_t port;
    uint16_t weight;
    enum local_ipvs_method method;
    enum local_tunnel tunnel; /* of LOCAL_IPVS_TUNNEL */
    uint16_t tunnel_port;     /* of LOCAL_TUNNEL_GUE */
    uint32_t active;          /* read only: connections that are established */
};
/* Counted by the kernel since the virtual service was made. */
struct local_ipvs_traffic {
    struct local_frontend_id id;
    uint64_t connections;
    uint64_t in_bytes, out_bytes; /* out: 0 where answers do not come back this way */
};
/* A virtual service as it is in the kernel. */
struct local_ipvs_list {
    struct local_ipvs_service service;
    bool there;
    struct local_ipvs_dest *dests;
    size_t n_dests;
};
enum local_ipvs_what {
    LOCAL_IPVS_ADD_SERVICE,
    LOCAL_IPVS_SET_SERVICE,
    LOCAL_IPVS_DEL_SERVICE, /* with its destinations */
    LOCAL_IPVS_ADD_DEST,
    LOCAL_IPVS_SET_DEST,
    LOCAL_IPVS_DEL_DEST,
};
struct local_ipvs_change {
    enum local_ipvs_what what;
    struct local_ipvs_service service; /* of changes of a destination the id alone */
    struct local_ipvs_dest dest;
};
/* A daemon that sends connections to other directors, or receives theirs; the kernel has
 * at most one of each. */
#define LOCAL_IPVS_DAEMONS 2
struct local_ipvs_daemon {
    bool backup;        /* it receives */
    char interface[16]; /* IFNAMSIZ */
    uint8_t id;         /* directors with the same one hear each other */
};
#define LOCAL_IPVS_NONE                                                                            \
    "this kernel has no IPVS (module ip_vs); mode nft works without: modprobe ip_vs "              \
    "(CONFIG_IP_VS)"
/* ERR_BUG: the kernel would refuse it, or would take it and do something else (a weight above
 * 65,535 cannot be said here; a port that a packet does not go to; a protocol that is not served).
 * Asked before every change.  Pure. */
int local_ipvs_check(const struct local_ipvs_change *c, struct err *err) _warn_unused_;
/* The code and the sentence for what the kernel said to a change; ERR_OK where it
 * is tolerated. Pure. */
int local_ipvs_said(const struct local_ipvs_change *c, int error, struct err *err) _warn_unused_;

/* --- what others do --------------------------------------------------------------------------- */

enum local_event_kind {
    LOCAL_EVENT_TABLE = 0, /* our table, or something in it, came, changed or went */
    LOCAL_EVENT_HOLD,      /* a route or an address of ours went, or was replaced: addr */
    LOCAL_EVENT_FREED,     /* a route or an address that is not ours went: addr */
    LOCAL_EVENT_LINK,      /* a link came, changed or went, or got an address that is not ours */
    LOCAL_EVENT_LOST,      /* the kernel could not tell all (ENOBUFS): anything may have changed */
};
struct local_event {
    enum local_event_kind kind;
    struct ip_addr addr;
};
#define LOCAL_WATCH_FDS 2

/* --- counts ----------------------------------------------------------------------------------- */

/* Requests of one kind that were answered alike. */
struct local_kernel_count {
    const char *api;  /* "nft", "rtnl", "ct", "ipvs" */
    const char *op;   /* as the kernel calls the message, in small letters */
    const char *code; /* "ok", or the name of an errno; ENOBUFS: the answer was lost */
    uint64_t n;
};
/* An exchange with the kernel, one request or several and all their answers, took so long.  Any
 * thread that uses the handle. */
typedef void local_kernel_took_fn(void *arg, const char *api, double seconds);

struct local_kernel;
struct local_kernel_ops {
    /* Makes the table with all sets, maps, chains and rules of the layout, in one transaction. */
    int (*nft_make)(struct local_kernel *k, const struct local_nft_table_args *args,
                    struct err *err);
    /* A table that is not there is no error. */
    int (*nft_look)(struct local_kernel *k, const char *instance, struct local_nft_table *ret,
                    struct err *err);
    /* Names of the tables of all instances on this machine, in no order. */
    int (*nft_instances)(struct local_kernel *k, struct arena *a, const char ***ret, size_t *ret_n,
                         struct err *err);
    /* Where kube-proxy's rules are on this machine ("table ip kube-proxy", "chain KUBE-SERVICES"; a
     * text that lives for ever); NULL:  nowhere in nftables. */
    int (*kube_proxy)(struct local_kernel *k, const char **ret, struct err *err);
    /* Of a table that is there and has other sets or rules: adds the sets that are missing, with
     * those of the elements (all of them adds) that belong to them, makes all rules anew in one
     * transaction, and drops what is not ours.  Each packet meets old rules or new ones;
     * connections go on. */
    int (*nft_remake)(struct local_kernel *k, const struct local_nft_table_args *args,
                      const struct local_nft_change *adds, size_t n, struct err *err);
    /* Does the table have the sets, chains and rules that nft_make() makes of these arguments?
     * *ret_whole false: others took, added or changed some, or it has another layout or was made of
     * other arguments.  *ret_routes: the numbers that it says; protocol 0: none. */
    int (*nft_check)(struct local_kernel *k, const struct local_nft_table_args *args,
                     bool *ret_whole, struct local_rt_args *ret_routes, struct err *err);
    /* One transaction: all deletes, then all adds, whatever their order. */
    int (*nft_commit)(struct local_kernel *k, const char *instance,
                      const struct local_nft_change *changes, size_t n, struct err *err);
    /* Calls `each` for all elements of the table, sets one after the other; the element lives
     * during the call only.  Of a table of another layout: those of sets that have the name and the
     * keys of ours, and those of layout 1 as they are in this one. */
    int (*nft_list)(struct local_kernel *k, const char *instance,
                    void (*each)(void *arg, const struct local_nft_element *e), void *arg,
                    struct err *err);
    /* The same for one frontend: its elements of the sets ALL, FROM, ALSO, SNAT and SLOT, and the
     * VIP's. Needs no more than a few requests.  Leftovers that no transaction of ours makes may
     * not be found: slots of a map without slot 0, and ranges of a frontend whose VIP is absent or
     * that all clients may come to.  They make a change fail with ERR_CONFLICT again; nft_list
     * finds them. */
    int (*nft_read)(struct local_kernel *k, const char *instance,
                    const struct local_frontend_id *id,
                    void (*each)(void *arg, const struct local_nft_element *e), void *arg,
                    struct err *err);
    int (*nft_remove)(struct local_kernel *k, const char *instance, struct err *err);
    /* Packets that the kernel had begun to look up are through when this returns ERR_OK.  Between
     * two transactions: a packet that missed what the first one brought does not miss what
     * the second one takes away, too.  Waits for LOCAL_SETTLE_MS at most; no request.
     * ERR_INVALID: the kernel does not say so; ERR_TRANSIENT: not in time. */
    int (*settle)(struct local_kernel *k, struct err *err);

    int (*links)(struct local_kernel *k, struct arena *a, struct local_link **ret, size_t *ret_n,
                 struct err *err);
    int (*addrs)(struct local_kernel *k, struct arena *a, struct local_link_addr **ret,
                 size_t *ret_n, struct err *err);
    /* valid_ms -1: forever; else its lifetime counts anew.  IPv6: nodad,
     * noprefixroute, preferred lifetime 0. */
    int (*addr_set)(struct local_kernel *k, int link, const struct ip_addr *addr, int64_t valid_ms,
                    struct err *err);
    int (*addr_del)(struct local_kernel *k, int link, const struct ip_addr *addr, struct err *err);
    /* The same for many, pipelined: each gets the lifetime `valid_ms`, or goes if that is 0; one
     * that is not there may go.  ret_codes[i] is the code of each, the result that of
     * the first that failed. */
    int (*addrs_change)(struct local_kernel *k, const struct local_held_addr *items, size_t n,
                        int64_t valid_ms, int *ret_codes, struct err *err);
    /* All of ours, of both kinds and families. */
    int (*routes)(struct local_kernel *k, struct arena *a, struct local_route **ret, size_t *ret_n,
                  struct err *err);
    /* Pipelined; ret_codes[i] is the code of each (ERR_OK, ERR_CONFLICT …), the result that of the
     * first that failed.  An add of what is there and is ours is fine, as is a delete of
     * what is not there. */
    int (*routes_change)(struct local_kernel *k, bool del, const struct local_route *routes,
                         size_t n, int *ret_codes, struct err *err);
    /* Routes and addresses of these numbers, which an earlier run had, become ours; none of them is
     * away for a moment, but those that are exported in another table stand in both for one. */
    int (*routes_adopt)(struct local_kernel *k, const struct local_rt_args *old, struct err *err);

    /* Gratuitous ARP request and reply, or unsolicited neighbour advertisement with
     * override, on this link. */
    int (*announce)(struct local_kernel *k, const struct local_link *link,
                    const struct ip_addr *addrs, size_t n, struct err *err);
    /* Sends an ARP probe (RFC 5227), or a neighbour solicitation as for
     * duplicate address detection. */
    int (*probe_send)(struct local_kernel *k, const struct local_link *link,
                      const struct ip_addr *addr, struct err *err);
    /* Has a host answered since the last call?  Does not block.  ERR_BUG: no probe was sent. */
    int (*probe_answer)(struct local_kernel *k, const struct local_link *link,
                        const struct ip_addr *addr, struct local_probe_answer *ret,
                        struct err *err);

    /* Those whose MAC is known. */
    int (*neighbours)(struct local_kernel *k, struct arena *a, struct local_neighbour **ret,
                      size_t *ret_n, struct err *err);

    /* Claims of other hosts on the link since the last call, at most `max`; does not block.
     * Listens from the first call on. */
    int (*hear)(struct local_kernel *k, const struct local_link *link, struct local_heard *ret,
                size_t max, size_t *ret_n, struct err *err);
    /* Answers the ARP requests that hosts have sent on the link since the last call, as far as
     * `mine` says that the address is to be answered for; *ret_n: how many.  Does not block.
     * Listens from the first call on; `mine` NULL: no more. */
    int (*respond)(struct local_kernel *k, const struct local_link *link,
                   bool (*mine)(void *arg, const struct ip_addr *addr), void *arg, unsigned *ret_n,
                   struct err *err);
    /* Sockets that become readable when there may be something to hear or to answer. */
    size_t (*ears)(const struct local_kernel *k, int *ret_fds, size_t max);

    /* Entries of these connections end; *ret_n: how many there were.  With a target those that are
     * open; with any target, of a port that is closed, all.  The kernel walks its whole
     * table of connections once, however many are asked for: some 80 ms with 262,144 buckets. */
    /* ERR_INVALID: it cannot (LOCAL_CT_NONE). */
    int (*connections_delete)(struct local_kernel *k, const struct local_connection *gone, size_t n,
                              unsigned *ret_n, struct err *err);

    /* "net.ipv4.ip_forward": its number; ERR_NOT_FOUND: this kernel has none of the name. */
    int (*sysctl_read)(struct local_kernel *k, const char *name, int64_t *ret, struct err *err);
    int (*sysctl_write)(struct local_kernel *k, const char *name, int64_t value, struct err *err);
    /* ERR_INVALID: LOCAL_IPVS_NONE; ERR_AUTH: it has, and we may not. */
    int (*ipvs_look)(struct local_kernel *k, struct err *err);
    /* All virtual services but those by firewall mark, without their destinations, in no order. */
    int (*ipvs_services)(struct local_kernel *k, struct arena *a, struct local_ipvs_service **ret,
                         size_t *ret_n, struct err *err);
    /* Counts of the same services; one request. */
    int (*ipvs_traffic)(struct local_kernel *k, struct arena *a, struct local_ipvs_traffic **ret,
                        size_t *ret_n, struct err *err);
    /* The one of ret->service.id, and its destinations sorted by address and port; ret->there
     * false: there is none. */
    int (*ipvs_read)(struct local_kernel *k, struct arena *a, struct local_ipvs_list *ret,
                     struct err *err);
    /* Pipelined, in this order; ret_codes[i] is the code of each, the result that of the first that
     * failed.  A delete of what is not there is fine. */
    int (*ipvs_change)(struct local_kernel *k, const struct local_ipvs_change *changes, size_t n,
                       int *ret_codes, struct err *err);
    /* From now on the kernel tells of changes that others make to the table of this instance, to
     * routes, addresses and links.  Handles of this process are not others: this one, and `own`
     * (may be NULL). */
    int (*watch)(struct local_kernel *k, const char *instance, const struct local_kernel *own,
                 struct err *err);
    /* Calls `each` for all that the kernel told since the last call; does not block, and leaves the
     * rest of a flood for the next one.  Without watch(): nothing. */
    int (*heard)(struct local_kernel *k, void (*each)(void *arg, const struct local_event *e),
                 void *arg, struct err *err);
    /* Descriptors that become readable when it has told something; returns how many. */
    unsigned (*watch_fds)(const struct local_kernel *k, int fds[LOCAL_WATCH_FDS]);
    /* Those that run. */
    int (*ipvs_daemons)(struct local_kernel *k, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                        size_t *ret_n, struct err *err);
    /* ERR_CONFLICT: one of the kind runs already, or (stop) none does; ERR_INVALID: there is no
     * such interface. */
    int (*ipvs_daemon_change)(struct local_kernel *k, bool stop, const struct local_ipvs_daemon *d,
                              struct err *err);
    /* How many requests were sent so far, by kind of API: for metrics and tests ("nft", "rtnl",
     * "ct", "ipvs"). */
    uint64_t (*requests)(const struct local_kernel *k, const char *api);
    /* Calls `each` for the counts of all kinds that were sent so far; their texts live for ever. */
    void (*counts)(const struct local_kernel *k,
                   void (*each)(void *arg, const struct local_kernel_count *c), void *arg);
    /* From now on `took` hears of each exchange. */
    void (*time_exchanges)(struct local_kernel *k, local_kernel_took_fn *took, void *arg);
    void (*free)(struct local_kernel *k);
};
/* Embedded at the begin of an implementation's handle. */
struct local_kernel {
    const struct local_kernel_ops *ops;
};

/* The kernel of this machine, in the namespaces of the caller.  ERR_INVALID, ERR_AUTH: no netlink
 * socket, or no nf_tables. */
int local_kernel_open(const struct local_rt_args *args, struct local_kernel **ret,
                      struct err *err) _warn_unused_;
/* The lock of the instance on this machine (abstract socket @trimtab-local-INSTANCE), until *ret_fd
 * is closed.  ERR_CONFLICT: "another trimtab with instance "trimtab" runs here (pid 812); …". */
int local_kernel_lock(const char *instance, int *ret_fd, struct err *err) _warn_unused_;
/* Does a process have this lock? */
bool local_kernel_is_locked(const char *instance);

#endif
