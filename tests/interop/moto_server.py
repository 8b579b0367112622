# SPDX-License-Identifier: Apache-2.0
"""moto_server, with one answer of AWS that moto 5.2 does not give: DeleteLoadBalancerListeners takes each of the ports that it names.

    moto_server.py [ARGUMENT…]      as moto_server

moto keeps all listeners when two ports are named in one request: each port brings those of the others back.
"""
import sys

from moto.elb.models import ELBBackend
from moto.server import main


def delete_load_balancer_listeners(self, name, ports):
    balancer = self.get_load_balancer(name)
    if balancer:
        gone = {int(port) for port in ports}
        balancer.listeners = [x for x in balancer.listeners if int(x.load_balancer_port) not in gone]
    return balancer


if __name__ == "__main__":
    ELBBackend.delete_load_balancer_listeners = delete_load_balancer_listeners
    sys.exit(main(sys.argv[1:]))
