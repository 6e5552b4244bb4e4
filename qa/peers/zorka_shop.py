#!/usr/bin/env python3
"""A shop of three services with Zorka agents, without a JVM: frontend and orders (2.0.3), stock (1.90.6). Each page of frontend is one
distributed trace; orders is the slow one, because of one statement.

usage: zorka_shop.py SECONDS [PORT]     the port is else that of the environment variable ZORKA_PORT
"""

import os
import random
import sys
import time

sys.dont_write_bytecode = True
import zorka  # noqa: E402
from zorka_made import Call, Legacy, Modern, span_id  # noqa: E402


def page(dice):
    """The calls of one page: (frontend's, orders', stock's)."""
    front, client, order, query = (span_id() for _ in range(4))
    customer = dice.randrange(10_000)
    slow, quick = dice.uniform(60, 120), dice.uniform(1, 4)
    failed = ("shop.OutOfStock", f"article {customer} is out of stock") if dice.random() < 0.05 else None
    orders = Call("shop.orders.OrderController.list", slow + quick + 2, "http",
                  {"http.url": "/orders", "http.method": "GET", "http.status_code": "500" if failed else "200", "span.kind": "SERVER"},
                  span=order, parent=client, error=failed, calls=[
                      Call("shop.orders.OrderStore.ofCustomer", slow + 1, calls=[
                          Call("org.postgresql.jdbc.PgStatement.execute", slow, "db", {
                              "db.type": "sql", "db.statement": f"select * from orders where customer = {customer} order by placed"},
                              span=query, parent=order)]),
                      Call("org.postgresql.jdbc.PgStatement.execute", quick, "db", {
                          "db.type": "sql", "db.statement": f"select name from customers where id = {customer}"},
                          span=span_id(), parent=order)])
    remote = orders.ns / 1e6 + 1
    frontend = Call("shop.front.PageController.show", remote + dice.uniform(5, 15), "http",
                    {"http.url": "/page", "http.method": "GET", "http.status_code": "200", "span.kind": "SERVER"}, span=front, calls=[
                        Call("shop.front.OrdersClient.get", remote, "http", {"http.url": "http://orders/orders", "span.kind": "CLIENT"},
                             span=client, parent=front),
                        Call("shop.front.Template.render", dice.uniform(1, 5))])
    stock = Call("shop.stock.StockServlet.doGet", dice.uniform(5, 20), "HTTP", {"URI": "/stock", "METHOD": "GET", "STATUS": 200})
    return frontend, orders, stock


def main(seconds, port):
    dice = random.Random(42)
    local = {"app": "shop", "env": "demo"}
    frontend, orders = Modern(port, "frontend", "web1", **local), Modern(port, "orders", "app1", **local)
    stock = Legacy(port, "stock", "shop", "demo")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first, second, third = page(dice)
        trace = os.urandom(16).hex()
        clock = int(time.time() * 1000 - first.ns / 1e6)
        # The inner spans end first, and their agents send first.
        for agent, call, late in ((orders, second, 2), (frontend, first, 0), (stock, third, 0)):
            try:
                agent.send(call, trace=trace, clock=clock + late)
            except (zorka.Lost, OSError):
                agent.again()
                time.sleep(0.2)
        time.sleep(0.05)
    print(frontend.sent, "pages,", trace)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2] if sys.argv[2:] else os.environ["ZORKA_PORT"]))
