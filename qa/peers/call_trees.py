"""The pure part of pcp apm tree, with pcp_apm in the path: trees out of records, what is drawn of them, hot spots, stacks, and what hostile
ones cost. Prints what comes out.
"""

import random
import resource
import time

from pcp_apm import call_tree as C
from pcp_apm.table import width

MS = 10**6
# The call of 94 s with which a real service started, abridged.
MAIN = ("0,93906000,55391000,31790000,1,UiServiceApplication.main 1,20804000,81000,7860000,1,CassandraConfig.cassandraTemplate 2,20677000,19564000,7860000,2,DefaultListableBeanFactory.getBean "
        "3,713000,713000,0,40,ClassLoader.getResource 3,400000,400000,0,3,Class.forName 2,40000,40000,0,1,Cluster.connect 2,6000,6000,0,9,Cluster.close "
        "1,8136000,8136000,5382000,9,FutureTask.awaitDone 1,2034000,1706000,228000,340,ClassLoader.getResource 2,328000,328000,0,1,Jar.open 1,7541000,,,,others")
SPAN = "0,40250,8750,,1,Orders.get 1,31500,31500,,3,Stmt.execute"


def call(tree, source="profiler", instance="shop/orders/orders-1", **fields):
    return C.call(10**18, source, "tree", instance, {"duration": 93906 * MS, "tree": tree, **fields})


def drawn(one, most=None):
    print(C.summary(one, "12:00:00"))
    lines = list(C.table(one).lines(most))
    print(*lines, sep="\n")
    assert most is None or max(map(width, lines)) <= most


print("== calls of records")
one = call(MAIN, method="x.y.UiServiceApplication.main(String[])", **{"trace.id": "4bf9"}, thread="main", suspended=31790 * MS, statements=7)
span = call(SPAN, "zorka", "orders/app1", service="orders", type="http", trace="4bf92f35", duration=40_250_000, **{"http.method": "GET", "http.url": "/orders/7"})
for each in (one, span, call("0,1,1,,1,A.b", "zorka", "web1"), call("0,1000,1000,500,1,A.b", "zorka", "shop/web1", partial=1), call(MAIN, **{"web.method": "GET", "web.url": "/x", "title": "t"})):
    print(each[1:10], each.sql, each.partial, len(list(each.root.walk())))
print([call(*fields) for fields in [("",), (7,), ("0,1,1,,1",), (MAIN, "mono")]], call(MAIN, duration="x"), call(MAIN, duration=-1), C.call(0, "profiler", "tree", "a", {}))

print(call(MAIN, sql="3,240000,select * from orders where id = ?\n1,2000,#1:77\n-1,1,x\n\n1,1,update\x1b[2J").sql)
print(*C.statement_table(call(MAIN, sql="3,240000,select * from orders where id = ?, name\n1,2000,#1:77")).lines(40), sep="\n")

print("== texts")
for text in ["0,5,1,0,1,A 1,4,4,0,1,B", "3,5,1,0,1,A 9,4,4,0,1,B 0,1,1,0,1,C", "0,5,,,,A 1,4,,,,B", "rubbish 0,5,-1,0,1,A 1,6,6,0,1,b;c_d,e junk 1,x,6,0,1,C 1,99999999999999999999,6,0,1,D"]:
    print([(node.depth, node.total, node.own, node.self_time, node.stop, node.self_stop, node.executions, node.name) for node in C.parse(text.split(" ")).walk()])
for each in (one, span):
    sums = sum(node.self_time for node in each.root.walk())
    print("self times make the total:", sums == each.root.total)

print("== drawn")
drawn(one)
drawn(span)
for most in (80, 40):
    print(f"-- {most}")
    drawn(one, most)
print("-- deep, wide, hostile")
deep = call(" ".join(f"{n},{10**6 - n},1,0,1,m{n}" for n in range(300)))
print(len(C.table(deep).rows), [cells[-1][-12:] for cells, _ in C.table(deep).rows[C.DEEPEST:C.DEEPEST + 2]], max(node.depth for node in deep.root.walk()))
drawn(call("0,1000000,0,0,1,A " + " ".join(f"1,{n},{n},0,1,b{n}" for n in range(100)) + " 1,900000,900000,0,1,\x1b[2J\u202e 1,9000,9000,0,4,others"))
drawn(call("0,0,0,0,1,A 1,0,0,0,1,B"))

print("== hot spots")
calls = [one, call(MAIN), span]
print(*C.spot_table(C.hot_spots(calls, 6), sum(each.root.total for each in calls)).lines(), sep="\n")
spots = dict(C.hot_spots(calls, 99))
print("own times make the whole:", sum(spot.own for spot in spots.values()) == sum(each.root.total for each in calls))
again = call("0,10000,1000,0,1,A 1,9000,4000,0,1,B 2,5000,5000,0,1,A")
print({name: (spot.own, {caller: of.own for caller, of in spot.callers.items()}) for name, spot in C.hot_spots([again], 9)})

print("== stacks")
folded = C.folded(calls)
print(*(f"{';'.join(stack)} {us}" for stack, us in sorted(folded.items(), key=lambda pair: -pair[1])), sep="\n")
print("as much as the calls:", sum(folded.values()) == sum(each.root.total for each in calls))

print("== what hostile ones cost")
random.seed(7)
begin = time.process_time()
for n in range(200):
    text = " ".join(f"{random.choice((0, 1, n, 10**5, 10**9))},{random.choice(('', '-1', str(n), '9' * 19, '9' * 30))},,{n},{n},{'x' * random.randrange(9)}" for _ in range(500))
    bad = call(text)
    if bad:
        list(C.table(bad).lines(80))
        C.hot_spots([bad], 5)
        C.folded([bad])
large = call(" ".join(f"{n % 300},{n},1,0,1,m{n % 7}" for n in range(10**6)))
print("nodes:", len(list(large.root.walk())), "; quick:", time.process_time() - begin < 60, "; small:", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 400_000)
