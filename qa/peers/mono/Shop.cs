// A program for tests with real Mono: one command a line on standard input, one line of JSON on standard output
// with what really happened. It ends when its input does, or as the command says.
//
//   collect MINOR MAJOR    collections, each with some garbage
//   throw N                three kinds of exceptions; every fifth is thrown again
//   lock THREADS MS        THREADS wait for a lock that is held for MS, another one gives up after 5 ms
//   burn MS                processor time in two methods, 3 : 1
//   allocate KB            garbage
//   threads N              N threads come and go
//   pool N                 work items of the thread pool
//   jit N                  methods that did not exist before
//   domains N              application domains that are made and unloaded
//   counter NAME VALUE     a performance counter of its own, Shop/NAME
//   child COMMAND          a child of this process; its status
//   sleep MS
//   total                  all of it so far
//   end | exit N | throw-out | kill
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

class OutOfStock : Exception { public OutOfStock(string text) : base(text) { } }
class CardRefused : InvalidOperationException { public CardRefused(string text) : base(text) { } }

static class Shop
{
    static readonly object till = new object();
    static readonly object[] shelf = new object[2000];
    static readonly Dictionary<string, PerformanceCounter> counters = new Dictionary<string, PerformanceCounter>();
    static volatile int sink;
    static int thrown, rethrown, contended, failed, dynamic, domains, items, threads;
    static long waited, hastily;

    static long Microseconds(long ticks) { return ticks * 1000000 / Stopwatch.Frequency; }

    static void Collect(int minor, int major)
    {
        for (int i = 0; i < minor + major; i++)
        {
            for (int j = 0; j < 500; j++) shelf[j] = new byte[100];
            if (i < minor) GC.Collect(0); else GC.Collect(1, GCCollectionMode.Forced, true);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Refuse(int i)
    {
        thrown++;
        if (i % 3 == 0) throw new OutOfStock("order " + i);
        if (i % 3 == 1) throw new CardRefused("card " + i);
        throw new TimeoutException("payment " + i);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Order(int i)
    {
        try { Refuse(i); }
        catch (Exception)
        {
            if (i % 5 != 0) return;
            rethrown++;
            throw;
        }
    }

    static void Throw(int count)
    {
        for (int i = 0; i < count; i++)
        {
            try { Order(i); }
            catch (Exception) { sink++; }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Pay()
    {
        long begin = Stopwatch.GetTimestamp();
        lock (till) { Interlocked.Add(ref waited, Stopwatch.GetTimestamp() - begin); }
        Interlocked.Increment(ref contended);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void GiveUp()
    {
        long begin = Stopwatch.GetTimestamp();
        if (Monitor.TryEnter(till, 5)) Monitor.Exit(till); else Interlocked.Increment(ref failed);
        Interlocked.Add(ref hastily, Stopwatch.GetTimestamp() - begin);
    }

    static void Lock(int number, int ms)
    {
        var all = new List<Thread>();
        int there = 0;
        lock (till)
        {
            for (int i = 0; i < number; i++)
            {
                var thread = new Thread(() => { Interlocked.Increment(ref there); Pay(); }) { Name = "customer-" + i };
                thread.Start();
                all.Add(thread);
            }
            while (there < number) Thread.Sleep(1);
            var hasty = new Thread(GiveUp) { Name = "hasty" };
            hasty.Start();
            hasty.Join();
            // The thread that counted itself may not wait yet.
            foreach (var thread in all)
                while ((thread.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0) Thread.Sleep(1);
            Thread.Sleep(ms);
        }
        foreach (var thread in all) thread.Join();
        threads += number + 1;
    }

    // Work, not time: a loaded machine takes longer for each by the same factor.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Hot(int units) { for (int i = 0; i < units * 1000000; i++) sink += i; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Warm(int units) { for (int i = 0; i < units * 1000000; i++) sink ^= i; }

    static void Burn(int ms)
    {
        for (long end = Processor() + ms; Processor() < end;)
        {
            Hot(3);
            Warm(1);
        }
    }

    static long Processor()
    {
        using (var self = Process.GetCurrentProcess()) return (long)self.TotalProcessorTime.TotalMilliseconds;
    }

    static void Threads(int number)
    {
        var all = new List<Thread>();
        for (int i = 0; i < number; i++)
        {
            var thread = new Thread(() => Thread.Sleep(20)) { Name = "clerk-" + i };
            thread.Start();
            all.Add(thread);
        }
        foreach (var thread in all) thread.Join();
        threads += number;
    }

    static void Pool(int number)
    {
        using (var done = new CountdownEvent(number))
        {
            for (int i = 0; i < number; i++)
                ThreadPool.QueueUserWorkItem(_ => { Thread.SpinWait(1000); done.Signal(); });
            done.Wait();
        }
        items += number;
    }

    static void Jit(int number)
    {
        for (int i = 0; i < number; i++)
        {
            var method = new DynamicMethod("made" + dynamic++, typeof(int), Type.EmptyTypes, typeof(Shop).Module, true);
            var code = method.GetILGenerator();
            code.Emit(OpCodes.Ldc_I4, i);
            code.Emit(OpCodes.Ret);
            sink += ((Func<int>)method.CreateDelegate(typeof(Func<int>)))();
        }
    }

    public sealed class Branch : MarshalByRefObject { public int Id() { return AppDomain.CurrentDomain.Id; } }

    static void Domains(int number)
    {
        for (int i = 0; i < number; i++)
        {
            var domain = AppDomain.CreateDomain("branch-" + domains++);
            var branch = (Branch)domain.CreateInstanceFromAndUnwrap(Assembly.GetExecutingAssembly().Location, typeof(Branch).FullName);
            sink += branch.Id();
            AppDomain.Unload(domain);
        }
    }

    static void Count(string name, long value)
    {
        if (counters.Count == 0)
        {
            var all = new CounterCreationDataCollection();
            foreach (var one in new[] { "orders", "queue" })
                all.Add(new CounterCreationData(one, one + " of the shop", PerformanceCounterType.NumberOfItems64));
            PerformanceCounterCategory.Create("Shop", "the shop", PerformanceCounterCategoryType.SingleInstance, all);
            foreach (var one in new[] { "orders", "queue" }) counters[one] = new PerformanceCounter("Shop", one, false);
        }
        counters[name].RawValue = value;
    }

    static int Child(string command)
    {
        var child = Process.Start(new ProcessStartInfo("/bin/sh", "-c \"" + command + "\"") { UseShellExecute = false });
        child.WaitForExit();
        return child.ExitCode;
    }

    static string Total()
    {
        return string.Format("\"gen0\": {0}, \"gen1\": {1}, \"thrown\": {2}, \"rethrown\": {3}, \"contended\": {4}, \"failed\": {5}, " +
            "\"waited_us\": {6}, \"hastily_us\": {12}, \"threads\": {7}, \"items\": {8}, \"dynamic\": {9}, \"domains\": {10}, \"cpu_ms\": {11}",
            GC.CollectionCount(0), GC.CollectionCount(1), thrown, rethrown, contended, failed, Microseconds(waited), threads, items,
            dynamic, domains, Processor(), Microseconds(hastily));
    }

    static int Main()
    {
        Console.WriteLine("{\"pid\": " + Process.GetCurrentProcess().Id + "}");
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            var words = line.Split(new[] { ' ' }, 3);
            Func<int, int> number = i => int.Parse(words[i]);
            var watch = Stopwatch.StartNew();
            string more = "";
            switch (words[0])
            {
                case "collect": Collect(number(1), number(2)); break;
                case "throw": Throw(number(1)); break;
                case "lock": Lock(number(1), number(2)); break;
                case "burn": Burn(number(1)); break;
                case "allocate": for (int i = 0; i < number(1); i++) shelf[i % shelf.Length] = new byte[1000]; break;
                case "threads": Threads(number(1)); break;
                case "pool": Pool(number(1)); break;
                case "jit": Jit(number(1)); break;
                case "domains": Domains(number(1)); break;
                case "counter": Count(words[1], long.Parse(words[2])); break;
                case "child": more = ", \"status\": " + Child(line.Substring(6)); break;
                case "sleep": Thread.Sleep(number(1)); break;
                case "total": more = ", " + Total(); break;
                case "end": return 0;
                case "exit": Environment.Exit(number(1)); break;
                case "throw-out": throw new OutOfStock("on purpose");
                case "kill": Process.GetCurrentProcess().Kill(); break;
                default: more = ", \"error\": \"no such command\""; break;
            }
            Console.WriteLine("{{\"done\": \"{0}\", \"us\": {1}{2}}}", words[0], Microseconds(watch.ElapsedTicks), more);
        }
        return 0;
    }
}
