/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode.c: answers of AWS as documents (docs/spec/aws.md 3.2, 3.5, 11.16), and the same from
 * hostile ones.
 *
 * A document is printed as text, one line per item, and compared as a whole; answers are those in
 * tests/data/aws, or short ones of the test. */
#include "providers/aws/cloud/aws_cloud_parts.h"
#include "tests/unit/gce/pure.h"

#include "common/base/file.h"
#include "tests/support/unit.h"

static const struct aws_naming naming = {.cluster_id = "c1", .vpc = "vpc-1"};
static const struct aws_naming recorded = {.cluster_id = "c1", .vpc = "vpc-c3f8576e598373f9b"};

/* ---- printing -------------------------------------------------------------------------------- */

static void print_texts(struct str_buf *b, const char *word, const struct aws_texts *t)
{
    str_appendf(b, " %s[", word);
    for (size_t i = 0; i < t->n; i++) {
        str_appendf(b, "%s%s", i > 0 ? "," : "", t->items[i]);
    }
    str_append(b, "]");
}

static void print_tags(struct str_buf *b, const struct aws_tags *t)
{
    for (size_t i = 0; i < t->n; i++) {
        str_appendf(b, " %s=%s", t->items[i].key, t->items[i].value);
    }
}

static void print_group(struct str_buf *b, const struct aws_group *g)
{
    str_appendf(b, "%s %s \"%s\" %s", g->id, g->name, g->description, g->vpc);
    print_tags(b, &g->tags);
    for (size_t i = 0; i < g->rules.n; i++) {
        const struct aws_rule *r = &g->rules.items[i];
        str_appendf(b, "\n  %s %d-%d %d %s %s \"%s\"", r->protocol, r->from, r->to, (int)r->peer,
                    r->source, r->user, r->description);
    }
}

static void print_classic(struct str_buf *b, const struct aws_classic *c)
{
    str_appendf(b, "%s %s %s %s", c->name, c->dns, c->scheme, c->vpc);
    print_texts(b, "subnets", &c->subnets);
    print_texts(b, "groups", &c->groups);
    print_texts(b, "instances", &c->instances);
    print_texts(b, "policies", &c->other_policies);
    for (size_t i = 0; i < c->n_listeners; i++) {
        const struct aws_classic_listener *l = &c->listeners[i];
        str_appendf(b, "\n  %s %d %s %d %s", str_or(l->protocol, "-"), l->port,
                    str_or(l->instance_protocol, "-"), l->instance_port,
                    l->certificate == NULL ? "none" : l->certificate);
        print_texts(b, "policies", &l->policies);
    }
    for (size_t i = 0; i < c->n_backends; i++) {
        str_appendf(b, "\n  backend %d", c->backends[i].port);
        print_texts(b, "policies", &c->backends[i].policies);
    }
    str_appendf(b, "\n  health %s%s %d %d %d %d", c->health.known ? "" : "unknown ",
                c->health.target, c->health.interval, c->health.timeout, c->health.unhealthy,
                c->health.healthy);
}

static void print_places(struct str_buf *b, int kind, const void *item)
{
    if (kind == AWS_DOC_SUBNETS) {
        const struct aws_subnet *s = item;
        str_appendf(b, "%s %s %s %s", s->id, s->vpc, s->zone, s->cidr);
        print_tags(b, &s->tags);
    } else if (kind == AWS_DOC_ROUTE_TABLES) {
        const struct aws_route_table *t = item;
        str_appendf(b, "%s%s%s", t->id, t->main ? " main" : "", t->to_internet ? " public" : "");
        print_texts(b, "subnets", &t->subnets);
    } else if (kind == AWS_DOC_ZONES) {
        const struct aws_zone *z = item;
        str_appendf(b, "%s %s", z->name, z->type);
    } else {
        const struct aws_instance *i = item;
        str_appendf(b, "%s %s %s %s%s", i->id, i->state, i->zone, i->vpc,
                    i->in_cluster ? " ours" : "");
        for (size_t k = 0; k < i->n_groups; k++) {
            str_appendf(b, " %s/%s", i->groups[k].id, i->groups[k].name);
        }
    }
}

static void print_v2(struct str_buf *b, int kind, const void *item)
{
    if (kind == AWS_DOC_NLBS) {
        const struct aws_nlb *n = item;
        str_appendf(b, "%s %s %s %s \"%s\" %s %s", n->arn, n->name, n->dns, n->type, n->scheme,
                    n->state, n->vpc);
        print_texts(b, "subnets", &n->subnets);
        print_texts(b, "groups", &n->groups);
    } else if (kind == AWS_DOC_LISTENERS) {
        const struct aws_listener *l = item;
        str_appendf(b, "%s %d %s \"%s\" \"%s\" %s", l->arn, l->port, l->protocol, l->ssl_policy,
                    l->certificate, l->target_group);
    } else if (kind == AWS_DOC_TARGET_GROUPS) {
        const struct aws_target_group *g = item;
        str_appendf(b, "%s %s %s %d %s, %s %s \"%s\" %d %d %d %d", g->arn, g->name, g->protocol,
                    g->port, g->vpc, g->health.protocol, g->health.port, g->health.path,
                    g->health.interval, g->health.timeout, g->health.healthy, g->health.unhealthy);
        print_texts(b, "balancers", &g->balancers);
    } else if (kind == AWS_DOC_TARGETS) {
        const struct aws_target *t = item;
        str_appendf(b, "%s:%d %s \"%s\"", t->id, t->port, t->state, t->reason);
    } else {
        const struct aws_tag *t = item;
        str_appendf(b, "%s=%s", t->key, t->value);
    }
}

static void print_attributes(struct str_buf *b, const struct aws_classic_attributes *c)
{
    str_appendf(b, "log %d %d %s %s, draining %d %d, idle %d, cross %d", c->access_log,
                c->emit_interval, c->bucket == NULL ? "none" : c->bucket,
                c->prefix == NULL ? "none" : c->prefix, c->draining, c->draining_timeout,
                c->idle_timeout, c->cross_zone);
}

static const char *print(struct arena *a, const struct aws_doc *d)
{
    _cleanup_(str_buf_done) struct str_buf b = STR_BUF_INIT;
    int kind = (int)d->kind;
    for (size_t i = 0; i < d->n; i++) {
        const void *item = (const char *)d->items + i * aws_questions[kind].size;
        if (kind == AWS_DOC_TAGGED_GROUPS || kind == AWS_DOC_GROUPS) {
            print_group(&b, item);
        } else if (kind == AWS_DOC_CLASSICS) {
            print_classic(&b, item);
        } else if (kind == AWS_DOC_CLASSIC_ATTRIBUTES) {
            print_attributes(&b, item);
        } else if (kind <= AWS_DOC_ZONES || kind == AWS_DOC_INSTANCES) {
            print_places(&b, kind, item);
        } else if (kind == AWS_DOC_TAGS || kind == AWS_DOC_CLASSIC_TAGS) {
            str_append(&b, ((const struct aws_arn_tags *)item)->arn);
            print_tags(&b, &((const struct aws_arn_tags *)item)->tags);
        } else {
            print_v2(&b, kind, item);
        }
        str_append(&b, "\n");
    }
    return str_buf_to_arena(&b, a);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int add_item(void *arg, const struct aws_node *item, struct err *err)
{
    return aws_draft_doc_add(arg, item, err);
}

static const char *decode_as(struct arena *a, const struct aws_naming *n, int kind, const char *xml)
{
    const struct aws_question *q = &aws_questions[kind];
    const char *path =
        q->api == AWS_EC2 ? q->items : arena_printf(a, "%sResult/%s", q->action, q->items);
    struct aws_doc_draft d;
    const struct aws_node *root;
    struct err err = ERR_INIT;
    aws_draft_doc_init(&d, kind, n);
    struct aws_xml_stream *s = aws_xml_stream_new(a, path, add_item, &d);
    aws_xml_stream_feed(s, xml, strlen(xml));
    if (aws_xml_stream_end(s, &root, &err) != ERR_OK) {
        fail_msg("%s: %s", q->action, err.message);
    }
    aws_xml_stream_free(s);
    struct aws_document *doc = aws_draft_doc_take(&d, "", 0, 1);
    const char *text = print(a, &doc->pub);
    aws_doc_unref(&doc->pub);
    aws_draft_doc_done(&d);
    return text;
}

static const char *decode(struct arena *a, int kind, const char *xml)
{
    return decode_as(a, &naming, kind, xml);
}

static const char *decode_file(struct arena *a, int kind, const char *name)
{
    struct err err = ERR_INIT;
    const char *path = arena_printf(a, "%s/aws/%s.xml", getenv("TRIMTAB_TEST_DATA"), name);
    char *xml;
    size_t n;
    if (file_read(a, path, 1 << 20, &xml, &n, &err) != ERR_OK) {
        fail_msg("%s", err.message);
    }
    return decode_as(a, &recorded, kind, xml);
}

/* EC2's and the load balancers' frames. */
#define EC2(action, set, items)                                                                    \
    "<Describe" action "Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><" set         \
    ">" items "</" set "><requestId>r</requestId></Describe" action "Response>"
#define ELB(action, set, items)                                                                    \
    "<Describe" action "Response><Describe" action "Result><" set ">" items "</" set ">"           \
    "</Describe" action "Result></Describe" action "Response>"

static void places__decoded(void **state)
{
    same_text(
        "subnets",
        decode(*state, AWS_DOC_SUBNETS,
               EC2("Subnets", "subnetSet",
                   "<item><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId><availabilityZone>z"
                   "</availabilityZone><cidrBlock>10.0.0.0/24</cidrBlock><tagSet><item><key>"
                   "Name</key><value>a &amp; b</value></item><item><key>owner</key><value>x"
                   "</value></item><item><key>kubernetes.io/role/elb</key><value/></item><item>"
                   "<key>kubernetes.io/cluster/c2</key><value>shared</value></item></tagSet>"
                   "</item><item><subnetId>subnet-2</subnetId><tagSet/></item>")),
        "subnet-1 vpc-1 z 10.0.0.0/24 Name=a & b kubernetes.io/cluster/c2=shared "
        "kubernetes.io/role/elb=\nsubnet-2   \n");
    same_text(
        "tables",
        decode(*state, AWS_DOC_ROUTE_TABLES,
               EC2("RouteTables", "routeTableSet",
                   "<item><routeTableId>rtb-1</routeTableId><associationSet><item><main>true"
                   "</main></item></associationSet><routeSet><item><gatewayId>local</gatewayId>"
                   "</item><item><natGatewayId>nat-1</natGatewayId></item></routeSet></item>"
                   "<item><routeTableId>rtb-2</routeTableId><associationSet><item><main>false"
                   "</main><subnetId>s-2</subnetId></item><item><subnetId>s-1</subnetId></item>"
                   "</associationSet><routeSet><item><gatewayId>igw-1</gatewayId></item>"
                   "</routeSet></item>")),
        "rtb-1 main subnets[]\nrtb-2 public subnets[s-2,s-1]\n");
    same_text("recorded table", decode_file(*state, AWS_DOC_ROUTE_TABLES, "route-tables"),
              "rtb-8ac825bb367b38064 main public subnets[]\n");
    assert_true(str_has_prefix(decode_file(*state, AWS_DOC_ZONES, "zones"),
                               "us-east-1a availability-zone\nus-east-1b availability-zone\n"));
}

static void instances__decoded(void **state)
{
    same_text(
        "instances",
        decode(*state, AWS_DOC_INSTANCES,
               EC2("Instances", "reservationSet",
                   "<item><groupSet/><instancesSet><item><instanceId>i-1</instanceId>"
                   "<instanceState><code>16</code><name>running</name></instanceState>"
                   "<placement><availabilityZone>z</availabilityZone></placement><vpcId>vpc-1"
                   "</vpcId><groupSet><item><groupId>sg-1</groupId><groupName>nodes</groupName>"
                   "</item></groupSet><tagSet><item><key>kubernetes.io/cluster/c1</key>"
                   "<value/></item></tagSet></item></instancesSet></item>"
                   "<item><instancesSet><item><instanceId>i-2</instanceId><instanceState><name>"
                   "stopped</name></instanceState><tagSet><item><key>KubernetesCluster</key>"
                   "<value>c1</value></item></tagSet></item><item><instanceId>i-3</instanceId>"
                   "<tagSet><item><key>KubernetesCluster</key><value>c2</value></item></tagSet>"
                   "</item></instancesSet></item>")),
        "i-1 running z vpc-1 ours sg-1/nodes\ni-2 stopped   ours\ni-3   \n");
}

static void groups__decoded_one_rule_per_source(void **state)
{
    same_text(
        "groups",
        decode(*state, AWS_DOC_GROUPS,
               EC2("SecurityGroups", "securityGroupInfo",
                   "<item><groupId>sg-2</groupId><groupName>b</groupName><groupDescription>text"
                   "</groupDescription><vpcId>vpc-1</vpcId><ipPermissions/><tagSet><item><key>team"
                   "</key><value>x</value></item></tagSet></item>"
                   "<item><groupId>sg-1</groupId><ipPermissions><item><ipProtocol>tcp</ipProtocol>"
                   "<fromPort>80</fromPort><toPort>81</toPort><groups/><ipRanges><item><cidrIp>"
                   "10.0.0.0/8</cidrIp><description>d</description></item><item><cidrIp>0.0.0.0/0"
                   "</cidrIp></item></ipRanges><ipv6Ranges><item><cidrIpv6>::/0</cidrIpv6></item>"
                   "</ipv6Ranges><prefixListIds><item><prefixListId>pl-1</prefixListId></item>"
                   "</prefixListIds></item><item><ipProtocol>-1</ipProtocol><groups><item><userId>1"
                   "</userId><groupId>sg-9</groupId></item></groups></item><item><ipProtocol>icmp"
                   "</ipProtocol><fromPort>3</fromPort><toPort>99999999999</toPort><ipRanges><item>"
                   "<cidrIp>10.0.0.0/8</cidrIp></item></ipRanges></item></ipPermissions></item>")),
        "sg-1  \"\" \n"
        "  -1 -2--2 2 sg-9 1 \"\"\n"
        "  icmp 3--2 0 10.0.0.0/8  \"\"\n"
        "  tcp 80-81 0 0.0.0.0/0  \"\"\n"
        "  tcp 80-81 0 10.0.0.0/8  \"d\"\n"
        "  tcp 80-81 1 ::/0  \"\"\n"
        "  tcp 80-81 3 pl-1  \"\"\n"
        "sg-2 b \"text\" vpc-1 team=x\n");
}

static void groups__not_the_clusters__left_out(void **state)
{
    same_text("tagged",
              decode(*state, AWS_DOC_TAGGED_GROUPS,
                     EC2("SecurityGroups", "securityGroupInfo",
                         "<item><groupId>sg-1</groupId><vpcId>vpc-1</vpcId><tagSet><item><key>"
                         "KubernetesCluster</key><value>c2</value></item></tagSet></item>"
                         "<item><groupId>sg-2</groupId><vpcId>vpc-2</vpcId><tagSet><item><key>"
                         "kubernetes.io/cluster/c1</key></item></tagSet></item>"
                         "<item><groupId>sg-3</groupId><vpcId>vpc-1</vpcId><tagSet><item><key>"
                         "kubernetes.io/cluster/c1</key></item></tagSet></item>")),
              "sg-3  \"\" vpc-1 kubernetes.io/cluster/c1=\n");
    const char *text = decode_file(*state, AWS_DOC_TAGGED_GROUPS, "groups");
    assert_true(str_has_prefix(text, "sg-de57ff5f1891b5612 nodes \"n\" vpc-c3f8576e598373f9b "
                                     "kubernetes.io/cluster/c1=owned\n  -1 -2--2 2 sg-"));
    assert_non_null(strstr(text, "\n  icmp 3-4 0 0.0.0.0/0  \"kubernetes.io/rule/nlb/mtu\"\n"));
    assert_non_null(strstr(text,
                           "\n  tcp 32392-32392 0 10.0.0.0/24  "
                           "\"kubernetes.io/rule/nlb/health=a06c926775d774b1d9d062a193c9495b\"\n"));
}

static void classics__decoded(void **state)
{
    same_text(
        "recorded", decode_file(*state, AWS_DOC_CLASSICS, "classics"),
        "a9f09016abc6f4ccdabfb4a6a4522c9f "
        "a9f09016abc6f4ccdabfb4a6a4522c9f.us-east-1.elb.amazonaws.com internet-facing "
        "vpc-c3f8576e598373f9b subnets[subnet-01ded8cc2e9ebd91c,subnet-172e6723cdc15043c,"
        "subnet-5b9f9dcbe8fc8ac78] groups[sg-209c96bbc3c7b4e23] instances[i-1628d2c0ca86d2118,"
        "i-1ebc0871f08245bda,i-4bcbb872579860de7,i-68c9f5160ea427f60,i-6d7c54809f4be5b50,"
        "i-72aeb5c22b3753056,i-9c7c29766d9f492d2] policies[]\n"
        "  TCP 80 TCP 31127 none policies[]\n  TCP 8443 TCP 30889 none policies[]\n"
        "  health TCP:31127 10 5 6 2\n");
    same_text(
        "bare, as moto's (10.4 rows 22, 21)",
        decode(*state, AWS_DOC_CLASSICS,
               ELB("LoadBalancers", "LoadBalancerDescriptions",
                   "<member><LoadBalancerName>a1</LoadBalancerName><ListenerDescriptions><member>"
                   "<PolicyNames><member>p1</member></PolicyNames><Listener><Protocol>SSL"
                   "</Protocol><LoadBalancerPort>443</LoadBalancerPort><SSLCertificateId/>"
                   "</Listener></member></ListenerDescriptions><Policies><OtherPolicies><member>"
                   "k8s-proxyprotocol-enabled</member></OtherPolicies></Policies>"
                   "<BackendServerDescriptions><member><InstancePort>30080</InstancePort>"
                   "<PolicyNames><member>k8s-proxyprotocol-enabled</member></PolicyNames>"
                   "</member></BackendServerDescriptions></member>")),
        "a1    subnets[] groups[] instances[] policies[k8s-proxyprotocol-enabled]\n"
        "  SSL 443 - 0  policies[p1]\n  backend 30080 policies[k8s-proxyprotocol-enabled]\n"
        "  health unknown  0 0 0 0\n");
    same_text("attributes", decode_file(*state, AWS_DOC_CLASSIC_ATTRIBUTES, "classic-attributes"),
              "log 0 -1 none none, draining 0 300, idle 60, cross 0\n");
    same_text("all of them",
              decode(*state, AWS_DOC_CLASSIC_ATTRIBUTES,
                     ELB("LoadBalancerAttributes", "LoadBalancerAttributes",
                         "<AccessLog><Enabled>true</Enabled><EmitInterval>5</EmitInterval>"
                         "<S3BucketName>b</S3BucketName><S3BucketPrefix/></AccessLog>"
                         "<ConnectionDraining><Enabled>true</Enabled></ConnectionDraining>")),
              "log 1 5 b , draining 1 -1, idle -1, cross -1\n");
}

#define ARN "arn:aws:elasticloadbalancing:us-east-1:123456789012:"

static void v2__recorded(void **state)
{
    same_text("NLBs", decode_file(*state, AWS_DOC_NLBS, "nlbs"),
              ARN
              "loadbalancer/app/a8ac0ee23193e4347a123c968e428e38/13317ca700632446 "
              "a8ac0ee23193e4347a123c968e428e38 "
              "a8ac0ee23193e4347a123c968e428e38-1.elb.us-east-1.amazonaws.com network \"\" active "
              "vpc-c3f8576e598373f9b subnets[subnet-172e6723cdc15043c,subnet-5b9f9dcbe8fc8ac78,"
              "subnet-01ded8cc2e9ebd91c] groups[]\n");
#define LB "aac38a41b51774156a521883cd38f69f/956a71c8b8eed52f"
    same_text("listeners", decode_file(*state, AWS_DOC_LISTENERS, "listeners"),
              ARN
              "listener/app/" LB "/565649a1e1133923 80 TCP \"ELBSecurityPolicy-2016-08\" \"\" " ARN
              "targetgroup/k8s-default-nlb1-7484986079/4147c94dd74608ed\n" ARN "listener/app/" LB
              "/17d94c0eb9f8dddd 8443 TCP \"ELBSecurityPolicy-2016-08\" \"\" " ARN
              "targetgroup/k8s-default-nlb1-2af91ded5b/f5c5efadb0114bc1\n");
    const char *groups = decode_file(*state, AWS_DOC_TARGET_GROUPS, "target-groups");
    assert_true(str_has_prefix(
        groups,
        ARN "targetgroup/k8s-default-nlb1-7484986079/4147c94dd74608ed "
            "k8s-default-nlb1-7484986079 TCP 30658 vpc-c3f8576e598373f9b, TCP traffic-port \"\" "
            "30 10 3 3 balancers[" ARN "loadbalancer/app/" LB "]\n"));
    assert_true(str_has_prefix(decode_file(*state, AWS_DOC_TARGETS, "targets"), "i-"));
    same_text("attributes with an empty value",
              decode_file(*state, AWS_DOC_NLB_ATTRIBUTES, "nlb-attributes"),
              "access_logs.s3.bucket=\naccess_logs.s3.enabled=false\naccess_logs.s3.prefix=\n"
              "deletion_protection.enabled=false\nload_balancing.cross_zone.enabled=false\n");
}

static void v2__decoded(void **state)
{
    same_text(
        "a TLS listener, and one that forwards by weight",
        decode(*state, AWS_DOC_LISTENERS,
               ELB("Listeners", "Listeners",
                   "<member><ListenerArn>l2</ListenerArn><Port>443</Port><Protocol>TLS</Protocol>"
                   "<SslPolicy>p</SslPolicy><Certificates><member><CertificateArn>c1"
                   "</CertificateArn></member><member><CertificateArn>c2</CertificateArn>"
                   "</member></Certificates><DefaultActions><member><Type>forward</Type>"
                   "<ForwardConfig><TargetGroups><member><TargetGroupArn>t1</TargetGroupArn>"
                   "</member></TargetGroups></ForwardConfig></member></DefaultActions></member>"
                   "<member><ListenerArn>l1</ListenerArn><Port>80</Port><Protocol>UDP</Protocol>"
                   "</member><member><ListenerArn>l3</ListenerArn><Port>80</Port><Protocol>TCP"
                   "</Protocol></member>")),
        "l3 80 TCP \"\" \"\" \nl1 80 UDP \"\" \"\" \nl2 443 TLS \"p\" \"c1\" t1\n");
    same_text("targets",
              decode(*state, AWS_DOC_TARGETS,
                     ELB("TargetHealth", "TargetHealthDescriptions",
                         "<member><Target><Id>i-2</Id><Port>80</Port></Target><TargetHealth><State>"
                         "draining</State><Reason>Target.DeregistrationInProgress</Reason>"
                         "</TargetHealth></member><member><Target><Id>i-1</Id></Target></member>")),
              "i-2:80 draining \"Target.DeregistrationInProgress\"\ni-1:0  \"\"\n");
    same_text("tags",
              decode(*state, AWS_DOC_TAGS,
                     ELB("Tags", "TagDescriptions",
                         "<member><ResourceArn>b</ResourceArn><Tags><member><Key>y</Key><Value>2"
                         "</Value></member><member><Key>x</Key><Value>1</Value></member></Tags>"
                         "</member><member><ResourceArn>a</ResourceArn><Tags/></member>")),
              "a\nb x=1 y=2\n");
    same_text("classic tags",
              decode(*state, AWS_DOC_CLASSIC_TAGS,
                     ELB("Tags", "TagDescriptions",
                         "<member><LoadBalancerName>a1</LoadBalancerName><Tags><member><Key>x</Key>"
                         "</member></Tags></member>")),
              "a1 x=\n");
}

/* Of every kind: what has no id is no item, and what came with it is not to be trusted. */
static void every_kind__without_an_id__is_refused(void **state)
{
    for (int kind = 0; kind < AWS_DOC_ALL_KINDS; kind++) {
        const struct aws_node *root = NULL;
        struct err err = ERR_INIT;
        struct aws_doc_draft d;
        const char xml[] = "<r><x><y>1</y></x></r>";
        struct aws_xml_stream *s = aws_xml_stream_new(*state, "x", add_item, &d);
        aws_draft_doc_init(&d, kind, &naming);
        aws_xml_stream_feed(s, xml, sizeof(xml) - 1);
        int want = kind == AWS_DOC_CLASSIC_ATTRIBUTES ? ERR_OK : ERR_TRANSIENT;
        assert_int_equal(aws_xml_stream_end(s, &root, &err), want);
        aws_xml_stream_free(s);
        aws_draft_doc_done(&d);
    }
}

/* ---- items one by one ------------------------------------------------------------------------ */

static int note_item(void *arg, const struct aws_node *item, struct err *err)
{
    struct str_buf *b = arg;
    str_appendf(b, "[%s %s]", item->text, str_nonnull(aws_xml_text(item, "a")));
    return str_eq(item->text, "stop") ? err_set(err, ERR_CONFLICT, "enough") : ERR_OK;
}

static int feed(struct arena *a, const char *xml, size_t piece, struct str_buf *ret_items,
                const struct aws_node **ret, struct err *err)
{
    struct aws_xml_stream *s = aws_xml_stream_new(a, "l/i", note_item, ret_items);
    size_t n = strlen(xml);
    for (size_t at = 0; at < n; at += piece) {
        aws_xml_stream_feed(s, xml + at, n - at < piece ? n - at : piece);
    }
    int rc = aws_xml_stream_end(s, ret, err);
    aws_xml_stream_free(s);
    return rc;
}

/* An item comes when it is whole, whatever follows. */
static void stream__items__as_they_arrive(void **state)
{
    static const struct {
        const char *xml;
        int code;
        const char *items;
        const char *rest; /* text of the element "t" */
    } rows[] = {
        {"<r><l><i>1</i><x><i>2</i></x><i><a>3</a></i></l><t>end</t><l><i>4</i></l></r>", ERR_OK,
         "[1 ][ 3][4 ]", "end"},
        {"<n:r xmlns:n='u'><n:l><n:i>1</n:i></n:l></n:r>", ERR_OK, "[1 ]", NULL},
        {"<r><k><l><i>deeper</i></l></k><i>higher</i><t/></r>", ERR_OK, "", ""},
        {"<r><l><i>1</i><i>stop</i><i>3</i></l></r>", ERR_CONFLICT, "[1 ][stop ]", NULL},
        {"<r><l><i>1</i><i>2", ERR_TRANSIENT, "[1 ]", NULL},
        {"<r><l><i>1</i></k>", ERR_TRANSIENT, "[1 ]", NULL},
        {"<!DOCTYPE r><r><l><i>1</i></l></r>", ERR_INVALID, "", NULL},
        {"", ERR_TRANSIENT, "", NULL},
        {"<r><l><i>1<l><i>inside</i></l></i></l></r>", ERR_OK, "[ ]", NULL},
        {"<i/>", ERR_OK, "", NULL},
    };
    static const size_t pieces[] = {1, 7, 1000};
    for (size_t k = 0; k < ARRAY_LEN(rows) * ARRAY_LEN(pieces); k++) {
        size_t i = k / ARRAY_LEN(pieces);
        struct str_buf b = STR_BUF_INIT;
        struct err err = ERR_INIT;
        const struct aws_node *rest = NULL;
        int rc = feed(*state, rows[i].xml, pieces[k % ARRAY_LEN(pieces)], &b, &rest, &err);
        assert_int_equal(rc, rows[i].code);
        assert_int_equal(err.code, rc);
        same_text(rows[i].xml, str_buf_text(&b), rows[i].items);
        same_text(rows[i].xml, aws_xml_text(rest, "t"), rows[i].rest);
        assert_null(aws_xml_find(rest, "l/i"));
        str_buf_done(&b);
    }
}

static void stream__what_stands_beside_the_items__is_not_kept(void **state)
{
    struct str_buf b = STR_BUF_INIT;
    struct err err = ERR_INIT;
    const struct aws_node *rest = NULL;
    struct aws_xml_stream *s = aws_xml_stream_new(*state, "l/k/i", note_item, &b);
    static const char xml[] = "<r><l><k><x>1</x><i>2</i><y><z/></y></k><k/></l><t>end</t></r>";
    aws_xml_stream_feed(s, xml, sizeof(xml) - 1);
    assert_int_equal(aws_xml_stream_end(s, &rest, &err), ERR_OK);
    aws_xml_stream_free(s);
    same_text("items", str_buf_text(&b), "[2 ]");
    assert_null(aws_xml_find(rest, "l/k/x"));
    assert_null(aws_xml_find(rest, "l/k/y"));
    same_text("after it", aws_xml_text(rest, "t"), "end");
    str_buf_done(&b);
}

/* ---- hostile answers ------------------------------------------------------------------------- */

/* Expat looks at a token that has not ended again with every piece. */
static void stream__a_comment_that_does_not_end__refused(void **state)
{
    struct err err = ERR_INIT;
    struct str_buf b = STR_BUF_INIT;
    const struct aws_node *rest = NULL;
    char *xml = arena_alloc(*state, (1 << 20) + 1);
    memset(xml, 'x', 1 << 20);
    memcpy(xml, "<r><!--", 7);
    assert_int_equal(feed(*state, xml, 16384, &b, &rest, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "does not end"));
    str_buf_done(&b);
}

static int count_item(void *arg, const struct aws_node *item, struct err *err)
{
    (void)item;
    (void)err;
    ++*(size_t *)arg;
    return ERR_OK;
}

/* Elements count only while they are there. */
static void stream__more_items_than_a_tree_may_have__are_taken(void **state)
{
    struct err err = ERR_INIT;
    const struct aws_node *rest = NULL;
    size_t n = 0;
    struct aws_xml_stream *s = aws_xml_stream_new(*state, "l/i", count_item, &n);
    aws_xml_stream_feed(s, "<r><l>", 6);
    for (size_t i = 0; i < AWS_XML_NODES_MAX; i++) {
        aws_xml_stream_feed(s, "<i/>", 4);
    }
    aws_xml_stream_feed(s, "</l></r>", 8);
    assert_int_equal(aws_xml_stream_end(s, &rest, &err), ERR_OK);
    aws_xml_stream_free(s);
    assert_int_equal(n, AWS_XML_NODES_MAX);
}

/* A thousand balancers with the same thousand instances. */
static void list__equal_lists_of_instances__are_kept_once(void **state)
{
    static const char *const items[] = {
        "<m><LoadBalancerName>a</LoadBalancerName><Instances><member><InstanceId>i-2</InstanceId>"
        "</member><member><InstanceId>i-1</InstanceId></member></Instances></m>",
        "<m><LoadBalancerName>b</LoadBalancerName><Instances><member><InstanceId>i-2</InstanceId>"
        "</member><member><InstanceId>i-1</InstanceId></member></Instances></m>",
        "<m><LoadBalancerName>c</LoadBalancerName><Instances><member><InstanceId>i-2</InstanceId>"
        "</member></Instances></m>",
    };
    struct aws_doc_draft d;
    struct err err = ERR_INIT;
    aws_draft_doc_init(&d, AWS_DOC_CLASSICS, &naming);
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        const struct aws_node *root = NULL;
        assert_int_equal(aws_xml_parse(*state, items[i], strlen(items[i]), &root, &err), ERR_OK);
        assert_int_equal(aws_draft_doc_add(&d, root, &err), ERR_OK);
    }
    const struct aws_classic *c = d.items;
    same_text("sorted", c[0].instances.items[0], "i-1");
    assert_int_equal(c[0].instances.n, 2);
    assert_ptr_equal(c[0].instances.items, c[1].instances.items);
    assert_int_equal(c[2].instances.n, 1);
    assert_ptr_equal(c[2].instances.items[0], c[0].instances.items[1]);
    aws_draft_doc_done(&d);
}

static void list__too_long__refused(void **state)
{
    struct aws_doc_draft d;
    struct err err = ERR_INIT;
    const struct aws_node name = {.name = "zoneName", .text = "z"};
    const struct aws_node item = {.name = "item", .text = "", .children = &name};
    (void)state;
    aws_draft_doc_init(&d, AWS_DOC_ZONES, &naming);
    size_t n = 0;
    while (aws_draft_doc_add(&d, &item, &err) == ERR_OK && n <= AWS_ITEMS_MAX) {
        n++;
    }
    assert_int_equal(n, AWS_ITEMS_MAX);
    assert_int_equal(err.code, ERR_INVALID);
    aws_draft_doc_done(&d);
}

static void list__long_texts__refused(void **state)
{
    struct arena *a = *state;
    struct aws_doc_draft d;
    struct err err = ERR_INIT;
    char *text = arena_alloc(a, (1 << 20) + 1);
    memset(text, 'x', 1 << 20);
    const struct aws_node name = {.name = "zoneName", .text = text};
    const struct aws_node item = {.name = "item", .text = "", .children = &name};
    aws_draft_doc_init(&d, AWS_DOC_ZONES, &naming);
    size_t n = 0;
    while (aws_draft_doc_add(&d, &item, &err) == ERR_OK && n < 100) {
        n++;
    }
    assert_in_range(n, AWS_BYTES_MAX / (1 << 20), AWS_BYTES_MAX / (1 << 20) + 2);
    aws_draft_doc_done(&d);
}

/* Many instances with long descriptions take little memory. */
static void list__a_thousand_instances__little_memory(void **state)
{
    struct arena *a = *state;
    struct aws_doc_draft d;
    struct err err = ERR_INIT;
    aws_draft_doc_init(&d, AWS_DOC_INSTANCES, &naming);
    for (int i = 0; i < 1000; i++) {
        const char *xml = arena_printf(
            a,
            "<item><instanceId>i-%017d</instanceId><vpcId>vpc-1</vpcId><instanceState><name>running"
            "</name></instanceState><placement><availabilityZone>z%d</availabilityZone></placement>"
            "<groupSet><item><groupId>sg-1</groupId><groupName>nodes</groupName></item></groupSet>"
            "<tagSet><item><key>kubernetes.io/cluster/c1</key><value>owned</value></"
            "item><item><key>"
            "Name</key><value>machine-%d</value></item></tagSet></item>",
            i, i % 3, i);
        const struct aws_node *root = NULL;
        assert_int_equal(aws_xml_parse(a, xml, strlen(xml), &root, &err), ERR_OK);
        assert_int_equal(aws_draft_doc_add(&d, root, &err), ERR_OK);
    }
    assert_in_range(arena_used(d.decode.a), 1, 128 * 1024);
    aws_draft_doc_done(&d);
}

UNIT_MAIN(decode)
{
    const struct CMUnitTest tests[] = {
        PURE_TEST(places__decoded),
        PURE_TEST(instances__decoded),
        PURE_TEST(groups__decoded_one_rule_per_source),
        PURE_TEST(groups__not_the_clusters__left_out),
        PURE_TEST(classics__decoded),
        PURE_TEST(v2__recorded),
        PURE_TEST(v2__decoded),
        PURE_TEST(every_kind__without_an_id__is_refused),
        PURE_TEST(stream__items__as_they_arrive),
        PURE_TEST(stream__what_stands_beside_the_items__is_not_kept),
        PURE_TEST(stream__a_comment_that_does_not_end__refused),
        PURE_TEST(stream__more_items_than_a_tree_may_have__are_taken),
        PURE_TEST(list__equal_lists_of_instances__are_kept_once),
        PURE_TEST(list__too_long__refused),
        PURE_TEST(list__long_texts__refused),
        PURE_TEST(list__a_thousand_instances__little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
