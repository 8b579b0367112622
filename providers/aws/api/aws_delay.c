/* SPDX-License-Identifier: Apache-2.0 */
/* aws_delay.c: see aws_delay.h. */
#include "providers/aws/api/aws_delay.h"

#include <math.h>

#define DECAY_S         20
#define DECAY           0.8
#define REQUESTS_BEFORE 4.0f /* so that a first refusal does not mean the full delay */
#define REQUESTS_FEW    0.5f
#define SHARE_LOW       0.1f
#define DELAY_MOST_NS   60000000000.0f
#define NS_PER_S        INT64_C(1000000000)

void aws_delay_init(struct aws_delay *d, int64_t now_s)
{
    *d = (struct aws_delay){.requests = REQUESTS_BEFORE, .decayed_s = now_s};
}

int64_t aws_delay_take(struct aws_delay *d, int64_t now_s)
{
    int64_t passed = now_s - d->decayed_s;
    if (passed > DECAY_S) {
        float factor = (float)pow(DECAY, (double)passed / DECAY_S);
        d->errors *= factor;
        d->requests *= factor;
        d->decayed_s = now_s;
    }
    d->requests += 1.0f;
    float share = d->requests > REQUESTS_FEW ? d->errors / d->requests : 0.0f;
    if (share < SHARE_LOW) {
        return 0;
    }
    return (int64_t)(DELAY_MOST_NS * share) / NS_PER_S;
}

void aws_delay_failed(struct aws_delay *d)
{
    d->errors += 1.0f;
}
