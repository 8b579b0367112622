/* SPDX-License-Identifier: Apache-2.0 */
/* aws_endpoint.h: where the requests to a service go, and what they are signed for.
 *
 * First that is given: [ServiceOverride] of the cloud config; AWS_ENDPOINT_URL_<SERVICE>;
 * AWS_ENDPOINT_URL; endpoint_url of the profile's services block, and of the profile itself (these
 * four not with AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true); the host that AWS has in this region, by
 * its partition, with the FIPS and dual-stack forms.
 * Source: docs/spec/aws.md 1.3, 2.3, 2.5.  Pure but for the environment that is handed in. */
#ifndef TRIMTAB_AWS_ENDPOINT_H
#define TRIMTAB_AWS_ENDPOINT_H

#include "common/base/arena.h"
#include "common/base/err.h"
#include "providers/aws/auth/aws_profile.h"
#include "providers/aws/model/aws_config.h"
#include "providers/aws/model/aws_env.h"

enum aws_api {
    AWS_EC2 = 0,
    AWS_ELB,   /* classic */
    AWS_ELBV2, /* network load balancers */
    AWS_STS,
    AWS_APIS,
};
/* "EC2", "Elastic Load Balancing", "Elastic Load Balancing v2", "STS": the SDK's ids,
 * which metrics carry, too. */
const char *aws_api_sdk_id(enum aws_api api);

struct aws_endpoint {
    const char *url; /* scheme://host[:port]/[path]: requests are POSTed to exactly this */
    const char *signing_region;
    const char *signing_name; /* "ec2", "elasticloadbalancing", "sts" */
    /* who says so, for people: "ServiceOverride \"1\"", "AWS_ENDPOINT_URL", "AWS" … */
    const char *origin;
};
/* Input of endpoints; all borrowed. */
struct aws_endpoint_args {
    const struct aws_config *config;
    const struct aws_env *env;
    const struct aws_profiles *profiles; /* may be NULL */
    const char *region;                  /* of the clients (2.5) */
};
/* ERR_INVALID: a URL that is no http or https one (named by its origin), a region that cannot be
 * part of a host name, FIPS or dual-stack where AWS has none. */
int aws_endpoint_resolve(struct arena *a, const struct aws_endpoint_args *args, enum aws_api api,
                         struct aws_endpoint *ret, struct err *err) _warn_unused_;
/* Base URL of the instance metadata service, without a slash at its end (2.3).
 * ERR_INVALID as above. */
int aws_endpoint_imds(struct arena *a, const struct aws_endpoint_args *args, const char **ret,
                      struct err *err) _warn_unused_;

#endif
