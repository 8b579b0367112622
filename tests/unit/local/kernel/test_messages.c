/* SPDX-License-Identifier: Apache-2.0 */
/* test_messages.c: messages of netlink byte for byte, and what refusals become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "providers/local/kernel/nft.h"
#include "providers/local/kernel/nft_expr.h"
#include "tests/support/unit.h"

/* The expressions of a rule, without the message around them. */
static void assert_exprs(struct local_nl_buf *b, const struct local_nft_rule *r, const char *want)
{
    char got[1024] = "";
    const uint8_t *at = (const uint8_t *)r->exprs + MNL_ATTR_HDRLEN;
    size_t n = r->m->nlmsg_len - (size_t)(at - (const uint8_t *)r->m);
    for (size_t i = 0; i < n; i++) {
        snprintf(got + 2 * i, 3, "%02x", at[i]);
    }
    assert_string_equal(got, want);
    local_nl_buf_done(b);
}

static struct local_nft_rule rule(struct local_nl *nl, struct local_nl_buf *b)
{
    struct nlmsghdr *m = local_nft_begin(nl, b, NFT_MSG_NEWRULE, 0);
    return (struct local_nft_rule){m, mnl_attr_nest_start(m, NFTA_RULE_EXPRESSIONS)};
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Lengths and types of attributes are in the machine's order, numbers in them are not. */
static void exprs__laid_out__as_the_kernel_reads_them(void **state)
{
    (void)state;
    struct local_nl nl = {0};
    struct local_nl_buf b = {0};
    struct local_nft_rule r = rule(&nl, &b);
    local_nft_meta_load(&r, NFT_META_L4PROTO, local_nft_reg(1));
    assert_exprs(&b, &r,
                 "24000180"
                 "09000100"
                 "6d65746100000000"
                 "14000280"
                 "08000200"
                 "00000010"
                 "08000100"
                 "00000009");
    r = rule(&nl, &b);
    local_nft_verdict(&r, NFT_RETURN);
    assert_exprs(&b, &r,
                 "30000180"
                 "0e000100"
                 "696d6d6564696174650000"
                 "00"
                 "1c000280"
                 "08000100"
                 "00000000"
                 "10000280"
                 "0c000280"
                 "08000100"
                 "fffffffb");
    r = rule(&nl, &b);
    local_nft_reject(&r, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_PORT_UNREACH);
    assert_exprs(&b, &r,
                 "24000180"
                 "0b000100"
                 "72656a65637400"
                 "00"
                 "14000280"
                 "08000100"
                 "00000002"
                 "05000200"
                 "01000000");
}

static void elements_of_a_message__nest_and_end(void **state)
{
    (void)state;
    struct local_nl nl = {0};
    struct local_nl_buf b = {0};
    struct local_nft_element e = {.set = LOCAL_NFT_VIP};
    assert_true(ip_parse("203.0.113.5", &e.id.vip));
    struct nlmsghdr *m = local_nft_begin(&nl, &b, NFT_MSG_GETSETELEM, NLM_F_ACK);
    struct nlattr *list = local_nft_begin_list(m, "tt", "vip4");
    local_nft_put_key(m, &e);
    mnl_attr_nest_end(m, list);
    local_nl_end(&b);
    char got[256] = "";
    for (size_t i = 0; i < b.len; i++) {
        snprintf(got + 2 * i, 3, "%02x", b.data[i]);
    }
    assert_string_equal(got, "3c000000"
                             "0d0a"
                             "0500"
                             "01000000"
                             "00000000" /* header */
                             "01000000" /* inet */
                             "07000100"
                             "74740000"
                             "09000200"
                             "7669703400000000"
                             "14000380"
                             "10000180"
                             "0c000180"
                             "08000100"
                             "cb007105");
    local_nl_buf_done(&b);
}
#endif

static void registers__named_as_nft_does(void **state)
{
    (void)state;
    assert_int_equal(local_nft_reg(0), NFT_REG_1);
    assert_int_equal(local_nft_reg(1), NFT_REG32_01);
    assert_int_equal(local_nft_reg(4), NFT_REG_2);
    assert_int_equal(local_nft_reg(6), NFT_REG32_06);
    assert_int_equal(local_nft_reg(8), NFT_REG_3);
}

static void buffers__grow__and_number_their_messages(void **state)
{
    (void)state;
    struct local_nl nl = {.seq = 41};
    struct local_nl_buf b = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        struct nlmsghdr *m = local_nl_begin(&nl, &b, 16, NLM_F_ACK, 4);
        mnl_attr_put(m, 1, 200, (const uint8_t[200]){0});
        assert_int_equal(m->nlmsg_seq, 42 + i);
        local_nl_end(&b);
    }
    int left = (int)b.len;
    uint32_t n = 0;
    for (struct nlmsghdr *m = (void *)b.data; mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left)) {
        assert_int_equal(m->nlmsg_seq, 42 + n++);
    }
    assert_int_equal(n, 1000);
    assert_int_equal(b.n, 1000);
    assert_int_equal(b.first_seq, 42);
    local_nl_buf_done(&b);
}

static void buffers__of_a_socket__next_one_gets_the_same_zeroed_memory(void **state)
{
    (void)state;
    struct local_nl nl = {0};
    struct local_nl_buf first = {0}, second = {0}, third = {0};
    struct err err = ERR_INIT;
    const uint8_t ones[400] = {[0 ... 399] = 0xff};
    const uint8_t zeroes[1000] = {0};
    assert_int_equal(local_nl_open(&nl, NETLINK_ROUTE, NULL, &err), ERR_OK);
    mnl_attr_put(local_nl_begin(&nl, &first, 16, 0, 0), 1, sizeof(ones), ones);
    local_nl_end(&first);
    mnl_attr_put(local_nl_begin(&nl, &first, 16, 0, 0), 1, sizeof(ones), ones); /* not ended */
    const uint8_t *was = first.data;
    local_nl_buf_done(&first);
    (void)local_nl_begin(&nl, &second, 0, 0, 0);
    assert_ptr_equal(second.data, was);
    assert_memory_equal(second.data + NLMSG_HDRLEN, zeroes, sizeof(zeroes));
    (void)local_nl_begin(&nl, &third, 0, 0, 0); /* while the second is in use */
    assert_ptr_not_equal(third.data, was);
    local_nl_buf_done(&third);
    local_nl_buf_done(&second);
    local_nl_close(&nl);
}

#define FULL "; others made the set with a size, or it has more elements than this kernel allows"

static void refusals__become_codes_and_sentences(void **state)
{
    static const struct {
        int error, code;
        const char *want;
    } rows[] = {
        {EPERM, ERR_AUTH, "not allowed to change nftables: CAP_NET_ADMIN is needed"},
        {EEXIST, ERR_CONFLICT, "another program changed 203.0.113.5:80/tcp (File exists)"},
        {ENOENT, ERR_CONFLICT,
         "another program changed 203.0.113.5:80/tcp (No such file or directory)"},
        {ENFILE, ERR_INVALID,
         "nft set full: no room for 203.0.113.5:80/tcp (Too many open files in system)" FULL},
        {ENOSPC, ERR_INVALID,
         "nft set full: no room for 203.0.113.5:80/tcp (No space left on device)" FULL}, /* F11 */
        {EOPNOTSUPP, ERR_INVALID, LOCAL_NFT_NONE},
        {ENOMEM, ERR_TRANSIENT, "nft: 203.0.113.5:80/tcp: Cannot allocate memory"},
        {EINTR, ERR_TRANSIENT, "nft: 203.0.113.5:80/tcp: Interrupted system call"},
        {EINVAL, ERR_BUG, "nft: 203.0.113.5:80/tcp: Invalid argument"},
        {ERANGE, ERR_TRANSIENT, "nft: 203.0.113.5:80/tcp: Numerical result out of range"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = ERR_INIT;
        assert_int_equal(local_nft_error(&err, rows[i].error, "203.0.113.5:80/tcp", ""),
                         rows[i].code);
        assert_string_equal(err.message, rows[i].want);
    }
    struct err err = ERR_INIT;
    (void)local_nft_error(&err, EINVAL, "10.0.0.0/24",
                          "interval overlaps"); /* the sentence is checked */
    assert_string_equal(err.message, "nft: 10.0.0.0/24: Invalid argument: interval overlaps");
}

/* The first message with an expression of this name, and its place; NULL: the first chain of the
 * type nat. */
static void find_refused(const struct local_nl_buf *b, const char *name, struct local_nl_ack *ret)
{
    int left = (int)b->len;

    for (const struct nlmsghdr *m = (const void *)b->data; mnl_nlmsg_ok(m, left);
         m = mnl_nlmsg_next(m, &left)) {
        struct local_nl_attrs at, one;
        const struct nlattr *item;
        ret->seq = m->nlmsg_seq;
        local_nl_parse(m, sizeof(struct nfgenmsg), &at);
        if (name == NULL && (m->nlmsg_type & 0xff) == NFT_MSG_NEWCHAIN &&
            local_nl_text_is(at.at[NFTA_CHAIN_TYPE], "nat")) {
            return;
        }
        if (name == NULL || (m->nlmsg_type & 0xff) != NFT_MSG_NEWRULE) {
            continue;
        }
        LOCAL_NL_EACH_IN(item, at.at[NFTA_RULE_EXPRESSIONS])
        {
            local_nl_parse_nest(item, &one);
            ret->offset = (size_t)((const char *)item - (const char *)m);
            if (local_nl_text_is(one.at[NFTA_EXPR_NAME], name)) {
                return;
            }
        }
    }
    fail_msg("no %s", name);
}

static void codes__of_errnos_alone(void **state)
{
    static const struct {
        int error, code;
    } rows[] = {{EPERM, ERR_AUTH},
                {EACCES, ERR_AUTH},
                {EEXIST, ERR_CONFLICT},
                {ESRCH, ERR_CONFLICT},
                {EADDRNOTAVAIL, ERR_CONFLICT},
                {EAFNOSUPPORT, ERR_INVALID},
                {ENOBUFS, ERR_TRANSIENT},
                {ENOMEM, ERR_TRANSIENT},
                {ENODEV, ERR_TRANSIENT},
                {ENETDOWN, ERR_TRANSIENT},
                {EINVAL, ERR_BUG},
                {EMSGSIZE, ERR_BUG}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (local_nl_code(rows[i].error) != rows[i].code) {
            fail_msg("%s: %s", strerror(rows[i].error),
                     err_code_name(local_nl_code(rows[i].error)));
        }
    }
}

/* §11.3: what the kernel says to changes of IPVS. */
static void refusals_of_ipvs__become_sentences(void **state)
{
    static const struct {
        enum local_ipvs_what what;
        int error, code;
        const char *says;
    } rows[] = {
        {LOCAL_IPVS_ADD_SERVICE, 0, ERR_OK, ""},
        {LOCAL_IPVS_ADD_SERVICE, ENOENT, ERR_INVALID,
         "scheduler mh is not available in this kernel (module ip_vs_mh): modprobe ip_vs_mh "
         "(CONFIG_IP_VS_MH)"},
        {LOCAL_IPVS_SET_SERVICE, ENOENT, ERR_INVALID,
         "scheduler mh is not available in this kernel (module ip_vs_mh): modprobe ip_vs_mh "
         "(CONFIG_IP_VS_MH)"},
        {LOCAL_IPVS_ADD_SERVICE, EEXIST, ERR_CONFLICT,
         "another program changed 203.0.113.5:80/tcp"},
        {LOCAL_IPVS_SET_DEST, ENOENT, ERR_CONFLICT, "another program changed 203.0.113.5:80/tcp"},
        {LOCAL_IPVS_ADD_DEST, ESRCH, ERR_CONFLICT, "another program changed 203.0.113.5:80/tcp"},
        {LOCAL_IPVS_DEL_DEST, ENOENT, ERR_OK, ""}, /* L19 */
        {LOCAL_IPVS_DEL_SERVICE, ESRCH, ERR_OK, ""},
        {LOCAL_IPVS_ADD_DEST, EPERM, ERR_AUTH,
         "not allowed to change IPVS: CAP_NET_ADMIN in the initial user namespace is needed"},
        {LOCAL_IPVS_ADD_SERVICE, EAFNOSUPPORT, ERR_INVALID,
         "ipvs service 203.0.113.5:80/tcp: IPVS of this kernel has no IPv6 (CONFIG_IP_VS_IPV6); "
         "mode nft works without"},
        {LOCAL_IPVS_ADD_SERVICE, EPROTONOSUPPORT, ERR_INVALID,
         "ipvs service 203.0.113.5:80/tcp: IPVS of this kernel lacks the protocol "
         "(CONFIG_IP_VS_PROTO_TCP, CONFIG_IP_VS_PROTO_UDP)"},
        {LOCAL_IPVS_ADD_DEST, ENOMEM, ERR_TRANSIENT,
         "ipvs service 203.0.113.5:80/tcp: Cannot allocate memory"},
        {LOCAL_IPVS_ADD_DEST, ENFILE, ERR_TRANSIENT,
         "ipvs service 203.0.113.5:80/tcp: Too many open files in system"},
        {LOCAL_IPVS_ADD_DEST, EINVAL, ERR_BUG,
         "ipvs service 203.0.113.5:80/tcp: the kernel refuses it: Invalid argument"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_ipvs_change c = {
            .what = rows[i].what,
            .service = {.id = {.protocol = 6, .port = 80}, .scheduler = "mh"}};
        struct err err = ERR_INIT;
        assert_true(ip_parse("203.0.113.5", &c.service.id.vip));
        assert_int_equal(local_ipvs_said(&c, rows[i].error, &err), rows[i].code);
        assert_string_equal(err.message, rows[i].says);
    }
}

/* Refusals of the messages that make the table, by the name of an expression (NULL: the chain
 * tt_dnat) and where the kernel says that it stands. */
static void refusals_of_a_table__name_the_modules(void **state)
{
    static const struct {
        const char *refused[3];
        bool offsets; /* an old kernel gives none */
        const char *want;
    } rows[] = {
        {{"numgen"}, true, "nft_numgen (CONFIG_NFT_NUMGEN)"},
        {{"hash", "numgen"}, true, "nft_hash nft_numgen (CONFIG_NFT_HASH, CONFIG_NFT_NUMGEN)"},
        {{NULL},
         true,
         "nft_chain_nat nft_hash nft_masq nft_nat nft_numgen (CONFIG_NFT_NAT, CONFIG_NFT_HASH, "
         "CONFIG_NFT_MASQ, CONFIG_NFT_NUMGEN)"},
        {{"nat"}, true, "nft_nat (CONFIG_NFT_NAT)"},
        {{"masq", "reject"},
         true,
         "nft_masq nft_reject_inet (CONFIG_NFT_MASQ, CONFIG_NFT_REJECT_INET)"},
        {{"numgen"},
         false,
         "nft_chain_nat nft_hash nft_masq nft_nat nft_numgen nft_reject_inet (CONFIG_NFT_NAT, "
         "CONFIG_NFT_HASH, CONFIG_NFT_MASQ, CONFIG_NFT_NUMGEN, CONFIG_NFT_REJECT_INET)"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct local_nl nl = {.seq = 7};
        struct local_nl_buf b = {0};
        struct local_nft_lacks lacks = {{0}};
        struct err err = ERR_INIT;
        char want[320];
        const struct local_nft_table_args args = {.instance = "t", .director = "d", .mark_bit = 1};
        uint32_t last = 0;
        local_nft_put_table(&nl, &b, &args, &last);
        for (size_t k = 0; k < 3 && (k == 0 || rows[i].refused[k] != NULL); k++) {
            struct local_nl_ack ack = {.error = ENOENT};
            find_refused(&b, rows[i].refused[k], &ack);
            ack.offset = rows[i].offsets ? ack.offset : 0;
            local_nft_lacks_note(&lacks, &b, &ack);
        }
        assert_int_equal(local_nft_lacks_say(&lacks, &err), ERR_TRANSIENT);
        (void)snprintf(want, sizeof want, "this kernel has not all of nf_tables: modprobe %s",
                       rows[i].want);
        assert_string_equal(err.message, want);
        local_nl_buf_done(&b);
    }
}

UNIT_MAIN(messages)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_of_ipvs__become_sentences),
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        cmocka_unit_test(exprs__laid_out__as_the_kernel_reads_them),
        cmocka_unit_test(elements_of_a_message__nest_and_end),
#endif
        cmocka_unit_test(registers__named_as_nft_does),
        cmocka_unit_test(buffers__grow__and_number_their_messages),
        cmocka_unit_test(buffers__of_a_socket__next_one_gets_the_same_zeroed_memory),
        cmocka_unit_test(refusals__become_codes_and_sentences),
        cmocka_unit_test(refusals_of_a_table__name_the_modules),
        cmocka_unit_test(codes__of_errnos_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
