/* SPDX-License-Identifier: Apache-2.0 */
/* aws_name_rules.c: see aws_name_rules.h.  One row for each kind of name, one
 * for each annotation. */
#include "providers/aws/model/aws_name_rules.h"

#include <string.h>

#include "common/base/str.h"
#include "providers/aws/model/aws_annotations.h"
#include "providers/aws/model/aws_service_rules.h"

#define ALNUM     "a-zA-Z0-9"
#define TAG_CHARS ALNUM " _.:/=+@-"

static const struct name_rule rules[AWS_NAME_KINDS] = {
    [AWS_NAME_GROUP] = {"the id of a security group", "sg-… of letters, digits and '-'", 4, 64, "s",
                        "a-zA-Z0-9-", ALNUM, false},
    [AWS_NAME_ALLOCATION] = {"the id of an allocation", "eipalloc-… of letters, digits and '-'", 10,
                             64, "e", "a-zA-Z0-9-", ALNUM, false},
    [AWS_NAME_SUBNET] = {"the id of a subnet, or its Name tag", "1 to 256 characters", 1, 256,
                         " -~", " -~", " -~", true},
    [AWS_NAME_CERTIFICATE] = {"the ARN of a certificate",
                              "arn:… of letters, digits and ':/_+=,.@-', at most 2048", 5, 2048,
                              "a", ALNUM ":/_+=,.@-", ALNUM "_+=,.@-", false},
    [AWS_NAME_POLICY] = {"the name of a policy of AWS",
                         "ELBSecurityPolicy-… of letters, digits and '-', at most 128", 11, 128,
                         "E", ALNUM "-", ALNUM, false},
    [AWS_NAME_BUCKET] = {"the name of a bucket",
                         "3 to 63 small letters, digits, '.' and '-'; of an old bucket up to 255, "
                         "capitals and '_', too",
                         3, 255, ALNUM, ALNUM "._-", ALNUM "_", false},
    [AWS_NAME_BUCKET_PREFIX] = {"a prefix in a bucket",
                                "1 to 255 characters, no '.' or '..' between slashes; on a "
                                "network load balancer no AWSLogs",
                                1, 255, " -~", " -~", " -~", true},
    [AWS_NAME_LABEL] =
        {"the key of a label",
         "letters, digits, '-', '_' and '.', perhaps with a domain and '/' before it", 1, 317,
         ALNUM, ALNUM "_./-", ALNUM, false},
    [AWS_NAME_TAG] = {"the key of a tag",
                      "1 to 128 letters, digits, blanks and '_.:/=+-@' that do not begin with aws:",
                      1, 128, TAG_CHARS, TAG_CHARS, TAG_CHARS, true},
};

#define FIELD(name, kind_, separator_)                                                             \
    {                                                                                              \
        .key = AWS_ANNOTATION name, .separator = (separator_), .kind = AWS_NAME_##kind_,           \
        .literal = (separator_) == '\0', .lone = (separator_) == '='                               \
    }

/* Names do not become paths here, so a standing one is never refused for its
 * characters: also() judges. */
static const struct name_field fields[] = {
    FIELD("security-groups", GROUP, ','),
    FIELD("extra-security-groups", GROUP, ','),
    FIELD("eip-allocations", ALLOCATION, ','),
    FIELD("subnets", SUBNET, ','),
    FIELD("ssl-cert", CERTIFICATE, '\0'),
    FIELD("ssl-negotiation-policy", POLICY, '\0'),
    FIELD("access-log-s3-bucket-name", BUCKET, '\0'),
    FIELD("access-log-s3-bucket-prefix", BUCKET_PREFIX, '\0'),
    FIELD("target-node-labels", LABEL, '='),
    FIELD("additional-resource-tags", TAG, '='),
};

const struct name_rule *aws_name_rule(enum aws_name_kind k)
{
    return &rules[k];
}

static bool has_dots(struct arena *a, const char *path)
{
    size_t n;
    char **parts = str_split(a, path, '/', &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(parts[i], ".") || str_eq(parts[i], "..")) {
            return true;
        }
    }
    return false;
}

static bool holds(struct arena *a, enum aws_name_kind kind, const char *name)
{
    static const char *const begins[AWS_NAME_KINDS] = {[AWS_NAME_GROUP] = "sg-",
                                                       [AWS_NAME_ALLOCATION] = "eipalloc-",
                                                       [AWS_NAME_CERTIFICATE] = "arn:",
                                                       [AWS_NAME_POLICY] = "ELBSecurityPolicy-"};
    /* AWS lists samples of classic load balancers beside its policies. */
    bool sample = kind == AWS_NAME_POLICY && str_has_prefix(name, "ELBSample-");
    bool dots = kind == AWS_NAME_BUCKET_PREFIX && has_dots(a, name);
    bool reserved = kind == AWS_NAME_TAG && str_has_prefix(str_lower(a, name), "aws:");
    return !dots && !reserved && name_rule_holds(&rules[kind], name) &&
           (begins[kind] == NULL || sample || str_has_prefix(name, begins[kind]));
}

/* AWS begins its own part of a path so, and takes no such prefix for a network load balancer.
 * Source: "Access logs for your Network Load Balancer", access log files. */
static bool is_of_aws(enum aws_name_kind kind, const char *name)
{
    return kind == AWS_NAME_BUCKET_PREFIX && strstr(name, "AWSLogs") != NULL;
}

static bool has_control(const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7f) {
            return true;
        }
    }
    return false;
}

struct check {
    struct arena *a;
    const struct aws_config *c;
    bool nlb;
};

static int check_allowed(const struct check *k, const struct name_seen *seen, struct err *err)
{
    const struct aws_options *o = &k->c->options;
    const struct name_list groups = {o->allowed_groups.items, o->allowed_groups.n,
                                     o->allowed_groups.n > 0};
    const struct name_list buckets = {o->allowed_buckets.items, o->allowed_buckets.n,
                                      o->allowed_buckets.n > 0};
    bool own = str_eq(k->c->elb_security_group, seen->name);
    if (seen->field->kind == AWS_NAME_GROUP && !own &&
        !name_list_allows(&groups, seen->name, false)) {
        return name_not_allowed(seen, seen->name, "security group", "AllowedSecurityGroups", err);
    }
    if (seen->field->kind == AWS_NAME_BUCKET && !name_list_allows(&buckets, seen->name, false)) {
        return name_not_allowed(seen, seen->name, "bucket", "AllowedBuckets", err);
    }
    return ERR_OK;
}

static int also(void *arg, const struct name_seen *seen, struct err *err)
{
    const struct check *k = arg;
    enum aws_name_kind kind = (enum aws_name_kind)seen->field->kind;
    const struct name_rule *r = &rules[kind];
    bool control = has_control(seen->name);
    bool holds_here = holds(k->a, kind, seen->name) && !(k->nlb && is_of_aws(kind, seen->name));
    if (!holds_here && (seen->state == NAME_IS_NEW || control)) {
        return err_set(err, ERR_INVALID, "%s: \"%.253s\": want %s (%s)%s", seen->where, seen->name,
                       r->what, r->pattern, control ? "; it holds a control character" : "");
    }
    return check_allowed(k, seen, err);
}

static bool counts(void *arg, const struct name_field *field, const struct tt_service *s)
{
    bool logs = false;
    (void)arg;
    return (field->kind != AWS_NAME_BUCKET && field->kind != AWS_NAME_BUCKET_PREFIX) ||
           aws_annotation_bool(s, "access-log-enabled", &logs, NULL) != ERR_OK || logs;
}

int aws_names_check(struct arena *a, const struct aws_config *c, const struct tt_service *s,
                    const struct tt_service *previous, struct err *err)
{
    struct check k = {.a = a, .c = c, .nlb = aws_service_kind(s) == AWS_NLB};
    const struct name_fields all = {.provider = AWS_PROVIDER,
                                    .fields = fields,
                                    .n = ARRAY_LEN(fields),
                                    .also = also,
                                    .counts = counts,
                                    .arg = &k};
    return names_check(a, &all, s, previous, err);
}
