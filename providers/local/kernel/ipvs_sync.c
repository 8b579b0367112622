/* SPDX-License-Identifier: Apache-2.0 */
/* ipvs_sync.c: the daemons of IPVS that carry connections between directors: one sends (master),
 * one receives (backup). */
#include "providers/local/kernel/real.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/ip_vs.h>
#include <string.h>

struct listing {
    struct local_ipvs_daemon *items;
    size_t n;
    int error;
};

static void keep_daemon(void *arg, const struct nlmsghdr *m)
{
    struct listing *l = arg;
    struct local_nl_attrs at;
    local_nl_parse(m, sizeof(struct genlmsghdr), &at);
    if (at.at[IPVS_CMD_ATTR_DAEMON] == NULL || l->n == LOCAL_IPVS_DAEMONS) {
        return;
    }
    local_nl_parse_nest(at.at[IPVS_CMD_ATTR_DAEMON], &at);
    const struct nlattr *name = at.at[IPVS_DAEMON_ATTR_MCAST_IFN];
    struct local_ipvs_daemon *d = &l->items[l->n++];
    *d = (struct local_ipvs_daemon){.backup = local_nl_u32(at.at[IPVS_DAEMON_ATTR_STATE]) ==
                                              IP_VS_STATE_BACKUP,
                                    .id = (uint8_t)local_nl_u32(at.at[IPVS_DAEMON_ATTR_SYNC_ID])};
    if (name != NULL) {
        size_t n = mnl_attr_get_payload_len(name);
        n = n < sizeof(d->interface) ? n : sizeof(d->interface) - 1;
        memcpy(d->interface, mnl_attr_get_payload(name), n);
    }
}

static void keep_error(void *arg, const struct local_nl_ack *ack)
{
    struct listing *l = arg;
    l->error = l->error == 0 ? ack->error : l->error;
}

static int said(int error, const char *interface, struct err *err)
{
    const struct local_ipvs_change none = {.what = LOCAL_IPVS_SET_DEST};
    if (error == ENODEV) {
        return err_set(err, ERR_INVALID, "there is no interface %s", interface);
    }
    if (error == EEXIST || error == ESRCH) {
        return err_set(err, ERR_CONFLICT, "another program changed the daemons of IPVS");
    }
    return local_ipvs_said(&none, error, err);
}

int local_ipvs_daemons(struct local_ipvs *x, struct local_ipvs_daemon ret[LOCAL_IPVS_DAEMONS],
                       size_t *ret_n, struct err *err)
{
    struct local_nl_buf b = {0};
    struct listing l = {.items = ret};
    struct nlmsghdr *m = NULL;
    struct local_nl_hear hear = {.message = keep_daemon, .ack = keep_error, .arg = &l};
    int code = local_ipvs_begin(x, &b, IPVS_CMD_GET_DAEMON, NLM_F_DUMP, &m, err);
    if (code == ERR_OK) {
        local_nl_end(&b);
        code = local_nl_talk(&x->nl, &b, b.first_seq, &hear, err);
    }
    local_nl_buf_done(&b);
    *ret_n = l.n;
    return code == ERR_OK && l.error != 0 ? said(l.error, "", err) : code;
}

int local_ipvs_daemon_change(struct local_ipvs *x, bool stop, const struct local_ipvs_daemon *d,
                             struct err *err)
{
    struct local_nl_buf b = {0};
    struct nlmsghdr *m = NULL;
    int error = 0;
    int code = local_ipvs_begin(x, &b, stop ? IPVS_CMD_DEL_DAEMON : IPVS_CMD_NEW_DAEMON, NLM_F_ACK,
                                &m, err);
    if (code == ERR_OK) {
        struct nlattr *nest = mnl_attr_nest_start(m, IPVS_CMD_ATTR_DAEMON);
        mnl_attr_put_u32(m, IPVS_DAEMON_ATTR_STATE,
                         d->backup ? IP_VS_STATE_BACKUP : IP_VS_STATE_MASTER);
        mnl_attr_put_strz(m, IPVS_DAEMON_ATTR_MCAST_IFN, d->interface);
        mnl_attr_put_u32(m, IPVS_DAEMON_ATTR_SYNC_ID, d->id);
        mnl_attr_nest_end(m, nest);
        local_nl_end(&b);
        code = local_nl_ask(&x->nl, &b, NULL, &error, err);
    }
    local_nl_buf_done(&b);
    return code == ERR_OK && error != 0 ? said(error, d->interface, err) : code;
}
