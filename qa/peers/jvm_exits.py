#!/usr/bin/env python3
"""What is known of JVMs that start and end all the time: each start, the last values of each, and nothing that is left.

  jvm_exits.py CAPTURE.gz [COUNT [AT_ONCE [SECONDS]]]   COUNT (1000) processes of jvm.py, AT_ONCE (20) at a time, that live
                                                        SECONDS (3). Each third one is in a container: process ids,
                                                        mounts and a /tmp of its own
  jvm_exits.py JAVA-HOME [COUNT [AT_ONCE [SECONDS]]]    the same with real JVMs: -XX:+UseSerialGC, System.gc()

  jvm_exits.py --kill ...                               before that, half as many; in the middle of them the PMDA is killed
                                                        by signal 9, then pmcd: of them nothing is left either

Right before its end each counts some more collections. Every second one ends as a JVM does, the others are killed and
leave their files behind. Then the service must have COUNT starts and the sum of all last values, and the PMDA no process,
no descriptor and no reader of them. Runs itself in name spaces of its own with a private pmcd, as root.
"""
import gzip, os, random, shutil, struct, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
STAGE = """cd "$1"; . ./common.sh
JVM_KEYS='processes = ["*"]' write_config </dev/null
pmcd_start
echo "$HOST $(pmda_pid)"
while read -r what; do
    case $what in
    pmda) kill -9 "$(pmda_pid)" && pmda_restart ;;
    pmcd) pmcd_stop && pmcd_start ;;
    esac
    echo "$HOST $(pmda_pid)"
done"""
# The shell is the container's init: it reaps, and what is not the first process can kill itself.
CONTAINER = ["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "bash", "-c",
             'mount -t tmpfs -o mode=1777 tmpfs /tmp && "$@"; exit $?', "container"]
PROGRAM = """public class Load {
    public static void main(String[] arguments) throws Exception {
        java.util.Scanner in = new java.util.Scanner(System.in);
        System.out.println("ready");
        for (int more = in.nextInt(); more > 0; more--) System.gc();
        long all = 0;
        for (var one : java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()) all += one.getCollectionCount();
        System.out.println(all);
        if (in.next().equals("die")) Runtime.getRuntime().exec(new String[] {"kill", "-9", "" + ProcessHandle.current().pid()}).waitFor();
    }
}"""
lock, sums, faults = threading.Lock(), [0], []


def counted(path):
    """Collections that a capture has."""
    region, total = gzip.open(path).read(), 0
    at, entries = struct.unpack_from("<ii", region, 24)
    for _ in range(entries):
        length, name, _ = struct.unpack_from("<iii", region, at)
        data = struct.unpack_from("<i", region, at + 16)[0]
        word = region[at + name:at + length].split(b"\0")[0].decode()
        if word.startswith("sun.gc.collector.") and word.endswith(".invocations"):
            total += struct.unpack_from("<q", region, at + data)[0]
        at += length
    return total


def life(what, seconds, n, begin):
    with subprocess.Popen(what, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        def say(line):
            process.stdin.write(line + "\n")
            process.stdin.flush()

        if "ready" not in process.stdout.readline():
            faults.append(f"{n} does not start")
            return
        time.sleep(seconds)
        more, end = random.randint(1, 9), "die" if n % 2 else "end"
        if begin is None:
            say(str(more))
            last = int(process.stdout.readline())
        else:
            say(f"add sun.gc.collector.0.invocations {more}")
            process.stdout.readline()
            last = begin + more
        say(end)
        code = process.wait(60)
        with lock:
            sums[0] += last
            if code not in ((-9, 128 + 9) if end == "die" else (0,)):
                faults.append(f"{n} ends with {code}")


def values(host, metric):
    out = subprocess.run(["pminfo", "-h", host, "-f", "apm." + metric], capture_output=True, text=True).stdout
    lines = (line.split(' or "', 1)[1].split('"] value ', 1) for line in out.splitlines() if '"] value ' in line)
    return dict(lines)


def main():
    kills = "--kill" in sys.argv
    arguments = [word for word in sys.argv if word != "--kill"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    if os.environ.get("APM_EXITS") != "inside":
        spaces = ["unshare", "-m", "-p", "-n", "-f", "--mount-proc", "--kill-child", "bash", "-c"]
        # The shell is the name space's init: it reaps.
        spaces += ['mount -t tmpfs -o mode=1777 tmpfs /tmp && ip link set lo up && "$@"; exit $?', "init", sys.executable]
        sys.exit(subprocess.run(spaces + sys.argv, env=dict(os.environ, APM_EXITS="inside")).returncode)
    count, at_once, seconds = (arguments[2:] + ["1000", "20", "3"][len(arguments[2:]):])[:3]
    count, at_once, begun = int(count), int(at_once), time.monotonic()
    # Not below /tmp: a container has its own.
    folder = tempfile.mkdtemp(suffix=".exits", dir="/var/tmp")
    stage = subprocess.Popen(["bash", "-c", STAGE, "stage", os.path.dirname(HERE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    host, pmda = stage.stdout.readline().split()
    if os.path.isdir(arguments[1]):
        open(folder + "/Load.java", "w").write(PROGRAM)
        subprocess.run([arguments[1] + "/bin/javac", "-d", folder, folder + "/Load.java"], check=True)
        what, begin, name = [arguments[1] + "/bin/java", "-XX:+UseSerialGC", "-Xmx32m", "-cp", folder, "Load"], None, "Load"
    else:
        what, begin, name = [sys.executable, HERE + "/jvm.py", arguments[1]], counted(arguments[1]), "Load"
    # The compiler is a JVM that was seen, too.
    wait(lambda: not live(host), 30)
    opened = descriptors(pmda)

    def lives(count):
        left = iter(range(count))

        def worker():
            while True:
                with lock:
                    n = next(left, None)
                if n is None:
                    return
                life(CONTAINER + what if n % 3 == 0 else what, float(seconds), n, begin)

        threads = [threading.Thread(target=worker) for _ in range(at_once)]
        for thread in threads:
            thread.start()
        return threads

    def service():
        return [int(values(host, f"jvm.service.{of}").get(name, 0)) for of in ("starts", "gc.count", "processes")]

    if kills:
        threads = lives(count // 2)
        for victim in ("pmda", "pmcd"):
            time.sleep(2 * float(seconds))
            stage.stdin.write(victim + "\n")
            stage.stdin.flush()
            host, pmda = stage.stdout.readline().split()
        for thread in threads:
            thread.join()
        wait(lambda: not live(host), 30)
        sums[0] = 0
    before = service()
    for thread in lives(count):
        thread.join()
    wait(lambda: not live(host), 30)
    wait(lambda: descriptors(pmda) <= opened, 30)
    starts, sum_, processes = (now - was for now, was in zip(service(), before))
    seen = values(host, "jvm.session.state")
    panics = subprocess.run(["pminfo", "-h", host, "-f", "apm.self.panics"], capture_output=True, text=True).stdout.split()[-1]
    checks = {
        f"starts {starts} of {count}": starts == count,
        f"collections {sum_} of {sums[0]}": sum_ == sums[0],
        f"processes left {processes}": processes == 0,
        f"instances that live {len(live(host))} of {len(seen)}": not live(host),
        f"descriptors {opened} before, {descriptors(pmda)} after": descriptors(pmda) <= opened,
        f"panics {panics}": panics == "0",
        f"faults of programs {len(faults)} {faults[:5]}": not faults,
    }
    stage.stdin.close()
    stage.wait()
    shutil.rmtree(folder, ignore_errors=True)
    for line, good in checks.items():
        print(line if good else f"WRONG: {line}")
    print(f"{count} in {time.monotonic() - begun:.0f} s, load {open('/proc/loadavg').read().split()[0]}")
    sys.exit(not all(checks.values()))


def live(host):
    return [name for name, state in values(host, "jvm.session.state").items() if state != "6"]


def descriptors(pmda):
    return len(os.listdir(f"/proc/{pmda}/fd"))


def wait(state, most):
    end = time.monotonic() + most
    while not state() and time.monotonic() < end:
        time.sleep(0.3)


main()
