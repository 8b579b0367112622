/* SPDX-License-Identifier: Apache-2.0 */
/* amz_fixture.h: a simulated AWS in this process, and a client that signs its requests and reads
 * the XML.
 *
 * On top of the simulator's fixture: requests by service and action, answers as JSON (element
 * names; what holds only <item> or <member> is a list; EC2 without its root, the others below
 * …Result; errors as {"Code", "Message"}), and a log of all traffic (for aws_traffic_test.py) in
 * the folder that TRIMTAB_AWS_LOGS names. */
#ifndef TRIMTAB_TESTS_SIM_AWS_FIXTURE_H
#define TRIMTAB_TESTS_SIM_AWS_FIXTURE_H

#include "tests/unit/sim/fixture.h"

/* A request that must change nothing. */
struct amz_row {
    const char *what;
    const char *service, *action, *params;
    int status;
    const char *code;
    const char *text; /* must be in the message; NULL: not looked at */
};

/* Signer and form of a signature; NULL or 0: the correct value. */
struct amz_signer {
    const char *access_key, *secret, *session;
    const char *region, *scope;
    const char *host;     /* that is signed */
    const char *amz_date; /* that is sent and signed */
    const char *scope_date;
    int64_t ahead_s;   /* of the simulator's clock */
    bool without_date; /* X-Amz-Date is sent, but not signed */
};

/* `name`: of the log; NULL: none is written.  `cfg` NULL: three nodes.  The cloud is AWS. */
struct fixture *amz_start(const char *name, const struct sim_config *cfg);
/* A signed call; params as they stand in a form body
 * ("GroupId=sg-1&IpPermissions.1.IpProtocol=tcp"), or NULL. */
int amz_call(struct fixture *f, const char *service, const char *action, const char *params);
int amz_call_as(struct fixture *f, const struct amz_signer *who, const char *service,
                const char *action, const char *params);
/* Makes the call and asserts 200. */
void amz_must(struct fixture *f, const char *service, const char *action, const char *params);
/* Asserts status and code (NULL: none is checked). */
void amz_expect(struct fixture *f, const char *what, int got, int want, const char *code);
/* Makes each call and asserts status, code and text, and at the end that the whole state is
 * as it was. */
void amz_check_refusals(struct fixture *f, const struct amz_row *rows, size_t n);
const char *amz_code(struct fixture *f); /* of the last answer; "" when it is no error */
/* A text of the last answer; list items by number: "securityGroupInfo.0.groupId".
 * "" when absent. */
const char *amz_text(struct fixture *f, const char *path);
bool amz_has(struct fixture *f, const char *path);
size_t amz_len(struct fixture *f, const char *path); /* of a list; 0 when absent or empty */
/* PUT /sim/settings/aws */
void amz_settings(struct fixture *f, const char *json);
/* A member of the present world below "aws", by its path ("ec2.Vpcs"); the arena's. */
struct json_object *amz_world(struct fixture *f, const char *path);

#endif
