/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/serve/access_kit.h"
int main(void)
{
    return 0;
}
