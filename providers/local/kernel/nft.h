/* SPDX-License-Identifier: Apache-2.0 */
/* nft.h: what the files of nf_tables share inside the room: messages of a transaction, and
 * sentences for refusals. */
#ifndef TRIMTAB_LOCAL_KERNEL_NFT_H
#define TRIMTAB_LOCAL_KERNEL_NFT_H

#include "providers/local/kernel/netlink.h"
#include "providers/local/kernel/nft_layout.h"
#include "providers/local/kernel/nft_ranges.h"

#include <netinet/in.h> /* before the kernel's headers, which then leave out what this one has */

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

/* Opens a message of nf_tables for the family inet; `type` is an NFT_MSG_*. */
struct nlmsghdr *local_nft_begin(struct local_nl *nl, struct local_nl_buf *b, uint16_t type,
                                 uint16_t flags);
/* Puts the frame of a transaction around messages: begin before the first, end behind the last. */
void local_nft_batch_begin(struct local_nl *nl, struct local_nl_buf *b);
void local_nft_batch_end(struct local_nl *nl, struct local_nl_buf *b);

/* The first refusal of a transaction. */
struct local_nft_refusal {
    int error; /* errno; 0: it is done */
    uint32_t seq;
    size_t offset;
    char text[128]; /* the kernel's words, or "" */
};
/* Sends a transaction whose last message but the end has the number `last`.  A refusal is not an
 * error of this function. */
int local_nft_send(struct local_nl *nl, const struct local_nl_buf *b, uint32_t last,
                   struct local_nft_refusal *ret, struct err *err) _warn_unused_;
/* Modules of nf_tables without which our table cannot be made, one bit for each. */
#define LOCAL_NFT_MODULES 6
struct local_nft_lacks {
    bool lacks[LOCAL_NFT_MODULES];
};
/* Notes the module that a refusal is about, if it is about one. */
void local_nft_lacks_note(struct local_nft_lacks *l, const struct local_nl_buf *b,
                          const struct local_nl_ack *ack);
bool local_nft_lacks_some(const struct local_nft_lacks *l);
/* "this kernel has not all of nf_tables: modprobe nft_numgen (CONFIG_NFT_NUMGEN)"; all are named
 * when none is noted.  Always fails. */
int local_nft_lacks_say(const struct local_nft_lacks *l, struct err *err);
#define LOCAL_NFT_NONE                                                                             \
    "this kernel has no nf_tables (module nf_tables): modprobe nf_tables (CONFIG_NF_TABLES_INET)"
/* Makes an error of errno.  `what` is what was asked for; `words` are the kernel's, or
 * "".  Always fails. */
int local_nft_error(struct err *err, int error, const char *what, const char *words);

/* Opens the list of elements of a message; the caller ends that nest. */
struct nlattr *local_nft_begin_list(struct nlmsghdr *m, const char *instance, const char *set);
/* Puts an element of such a list that is asked for: the key, of an interval its first one. */
void local_nft_put_key(struct nlmsghdr *m, const struct local_nft_element *e);

/* The implementations of the functions of kernel.h.  `ranges` is the copy that belongs to the
 * handle. */
int local_nft_make(struct local_nl *nl, const struct local_nft_table_args *args, struct err *err);
int local_nft_remake(struct local_nl *nl, const struct local_nft_table_args *args,
                     const struct local_nft_change *adds, size_t n, struct err *err);
int local_nft_check(struct local_nl *nl, const struct local_nft_table_args *args, bool *ret_whole,
                    struct local_rt_args *ret_routes, struct err *err);
/* Puts the messages that make the table, and those that add elements to it, behind what is in the
 * buffer; *ret_last is the sequence number of the last one. */
void local_nft_put_table(struct local_nl *nl, struct local_nl_buf *b,
                         const struct local_nft_table_args *args, uint32_t *ret_last);
/* Chains and rules alone; chains may be there. */
void local_nft_put_rules(struct local_nl *nl, struct local_nl_buf *b,
                         const struct local_nft_table_args *args, uint32_t *ret_last);
/* One of the sets alone. */
void local_nft_put_set(struct local_nl *nl, struct local_nl_buf *b, const char *instance,
                       unsigned number, uint32_t *ret_last);
/* The comment of the rule in tt_snat, by which the next process finds the routes of this one. */
#define LOCAL_NFT_ROUTES "routes: protocol %u table %u"
#define LOCAL_NFT_CHAINS 4
/* Does our layout have a chain, or a set, of this name? */
bool local_nft_is_chain(const char *name);
bool local_nft_is_set(const char *name);
int local_nft_put_adds(struct local_nl *nl, struct local_nl_buf *b, const char *instance,
                       const struct local_nft_change *adds, size_t n, uint32_t *ret_last,
                       struct err *err);
/* Has the message with this number acknowledged; older kernels do not do so for the end
 * of a transaction. */
void local_nft_ask_ack(struct local_nl_buf *b, uint32_t seq);
int local_nft_look(struct local_nl *nl, const char *instance, struct local_nft_table *ret,
                   struct err *err);
/* Where kube-proxy's rules are on this machine ("table ip kube-proxy"; a static
 * text); NULL: nowhere. */
int local_nft_kube_proxy(struct local_nl *nl, const char **ret, struct err *err);
int local_nft_instances(struct local_nl *nl, struct arena *a, const char ***ret, size_t *ret_n,
                        struct err *err);
int local_nft_remove(struct local_nl *nl, const char *instance, struct err *err);
int local_nft_commit(struct local_nl *nl, struct local_nft_ranges *ranges, const char *instance,
                     const struct local_nft_change *changes, size_t n, struct err *err);
typedef void local_nft_each_fn(void *arg, const struct local_nft_element *e);
int local_nft_list(struct local_nl *nl, const char *instance, local_nft_each_fn *each, void *arg,
                   struct err *err);
struct local_nft_read_args {
    const char *instance;
    const struct local_frontend_id *id;
    local_nft_each_fn *each;
    void *arg;
};
int local_nft_read(struct local_nl *nl, struct local_nft_ranges *ranges,
                   const struct local_nft_read_args *args, struct err *err);
/* Asks for the generation of the rule set: fails when there is no nf_tables, or no right to it. */
int local_nft_generation(struct local_nl *nl, uint32_t *ret, struct err *err);
/* The generation that a message says; true if it is of that kind. */
bool local_nft_read_generation(const struct nlmsghdr *m, uint32_t *ret);

#endif
