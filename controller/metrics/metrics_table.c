/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_table.c: names, help texts and buckets of the controller's own metrics; those of every
 * process are in metrics_table_process.c.
 *
 * Those that upstream has carry its names, labels, buckets and help, with the stability prefix that
 * it prints (controller.md §1.19, 3.7); ours begin with trimtab_. */
#include "controller/metrics/metrics.h"

static const double seconds_to_hours[] = {1,   2,   4,    8,    16,   32,   64,   128,
                                          256, 512, 1024, 2048, 4096, 8192, 16384};
/* Upstream multiplies by ten again and again, and rounds on the way: its `le` are these. */
static const double queue_seconds[] = {
    1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10};
static const double request_seconds[] = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
static const double change_seconds[] = {0.1, 0.25, 0.5, 1,   2,   5,    10,  20,
                                        30,  60,   120, 300, 600, 1800, 3600};

static const char *const queue_labels[] = {"name"};
static const char *const cloud_count_labels[] = {"api", "operation", "code"};
static const char *const cloud_time_labels[] = {"api", "operation"};
static const char *const sync_labels[] = {"verb", "result"};
static const char *const part_labels[] = {"part"};
static const char *const verb_labels[] = {"verb"};
static const char *const leader_labels[] = {"name"};
static const char *const running_labels[] = {"name", "manager"};
static const char *const plan_labels[] = {"result"};
static const char *const operation_labels[] = {"verb", "kind", "result"};
static const char *const reason_labels[] = {"reason"};
static const char *const state_labels[] = {"state"};
static const char *const resource_labels[] = {"resource"};
static const char *const api_labels[] = {"api"};
static const char *const kind_labels[] = {"kind"};
static const char *const budget_labels[] = {"api", "kind"};

#define LABELS(l)  .labels = (l), .n_labels = sizeof(l) / sizeof((l)[0])
#define BUCKETS(b) .buckets = (b), .n_buckets = sizeof(b) / sizeof((b)[0])

const struct tt_metric metrics_own[] = {
    {.name = METRIC_LB_SYNC,
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] A metric counting the amount of times any load balancer has been configured, "
             "as an effect of service/node changes on the cluster"},
    {.name = METRIC_NODESYNC_ERROR,
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] A metric counting the amount of times any load balancer has been configured "
             "and errored, as an effect of node changes on the cluster"},
    {.name = METRIC_NODESYNC_LATENCY,
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] A metric measuring the latency for nodesync which updates loadbalancer hosts "
             "on cluster node updates.",
     BUCKETS(seconds_to_hours)},
    {.name = METRIC_UPDATE_LATENCY,
     .type = TT_METRIC_HISTOGRAM,
     .help = "[ALPHA] A metric measuring the latency for updating each load balancer hosts.",
     BUCKETS(seconds_to_hours)},
    {.name = METRIC_QUEUE_DEPTH,
     .type = TT_METRIC_GAUGE,
     .help = "[BETA] Keys that stand in line",
     LABELS(queue_labels)},
    {.name = METRIC_QUEUE_ADDS,
     .type = TT_METRIC_COUNTER,
     .help = "[BETA] Keys that got in line",
     LABELS(queue_labels)},
    {.name = METRIC_QUEUE_RETRIES,
     .type = TT_METRIC_COUNTER,
     .help = "[BETA] Keys that were put off to a later moment",
     LABELS(queue_labels)},
    {.name = METRIC_QUEUE_DURATION,
     .type = TT_METRIC_HISTOGRAM,
     .help = "[BETA] Seconds from standing in line to being taken",
     LABELS(queue_labels),
     BUCKETS(queue_seconds)},
    {.name = METRIC_WORK_DURATION,
     .type = TT_METRIC_HISTOGRAM,
     .help = "[BETA] Seconds from being taken to being done",
     LABELS(queue_labels),
     BUCKETS(queue_seconds)},
    {.name = METRIC_QUEUE_UNFINISHED,
     .type = TT_METRIC_GAUGE,
     .help = "[BETA] Seconds since they were taken, added up over all keys that are not done",
     LABELS(queue_labels)},
    {.name = METRIC_QUEUE_LONGEST,
     .type = TT_METRIC_GAUGE,
     .help = "[BETA] Seconds since the key was taken that is at work for the longest time",
     LABELS(queue_labels)},
    {.name = METRIC_CLOUD_REQUESTS,
     .type = TT_METRIC_COUNTER,
     .help = "Requests to the cloud, by API, operation and status code (0: no answer); those for "
             "credentials and to metadata servers are the APIs token and metadata",
     LABELS(cloud_count_labels)},
    {.name = METRIC_CLOUD_DURATION,
     .type = TT_METRIC_HISTOGRAM,
     .help = "Seconds that a request to the cloud took, by API and operation",
     LABELS(cloud_time_labels),
     BUCKETS(request_seconds)},
    {.name = METRIC_SYNCS,
     .type = TT_METRIC_COUNTER,
     .help = "Syncs of a Service, by operation and result",
     LABELS(sync_labels)},
    {.name = METRIC_CHANGE_DURATION,
     .type = TT_METRIC_HISTOGRAM,
     .help =
         "Seconds from a change of a Service, its nodes or endpoints until the sync that served it "
         "had ended well, status included; waiting and retries count, too",
     LABELS(verb_labels),
     BUCKETS(change_seconds)},
    {.name = METRIC_TO_ADDRESS,
     .type = TT_METRIC_HISTOGRAM,
     .help =
         "Seconds from a change of a Service until its status had a new address (whole), and of "
         "these: until the sync that did it began, with tries before it (waiting), in the "
         "provider (provider), for the status (status)",
     LABELS(part_labels),
     BUCKETS(change_seconds)},
    {.name = METRIC_SYNC_DURATION,
     .type = TT_METRIC_HISTOGRAM,
     .help = "Seconds that a sync took, by operation",
     LABELS(verb_labels),
     BUCKETS(request_seconds)},
    {.name = METRIC_LEADER_STATUS,
     .type = TT_METRIC_GAUGE,
     .help = "[ALPHA] 1: this process holds the lease of that name; 0: standby",
     LABELS(leader_labels)},
    {.name = METRIC_LEADER_SLOW_PATH,
     .type = TT_METRIC_COUNTER,
     .help = "[ALPHA] Renewals of the lease that had to read it first",
     LABELS(leader_labels)},
    {.name = METRIC_RUNNING,
     .type = TT_METRIC_GAUGE,
     .help = "[ALPHA] 1: this controller of that manager is at work in this process",
     LABELS(running_labels)},
    {.name = METRIC_PLANS,
     .type = TT_METRIC_COUNTER,
     .help = "Plans of a Service, by whether there was something to do (changes) or not (empty)",
     LABELS(plan_labels)},
    {.name = METRIC_OPERATIONS,
     .type = TT_METRIC_COUNTER,
     .help = "Operations of plans that were carried out, by verb, kind of resource and result",
     LABELS(operation_labels)},
    {.name = METRIC_QUEUE_TAKEN,
     .type = TT_METRIC_COUNTER,
     .help =
         "Services that a worker took from the queue, by why; one with two reasons counts for both",
     LABELS(reason_labels)},
    {.name = METRIC_QUEUE_KEYS,
     .type = TT_METRIC_GAUGE,
     .help =
         "Services in the queue: in line (waiting), put off to a later moment (delayed), with a "
         "worker (processing)",
     LABELS(state_labels)},
    {.name = METRIC_WORKER_THREADS,
     .type = TT_METRIC_GAUGE,
     .help = "Threads that Services in flight share, or with a plugin have each"},
    {.name = METRIC_RECORD_BYTES,
     .type = TT_METRIC_GAUGE,
     .help = "Memory of small records that are kept of Services, addresses and targets"},
    {.name = METRIC_WRITE_CONFLICTS,
     .type = TT_METRIC_COUNTER,
     .help = "Writes to a Service that were sent again because it had changed since it was read"},
    {.name = METRIC_KEPT,
     .type = TT_METRIC_GAUGE,
     .help = "Load balancers that are kept though their Services vanished from a list "
             "(--orphan-guard)"},
    {.name = METRIC_SERVICES,
     .type = TT_METRIC_GAUGE,
     .help = "Services that this process deals with, by the state that /status shows",
     LABELS(state_labels)},
    {.name = METRIC_UNREADABLE,
     .type = TT_METRIC_GAUGE,
     .help =
         "Objects of the API server that cannot be read in part; their last readable state is used",
     LABELS(resource_labels)},
    {.name = METRIC_API_TOKENS,
     .type = TT_METRIC_GAUGE,
     .help = "Requests that may be sent at once before trimtab's own rate limit delays them; below "
             "0: the number of waiting requests",
     LABELS(api_labels)},
    {.name = METRIC_API_WAIT,
     .type = TT_METRIC_COUNTER,
     .help = "Seconds that requests were held back by our own rate limit",
     LABELS(api_labels)},
    {.name = METRIC_CLOUD_RATE,
     .type = TT_METRIC_GAUGE,
     .help = "Requests that may be sent to the cloud per second: less after refusals, more again "
             "without",
     LABELS(budget_labels)},
    {.name = METRIC_CLOUD_HELD,
     .type = TT_METRIC_COUNTER,
     .help = "Requests to the cloud that waited for their turn",
     LABELS(budget_labels)},
    {.name = METRIC_CLOUD_REFUSED,
     .type = TT_METRIC_COUNTER,
     .help = "Requests that the cloud refused because there were too many",
     LABELS(budget_labels)},
    {.name = METRIC_LATE_CALLS,
     .type = TT_METRIC_GAUGE,
     .help = "Calls into a plugin that are beyond their deadline now; each holds a thread and its "
             "Services"},
    {.name = METRIC_LATE_CALLS_TOTAL,
     .type = TT_METRIC_COUNTER,
     .help = "Calls into a plugin that went beyond their deadline"},
    {.name = METRIC_DRIFT,
     .type = TT_METRIC_COUNTER,
     .help = "Differences between load balancers and their Services that another program or person "
             "made, by "
             "kind of cloud resource, each counted when it was first seen (--drift)",
     LABELS(kind_labels)},
};
const size_t metrics_own_n = sizeof(metrics_own) / sizeof(metrics_own[0]);
