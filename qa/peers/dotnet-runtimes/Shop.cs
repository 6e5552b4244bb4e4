// A program for tests with real .NET runtimes: one command a line on standard input, one line of JSON on
// standard output with what really happened. It is compiled by mcs for .NET Framework's names, and runs on
// .NET Core through its facades; with -d:TRIMMED on a trimmed runtime that lacks some methods.
using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using System.Threading;

class OutOfStock : Exception { public OutOfStock(string text) : base(text) { } }
class CardRefused : InvalidOperationException { public CardRefused(string text) : base(text) { } }

[EventSource(Name = "Apm-Shop")]
class ShopSource : EventSource
{
    public static readonly ShopSource Log = new ShopSource();
    [Event(1, Level = EventLevel.Informational)]
    public void Order(int number, string customer) { if (IsEnabled()) WriteEvent(1, number, customer); }
}

static class Shop
{
    static object kept;
    static volatile int sink;

    static string Collections(int[] before)
    {
        return string.Format("\"gen0\": {0}, \"gen1\": {1}, \"gen2\": {2}", GC.CollectionCount(0) - before[0],
            GC.CollectionCount(1) - before[1], GC.CollectionCount(2) - before[2]);
    }

    static int[] Now() { return new[] { GC.CollectionCount(0), GC.CollectionCount(1), GC.CollectionCount(2) }; }

    static string Collect(int count)
    {
        int[] before = Now();
        for (int i = 0; i < count; i++)
        {
            for (int j = 0; j < 500; j++) kept = new byte[100];
#if TRIMMED
            GC.Collect();
#else
            GC.Collect(i % 3, GCCollectionMode.Forced, true);
#endif
        }
        return Collections(before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Fail(int i)
    {
        if (i % 3 == 0) throw new OutOfStock("order " + i);
        if (i % 3 == 1) throw new CardRefused("card " + i);
        throw new TimeoutException("payment " + i);
    }

    static string Throw(int count)
    {
        int[] seen = new int[3];
        for (int i = 0; i < count; i++)
        {
            try { Fail(i); }
            catch (OutOfStock) { seen[0]++; }
            catch (CardRefused) { seen[1]++; }
            catch (TimeoutException) { seen[2]++; }
        }
        return string.Format("\"OutOfStock\": {0}, \"CardRefused\": {1}, \"System.TimeoutException\": {2}", seen[0], seen[1], seen[2]);
    }

    // Each thread but one waits for the lock: threads * (threads - 1) / 2 * ms in all, or a little more.
    static string Lock(int threads, int ms)
    {
        var held = new object();
        var all = new List<Thread>();
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(() => { lock (held) Thread.Sleep(ms); });
            thread.Start();
            all.Add(thread);
        }
        foreach (Thread thread in all) thread.Join();
        return string.Format("\"waits\": {0}, \"ms\": {1}", threads - 1, threads * (threads - 1) / 2 * ms);
    }

    static string Pool(int items, int ms)
    {
        int left = items;
        var done = new ManualResetEvent(false);
        for (int i = 0; i < items; i++)
            ThreadPool.QueueUserWorkItem(_ => { Thread.Sleep(ms); if (Interlocked.Decrement(ref left) == 0) done.Set(); }, null);
        done.WaitOne();
        return string.Format("\"items\": {0}", items);
    }

    static string Allocate(int megabytes)
    {
        int[] before = Now();
        long count = megabytes * 1048576L / 1024;
        for (long i = 0; i < count; i++) kept = new byte[1000];
        return string.Format("\"bytes\": {0}, ", count * 1024) + Collections(before);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Price(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i ^ sink; return s; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Discount(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * 3 ^ sink; return s; }

    // Three quarters of the time in Price, one in Discount.
    static string Burn(int ms)
    {
        int end = Environment.TickCount + ms, rounds = 0;
        for (; Environment.TickCount - end < 0; rounds++) sink = Price(3000000) + Discount(1000000);
        return string.Format("\"rounds\": {0}", rounds);
    }

    static string Orders(int count)
    {
        for (int i = 0; i < count; i++) ShopSource.Log.Order(i, "customer " + i % 7);
        return string.Format("\"orders\": {0}", count);
    }

    static string Run(string[] c)
    {
        Func<int, int> n = i => int.Parse(c[i]);
        switch (c[0])
        {
            case "gc": return Collect(n(1));
            case "throw": return Throw(n(1));
            case "lock": return Lock(n(1), n(2));
            case "pool": return Pool(n(1), n(2));
            case "allocate": return Allocate(n(1));
            case "burn": return Burn(n(1));
            case "orders": return Orders(n(1));
            case "sleep": Thread.Sleep(n(1)); return "\"slept\": 1";
            default: return "\"unknown\": 1";
        }
    }

    static int Main()
    {
        Console.WriteLine("{\"ready\": \"" + Environment.Version + "\"}");
        Console.Out.Flush();
        for (string line; (line = Console.ReadLine()) != null && line != "exit";)
        {
            string[] words = line.Split(' ');
            Console.WriteLine("{\"command\": \"" + words[0] + "\", " + Run(words) + "}");
            Console.Out.Flush();
        }
        return 0;
    }
}
